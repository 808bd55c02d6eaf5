"""OLMo: a global batch in sequences; OLMo-core: a global batch in tokens.

    OLMo        device batch = global_train_batch_size / devices, which must be whole
                micro batch = min(device_train_microbatch_size, device batch), accumulation = ceil(device batch / micro)
    OLMo-core   accumulation = global_batch_size / (rank_microbatch_size x replicas), both in tokens
                replicas = devices / (tensor x pipeline x context)

Upstream: allenai/OLMo 0.6, scripts/train.py (main), olmo/config.py (TrainConfig), olmo/data/iterable_dataset.py,
olmo/train.py (split_batch); allenai/OLMo-core 2.5, src/olmo_core/train/train_module/transformer/train_module.py
(pre_train), src/olmo_core/distributed/parallel/__init__.py (build_world_mesh), src/olmo_core/data/data_loader.py.

OLMo overwrites ``device_train_batch_size`` and logs ``device_train_grad_accum`` rounded down, 0 where the micro batch is
larger than the device batch; the last micro batch is smaller where it does not divide. OLMo-core's files are Python:
what is read here is the ``config.json`` that each of its runs saves.

``scripts/train.py FILE.yaml --key.sub=value``: what a launch line says lies over the file. AI2's scripts come in pairs, of
which one asks Beaker for the devices and names the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts import olmo_core
from effbatch_lint.terms import Term, ceil, computed, exact, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

GLOBAL, MICRO = "global_train_batch_size", "device_train_microbatch_size"
_OWN = (
    "model.max_sequence_length", "data.paths", "data.datasets", "fsdp.wrapping_strategy", "evaluators", "model.d_model",
    "model.mlp_ratio", "distributed_strategy", "scheduler.t_warmup", "save_interval_unsharded", "tokenizer.identifier",
)  # fmt: skip
# Fields of OLMo's TrainConfig, as its launch lines set them.
_FLAGS = frozenset((
    GLOBAL, MICRO, "device_eval_batch_size", "save_interval_ephemeral", "save_interval_unsharded", "sharded_checkpointer",
    "remote_save_folder", "save_overwrite", "fused_loss", "activation_checkpointing", "fsdp.sharding_strategy",
    "fsdp.wrapping_strategy", "fsdp.hybrid_sharding_num_model_replicas", "try_load_latest_save", "load_path", "stop_at",
))  # fmt: skip
# Fields that other trainers' lines have as well: they count behind a file, as `train.py FILE.yaml --key=value` has it.
_COMMON = frozenset(
    ("run_name", "save_folder", "max_duration", "wandb.name", "wandb.group", "data.num_workers", "compile")
)


def recognise(config: Config) -> int:
    """The two batch keys that Composer has too, beside a model section of OLMo's; or OLMo-core's."""
    if olmo_core.recognised(config):
        return olmo_core.recognised(config)
    own = config.count(*_OWN)
    if config.has("train_loader", "parameters") or not config.count(GLOBAL, MICRO) or own < 2:  # noqa: PLR2004 - one is Composer's too
        return 0
    return own + config.count(GLOBAL, MICRO, "device_eval_batch_size", "max_duration")


def starts(launch: Launch) -> bool:
    """OLMo's trainer with flags of its own, or a script that Beaker is to run as an OLMo task."""
    program = launch.program or ""
    if _hidden(program):
        return launch.environment.get("OLMO_TASK") == "model"
    flags = {argument.name for argument in launch.arguments}
    if program.rpartition("/")[2] != "train.py":
        return False
    own = flags & _FLAGS
    return len(own) > 1 or bool(own and flags & _COMMON and _file(launch))


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; its rows are full, so that the tokens are exact."""
    if launch.program is not None and _hidden(launch.program):
        yield _unseen(launch)
        return
    if olmo_core.recognised(config):
        yield olmo_core.batch(config, launch.world_size)
        return
    if launch.program is not None and not _file(launch):
        config = config.hiding("the line does not show the file that scripts/train.py takes first")
    layout = Layout.of_world(launch.world_size)
    declared = config.integer(GLOBAL, default=512)
    limit = config.integer(MICRO, default=16)
    share = exact(declared, launch.world_size)
    micro = computed(
        min,
        f"min({shown(limit.value)}, {shown(share.value)} of {GLOBAL} / {shown(layout.world.value)} devices)",
        limit,
        share,
    )
    yield Batch(
        micro=micro.named(MICRO) if micro.known else micro,
        accumulation=ceil(share, micro),
        layout=layout,
        sequence_length=config.integer("model.max_sequence_length", default=1024),
        global_batch=declared,
        declared=declared if config.has(GLOBAL) else None,
        problems=tuple(_checks(config, declared, share, launch.world_size)),
    )


def _file(launch: Launch) -> bool:
    """Whether the line shows the config, which is the program's first word; ``$1`` may have been dropped as empty."""
    return bool(launch.arguments) and not launch.arguments[0].name


def _hidden(program: str) -> bool:
    """Whether the program is a script that the project does not hold."""
    return program.endswith(".sh")


def _unseen(launch: Launch) -> Batch:
    nothing = unknown(f"{launch.program}, which starts the training, is not in the project")
    return Batch(
        micro=nothing.named(MICRO),
        accumulation=nothing,
        layout=Layout(launch.world_size, nothing.named("replicas"), nothing, nothing, nothing),
        sequence_length=nothing.named("model.max_sequence_length"),
    )


def _checks(config: Config, declared: Term, share: Term, world: Term) -> Iterator[Problem]:
    if declared.known and world.value and not share.known:
        fitting = declared.value or 0
        below = fitting // world.value * world.value
        near = " or ".join(shown(size) for size in (below, below + world.value) if size > 0)
        yield Problem(
            "EB302",
            f"{GLOBAL} {shown(declared.value)} is not divisible by {shown(world.value)} devices",
            (declared, world),
            refuses=True,
            help=f"{GLOBAL} {near}, or another number of devices",
        )
    own = config.integer("device_train_batch_size")
    if own.known and not (share.known and own.value == share.value):
        yield Problem(
            "EB305",
            f"device_train_batch_size {shown(own.value)} has no effect: it is overwritten with {GLOBAL} / devices",
            (own, declared),
            help=f"remove it, and set {GLOBAL}",
        )


FRAMEWORK = Framework(
    name="olmo",
    formula="global_train_batch_size = micro batch x accumulation x devices",
    sources=(
        "allenai/OLMo scripts/train.py, olmo/config.py (TrainConfig)",
        "allenai/OLMo-core src/olmo_core/train/train_module/transformer/train_module.py",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
    dialect="omegaconf",
    profiles=("OLMo-core (tokens)",),
)
