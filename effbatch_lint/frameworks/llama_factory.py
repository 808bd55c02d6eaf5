"""LLaMA-Factory: one YAML for four trainers, each with its own arithmetic.

    HF Trainer         per_device_train_batch_size x gradient_accumulation_steps x processes
    HyperParallel      the same with processes // hyper_parallel_cp_size
    360-LLaMA-Factory  the same with processes / sequence_parallel_size
    Megatron           llama_factory_megatron: two back-ends, chosen by an environment variable
    v1                 llama_factory_v1: global_batch_size = micro_batch_size x accumulation x processes / cp_size

Upstream: hiyouga/LLaMA-Factory 0.9.6, src/llamafactory/hparams/{parser,data_args,finetuning_args}.py,
src/llamafactory/train/*/workflow.py, src/llamafactory/launcher.py; src/llamafactory/v1. The fork Qihoo360/360-LLaMA-Factory, whose key upstream's parser does
not take: src/llamafactory/model/model_utils/sequence_parallel.py (init_sp_group), data/loader.py.

The number of processes is ``NPROC_PER_NODE`` x ``NNODES``, or every visible device of the node: never in the YAML.
``stage: pt`` packs unless it is told not to, so that its rows are blocks of ``cutoff_len``. A PPO run logs the rollout
batch, ``ppo_buffer_size`` optimizer steps together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.llama_factory import megatron, v1
from effbatch_lint.frameworks.parts.trainer.batch import ACCUMULATION, MICRO, trainer_batch
from effbatch_lint.frameworks.parts.trainer.example import Example
from effbatch_lint.frameworks.parts.trainer.layout import trainer_layout
from effbatch_lint.terms import shown, total

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_OWN = ("stage", "finetuning_type", "template", "cutoff_len", "dataset", "dataset_dir", "pref_beta", "pref_loss")
_SPLIT = "sequence_parallel_size"
_STAGES = ("pt", "sft", "rm", "ppo", "dpo", "kto")


def recognise(config: Config) -> int:
    """``stage`` and ``finetuning_type`` of a training run with a data set; or the keys of v1."""
    config = undashed(config)
    if v1.recognised(config):
        return v1.recognised(config)
    own = config.count(*_OWN)
    batch = config.count(MICRO, ACCUMULATION)
    known = config.text("stage") in _STAGES or config.has("finetuning_type")
    if not known or own < 3 or not (batch or config.flag("do_train")):  # noqa: PLR2004 - stage alone is a word of many
        return 0
    return own + batch + config.count("model_name_or_path")


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, of the trainer that the keys (for Megatron also the environment) choose."""
    config = undashed(config)
    if v1.recognised(config):
        yield v1.batch(config, launch)
        return
    example = _example(config)
    if megatron.chosen(config, launch):
        yield megatron.batch(config, launch, example)
        return
    batch = trainer_batch(config, launch, example)
    if config.has("hyper_parallel_cp_size"):
        layout = trainer_layout(batch.layout.world, context=config.integer("hyper_parallel_cp_size"))
        batch = batch._replace(layout=layout)
    elif config.has(_SPLIT):
        batch = batch._replace(layout=Layout.of_world(batch.layout.world, context=config.integer(_SPLIT)))
    yield batch._replace(problems=(*batch.problems, *_checks(config)))


def _example(config: Config) -> Example:
    """What one example of the stage is; its rows are cut at ``cutoff_len``."""
    length = config.integer("cutoff_len", default=2048)
    match config.text("stage"):
        case "dpo" | "rm":
            return Example("pairs", 2, length)
        case "ppo":
            return Example("completions", 1, total(length, config.integer("max_new_tokens", default=1024)))
        case "pt" if config.flag("packing", default=True):
            return Example("sequences", 1, length, "exact")
        case _:
            return Example("sequences", 1, length)


def _checks(config: Config) -> Iterator[Problem]:
    """What the argument parser refuses (hparams/parser.py, get_train_args; hparams/finetuning_args.py)."""
    accumulation = config.integer(ACCUMULATION, default=1)
    for name in ("galore", "apollo"):
        layerwise = f"{name}_layerwise"
        if config.flag(f"use_{name}") and config.flag(layerwise) and (accumulation.value or 1) > 1:
            yield Problem(
                "EB304",
                f"{layerwise} updates each layer in its backward pass, and {ACCUMULATION} is {shown(accumulation.value)}",
                (accumulation, config.place(layerwise)),
                refuses=True,
                help=f"set {ACCUMULATION} to 1 and raise {MICRO}, or drop {layerwise}",
            )
    if config.flag("neat_packing") and config.text("stage") not in ("sft", None):
        yield Problem(
            "EB304",
            f"neat_packing is for stage sft only, and the stage is {config.text('stage')}",
            (config.place("neat_packing"), config.place("stage")),
            refuses=True,
            help="drop neat_packing",
        )


FRAMEWORK = Framework(
    name="llama-factory",
    formula="per_device_train_batch_size x gradient_accumulation_steps x processes / (tp x pp x cp)",
    sources=(
        "hiyouga/LLaMA-Factory src/llamafactory/hparams/parser.py",
        "hiyouga/LLaMA-Factory src/llamafactory/v1/core/utils/batching.py",
        "alibaba/ROLL mcore_adapter/src/mcore_adapter/trainer/trainer.py",
    ),
    recognise=recognise,
    read=read,
    profiles=("v1", "Megatron-Bridge", "Megatron (mcore_adapter)", "v0"),
)
