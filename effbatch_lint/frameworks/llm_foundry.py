"""llm-foundry and Composer: global_train_batch_size over all ranks, split into device_train_microbatch_size.

    device batch = global_train_batch_size / ranks          refused when it is not whole
    micro batch  = min(device_train_microbatch_size, device batch)
    accumulation = ceil(device batch / micro batch)         the last micro batch is smaller; the batch is what is declared
    B            = global_train_batch_size / train_loader.dataset.replication

Upstream: mosaicml/llm-foundry 0.22, llmfoundry/utils/config_utils.py (calculate_batch_size_info, process_init_device),
llmfoundry/data/utils.py (validate_ds_replication), llmfoundry/command_utils/train.py; AnswerDotAI/ModernBERT main.py
and src/sequence_packer.py; mosaicml/examples, whose vision trainings divide ``train_dataset.batch_size`` by the ranks,
rounding down, although the files' comments call it the batch per device. An mcli run file holds the config under
``parameters``.

Tensor parallelism is not taken off: each rank reads rows of its own, unless ``replication`` gives the ranks of a
replica the same ones. Composer then still counts global_train_batch_size samples for each step. A micro batch of
``auto`` starts at the device batch and is halved whenever memory runs out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Stage
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.llm_foundry import checks
from effbatch_lint.frameworks.parts.llm_foundry.mcli import unwrapped, world_size
from effbatch_lint.terms import ONE, Term, ceil, computed, exact, floor, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_GLOBAL = "global_train_batch_size"
_VISION = "train_dataset.batch_size"
_MICRO = "device_train_microbatch_size"
_FOUNDRY = (
    "train_loader", "train_loader.dataset", "tokenizer.name", "fsdp_config", "device_eval_batch_size", "algorithms",
    "callbacks", "eval_interval", "console_log_interval", "loggers", "eval_loader", "precision", "train_dataset",
    "eval_dataset", "save_interval", "save_num_checkpoints_to_keep", "dataset.resolution",
)  # fmt: skip
# OLMo took two of the keys over, with another arithmetic; its own are none of Composer's.
_OLMO = ("model.max_sequence_length", "data.paths", "fsdp.wrapping_strategy", "data.memmap_dtype", "evaluators")


def recognise(config: Config) -> int:
    """A batch by Composer's names and a duration with a unit, in the file or under mcli's ``parameters``."""
    config = unwrapped(config)
    if config.has(*_OLMO) or not config.count(_MICRO, _GLOBAL) or not config.count(_GLOBAL, _VISION):
        return 0
    own = config.count(*_FOUNDRY)
    return own + config.count(_MICRO, _GLOBAL, _VISION, "max_duration") if own > 1 else 0


def starts(launch: Launch) -> bool:
    """The composer launcher starts foundry's train.py, and programs that read the same keys; eval.py trains nothing."""
    return launch.launcher == "composer" and not (launch.program or "").endswith("eval.py")


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch."""
    world = world_size(config, launch)
    config = unwrapped(config)
    rounds = _rounds(config)
    declared = config.integer(_VISION if config.entry(_GLOBAL) is None else _GLOBAL)
    device = floor(declared, world) if rounds else exact(declared, world)
    micro, accumulation = _micro_batches(config, device)
    replication = config.integer("train_loader.dataset.replication", default=1)
    dims = _layout(config, world, replication)
    seen = _seen(declared, device, world, replication, rounds=rounds)
    length = None if _is_vision(config) else _length(config)
    yield Batch(
        micro=micro,
        accumulation=accumulation,
        layout=dims,
        sequence_length=length,
        unit="images" if length is None else "sequences",
        global_batch=seen,
        declared=declared,
        tokens_bound="exact" if _is_concatenated(config) else "at most",
        schedule=_ramp(config, seen, world),
        problems=tuple(checks.of(config, declared, seen, world, replication, rounds=rounds)),
    )


def _rounds(config: Config) -> bool:
    """Whether the program is one of the examples that divide without a check: those without foundry's loader."""
    return not isinstance(config.node("train_loader"), Mapping)


def _micro_batches(config: Config, device: Term) -> tuple[Term, Term]:
    """Rows of one forward pass, and passes; ``auto`` is found out by the run, and null takes the device batch whole."""
    if config.text(_MICRO) == "auto":
        reason = f"{_MICRO} is auto: the run halves the device batch until it fits"
        found = unknown(reason, *config.place(_MICRO).origins, key=_MICRO)
        return found, found
    if not config.has(_MICRO):
        return device.named(_MICRO), ONE
    asked = config.integer(_MICRO)
    micro = computed(min, f"the smaller of {asked.value} and the device batch {device.value}", asked, device)
    return (asked if micro.value == asked.value and micro.known else micro.named(_MICRO)), ceil(device, micro)


def _layout(config: Config, world: Term, replication: Term) -> Layout:
    """Ranks that read different rows: all of them, or one of each group that replicates its rows."""
    every = Layout.of_world(world)._replace(tensor=config.integer("tp_config.tensor_parallel_degree", default=1))
    return every if replication.value == 1 else every._replace(replicas=floor(world, replication))


def _seen(declared: Term, device: Term, world: Term, replication: Term, *, rounds: bool) -> Term:
    """B: what is declared, less what rounding loses, each row counted once."""
    whole = product(device, world) if rounds and world.known else declared
    return whole if replication.value == 1 else exact(whole, replication)


def _is_vision(config: Config) -> bool:
    """The examples for images: their data has a resolution, and no sequence length."""
    sizes = ("train_dataset.crop_size", "train_dataset.resize_size", "dataset.resolution", "train_dataset.base_size")
    return config.has(_VISION, *sizes) or not config.has("max_seq_len", "train_loader", "model.max_seq_len")


def _length(config: Config) -> Term:
    """What the loader cuts rows to; the key at the top is only what most files refer to."""
    return config.integer("train_loader.dataset.max_seq_len", "max_seq_len")


def _is_concatenated(config: Config) -> bool:
    """Rows of the text loader are full; those for finetuning and for masked language models are padded."""
    return config.text("train_loader.name") == "text" and not config.has(
        "mlm_probability", "train_loader.dataset.mlm_probability", "model.pretrained_model_name"
    )


def _ramp(config: Config, last: Term, world: Term) -> tuple[Stage, ...]:
    """ModernBERT's packer starts with fewer rows for each rank, and has all of them after so many tokens."""
    first = config.integer("train_loader.batch_size_warmup_min_size")
    tokens = (config.text("train_loader.batch_size_warmup_tokens") or "").removesuffix("tok").replace("_", "")
    if not first.known or not tokens.isdecimal() or not config.flag("train_loader.sequence_packing"):
        return ()
    return (Stage(0, "tokens", product(first, world)), Stage(int(tokens[:18]), "tokens", last))


FRAMEWORK = Framework(
    name="llm-foundry",
    formula="global_train_batch_size (all ranks) / train_loader.dataset.replication",
    sources=(
        "mosaicml/llm-foundry llmfoundry/utils/config_utils.py (calculate_batch_size_info)",
        "mosaicml/llm-foundry llmfoundry/data/utils.py (validate_ds_replication)",
        "mosaicml/examples examples/benchmarks/resnet_imagenet/main.py",
        "AnswerDotAI/ModernBERT main.py (update_batch_size_info)",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
    starts=starts,
)
