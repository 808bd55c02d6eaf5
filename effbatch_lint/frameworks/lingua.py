"""lingua: data.batch_size x grad_acc_steps x (distributed.dp_replicate x distributed.dp_shard).

    dp_replicate = devices / dp_shard / tp_size       whatever the file says, when the product is not the devices

Upstream: facebookresearch/lingua, apps/main/train.py (validate_train_args; the same in apps/mamba, apps/fastRNN,
apps/mtp and apps/aunet), lingua/data.py (DataArgs), lingua/distributed.py (DistributedArgs, get_device_mesh).

The comment of TrainArgs ("total batch size is batch_size*grad_acc_steps") leaves the devices out. Rows are packed full;
for apps/aunet a token is a byte. ``n_views`` adds targets, and no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_OWN = (
    "grad_acc_steps", "dump_dir", "probe_freq", "async_eval_gpus", "data.n_views", "data.root_dir", "data.sources",
    "data.prefetch_size", "data.load_async", "distributed.fsdp_type", "distributed.tp_size", "distributed.dp_shard",
    "distributed.dp_replicate", "distributed.selective_activation_checkpointing",
)  # fmt: skip
_ENOUGH = 4
_PROGRAMS = tuple(f"apps.{app}.train" for app in ("main", "mamba", "fastRNN", "mtp", "aunet"))


def recognise(config: Config) -> int:
    """A batch of packed rows, and four of lingua's own keys beside it."""
    own = config.count(*_OWN)
    return own + config.count("data.batch_size", "data.seq_len") if config.has("data") and own >= _ENOUGH else 0


def starts(launch: Launch) -> bool:
    """Lingua's programs, which all train so: ``apps.main.train``, ``apps.mamba.train``."""
    return (launch.program or "").replace("/", ".").removesuffix(".py") in _PROGRAMS


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; rows are full, so the tokens are exact."""
    dims = _layout(config, launch.world_size)
    yield Batch(
        micro=config.integer("data.batch_size", default=2),
        accumulation=config.integer("grad_acc_steps", default=1),
        layout=dims,
        sequence_length=config.integer("data.seq_len", default=2048),
        problems=(*_unsharded(config, dims), *_probing(config, dims)),
    )


def _layout(config: Config, world: Term) -> Layout:
    """The replicas: those that are left. ``dp_replicate`` as written counts only when it is that number."""
    written = config.integer("distributed.dp_replicate", default=1)
    shard = config.integer("distributed.dp_shard", default=1)
    tensor = config.integer("distributed.tp_size", default=1)
    dims = Layout.of_world(world, tensor=tensor)
    replicas = dims.replicas
    if replicas.value is not None and shard.value and replicas.value % shard.value:
        problem = Problem(
            "EB201",
            f"{shown(world.value)} devices / {shown(tensor.value)} (tp_size) cannot be divided by dp_shard "
            f"{shown(shard.value)}",
            (shard, tensor, world),
            refuses=True,
            help=f"use a multiple of {shown(product(shard, tensor).value)} devices",
        )
        return dims._replace(replicas=exact(replicas, shard), problems=(problem,))
    groups = exact(replicas, shard)
    if not groups.known or not written.origins or written.value == groups.value:
        return dims
    ignored = Problem(
        "EB305",
        f"distributed.dp_replicate {shown(written.value)} is replaced by {shown(groups.value)}: {shown(world.value)} "
        f"devices / {shown(shard.value)} (dp_shard) / {shown(tensor.value)} (tp_size)",
        (written, shard, tensor),
        help=f"set distributed.dp_replicate to {shown(groups.value)}, or remove it",
    )
    return dims._replace(problems=(*dims.problems, ignored))


def _unsharded(config: Config, dims: Layout) -> Iterator[Problem]:
    """``no_shard``, which is the default, takes neither shards nor, once it had to correct the replicas, tensors."""
    shard = config.integer("distributed.dp_shard", default=1)
    written = config.integer("distributed.dp_replicate", default=1)
    if (config.text("distributed.fsdp_type") or "no_shard") != "no_shard" or shard.value is None:
        return
    corrected = dims.world.known and product(written, shard, dims.tensor).value != dims.world.value
    if shard.value != 1 or (corrected and dims.tensor.value != 1):
        split = shard if shard.value != 1 else dims.tensor
        yield Problem(
            "EB304",
            f"distributed.fsdp_type no_shard takes every device for a replica, and {split.key} is {shown(split.value)}",
            (split, config.place("distributed.fsdp_type")),
            refuses=True,
            help="set distributed.fsdp_type to full_shard",
        )


def _probing(config: Config, dims: Layout) -> Iterator[Problem]:
    if config.has("probe_freq") and dims.tensor.value not in (1, None):
        yield Problem(
            "EB304",
            f"probe_freq is not supported with distributed.tp_size {shown(dims.tensor.value)}",
            (config.integer("probe_freq"), dims.tensor),
            refuses=True,
            help="set probe_freq to null",
        )


FRAMEWORK = Framework(
    name="lingua",
    formula="data.batch_size x grad_acc_steps x dp_replicate x dp_shard",
    sources=(
        "facebookresearch/lingua apps/main/train.py (validate_train_args)",
        "facebookresearch/lingua lingua/distributed.py (DistributedArgs, get_device_mesh)",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
    dialect="omegaconf",
)
