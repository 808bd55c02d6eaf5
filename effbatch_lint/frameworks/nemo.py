"""NeMo 1: the global batch is declared, and Megatron's calculator divides it; speech models follow the devices.

    Megatron models    B = global_batch_size,  accumulation = B / (micro_batch_size x replicas)
    speech models      B = train_ds.batch_size x devices x accumulate_grad_batches

Upstream: NVIDIA/NeMo v2.0.0, nemo/collections/nlp/models/language_modeling/megatron_base_model.py, nemo/collections/nlp/
parts/mixins/nlp_adapter_mixins.py (merge_cfg_with: the pair of data.train_ds replaces that of the model),
megatron_retrieval_model.py (compute_consumed_samples); NVIDIA/NeMo-Framework-Launcher, launcher_scripts/main.py (the
resolvers, and the stages of a tree). The layout is nemo_megatron's, the devices nemo_devices', speech nemo_speech's.

A file of a launcher tree is mounted under the name of its stage (``training``, ``fine_tuning``, ``peft``); a root config
holds several stages, of which ``stages`` lists those that run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.documents.document import kind_of
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.megatron.microbatches import Division
from effbatch_lint.frameworks.parts.nemo.checks import RETRIEVAL, checks, ignored
from effbatch_lint.frameworks.parts.nemo.data import length, unit
from effbatch_lint.frameworks.parts.nemo.devices import nemo_devices
from effbatch_lint.frameworks.parts.nemo.megatron import follows, nemo_division, nemo_layout
from effbatch_lint.frameworks.parts.nemo.speech import is_speech, speech_batch
from effbatch_lint.terms import unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch
    from effbatch_lint.terms import Term

# The stages of a launcher tree that train (launcher_scripts/conf/config.yaml).
_STAGES = (
    "training", "fine_tuning", "peft", "prompt_learning", "adapter_learning", "ia3_learning", "steerlm_reg", "rlhf_rm",
    "rlhf_ppo.actor", "rlhf_ppo.critic", "actor", "critic",
)  # fmt: skip
_MICRO = ("model.data.train_ds.micro_batch_size", "model.micro_batch_size")
_GLOBAL = ("model.data.train_ds.global_batch_size", "model.global_batch_size")
_BESIDE = (
    "exp_manager", "trainer.num_nodes", "trainer.devices", "model.tensor_model_parallel_size",
    "model.pipeline_model_parallel_size", "model.rampup_batch_size", "model.optim.sched", "model.encoder_seq_length",
    "model.data.data_impl", "model.megatron_amp_O2", "model.mcore_gpt", "init_from_nemo_model", "model.restore_from_path",
)  # fmt: skip


def recognise(config: Config) -> int:
    """A Trainer beside a model with Megatron's sizes, or beside a ``train_ds``; NeMo 2 keeps the sizes elsewhere."""
    if not config.has("trainer", "model"):
        return max((recognise(stage) for _, stage in _stages(config)), default=0)
    if config.has("strategy.tensor_model_parallel_size", "trainer.strategy.tensor_model_parallel_size"):
        return 0
    if not isinstance(config.node("trainer"), Mapping):
        return 0
    if not config.has("model.optim") and config.count("model.restore_from_path", "inference"):
        return 0  # an evaluation has sizes too, and no optimizer
    sizes = config.count(*_MICRO, *_GLOBAL)
    beside = config.count(*_BESIDE)
    if sizes and beside:
        return 2 * sizes + beside
    return 2 + beside if is_speech(config) and config.has("exp_manager", "init_from_nemo_model") else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """The batch of a file; of a launcher's root config, one for each stage that trains."""
    if config.path == launch.script or kind_of(config.path) == "shell":
        config = config.hiding(
            "the program's own configuration, over which the launch line lies, is not in the project"
        )
    stages = [] if config.has("trainer") else _stages(config)
    for name, stage in stages:
        yield _read(stage, launch)._replace(name=name)
    if not stages:
        yield _read(config, launch)


def _read(config: Config, launch: Launch) -> Batch:
    world, conflicts = nemo_devices(config, launch)
    if not config.has(*_MICRO, *_GLOBAL) and is_speech(config):
        batch = speech_batch(config, world, launch)
        return batch._replace(problems=(*conflicts, *batch.problems))
    micro, total = config.integer(*_MICRO), config.integer(*_GLOBAL)
    layout = _layout(config, world)
    division = _division(config, micro, total, layout)
    tokens_per_row, tokens, bound = length(config)
    return Batch(
        micro=micro,
        accumulation=division.accumulation,
        layout=layout,
        sequence_length=tokens_per_row,
        unit=unit(config),
        sequences_per_item=2 if unit(config) == "pairs" else 1,
        global_batch=division.global_batch,
        declared=total if config.has(*_GLOBAL) else None,
        tokens=tokens,
        tokens_bound=bound,
        schedule=division.schedule,
        problems=(
            *conflicts,
            *division.problems,
            *checks(config, micro, total, world),
            *ignored(config, _MICRO),
            *ignored(config, _GLOBAL),
        ),
    )


def _layout(config: Config, world: Term) -> Layout:
    """The first retrieval models know tensor parallelism only."""
    if not config.has(*RETRIEVAL):
        return nemo_layout(config, "model.", world)
    return Layout.of_world(world, tensor=config.integer("model.tensor_model_parallel_size", default=1))


def _division(config: Config, micro: Term, total: Term, layout: Layout) -> Division:
    if config.has("model.retro"):
        replaced = unknown(
            "the batch of the preprocessed retrieval data replaces model.global_batch_size", *total.origins
        )
        return Division(replaced, replaced)
    if config.has(*_GLOBAL):
        return nemo_division(config, "model.", total, micro, layout, "model.rampup_batch_size")
    if config.has(*RETRIEVAL):
        return follows(micro, layout.replicas, config.integer("trainer.accumulate_grad_batches", default=1))
    nothing = unknown("model.global_batch_size is not set: no micro-batch calculator is made", key=_GLOBAL[-1])
    return Division(nothing, nothing)


def _stages(config: Config) -> list[tuple[str, Config]]:
    """The stages of a launcher's root config that train; those that ``stages`` lists, when it does."""
    sections = [(name, config.section(name)) for name in _STAGES if config.has(f"{name}.trainer")]
    listed = {item.text for item in config.items("stages") if isinstance(item, Scalar)}
    chosen = [(name, section) for name, section in sections if section is not None and name in listed]
    return chosen or [(name, section) for name, section in sections if section is not None]


FRAMEWORK = Framework(
    name="nemo",
    formula="global_batch_size = micro_batch_size x accumulation x world / (tensor x pipeline x context)",
    sources=(
        "NVIDIA/NeMo nemo/collections/nlp/modules/common/megatron/megatron_init.py (v2.0.0)",
        "NVIDIA/NeMo nemo/collections/common/data/lhotse/dataloader.py",
        "NVIDIA/NeMo-Framework-Launcher launcher_scripts/nemo_launcher/core/stages.py",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
)
