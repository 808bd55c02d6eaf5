"""SkyRL's SFT: batch_size sequences a step, over replicas and micro batches that divide it.

Upstream: NovaSky-AI/SkyRL, skyrl/train/config/sft_config.py (SFTConfig, validate_sft_cfg), skyrl/train/sft_trainer.py
(_validate_batch_parallelism).

The default layout, tensor 2 x pipeline 2 on 4 devices, is that of a line without any key of ``megatron_config``: one key
replaces the whole section, whose own defaults are 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch
from effbatch_lint.frameworks.parts.model_devices import model_devices
from effbatch_lint.frameworks.parts.skyrl.checks import megatron_checks
from effbatch_lint.frameworks.parts.skyrl.layout import megatron, ulysses
from effbatch_lint.frameworks.parts.skyrl.steps import refused
from effbatch_lint.terms import Term, exact, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout, Problem
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO = "micro_train_batch_size_per_gpu"
_PACKING = "use_sequence_packing"
_BESIDE = (
    "batch_size", "placement.num_gpus_per_node", "placement.num_nodes", "megatron_config", "fsdp_config", "strategy",
    "train_datasets", "max_length", "train_on_what", "remove_microbatch_padding",
)  # fmt: skip


def is_sft(config: Config) -> int:
    """How many keys of SFT there are; 0 without the micro batch, whose name no other trainer has at the top."""
    beside = config.count(*_BESIDE)
    return beside + 1 if config.has(MICRO) and beside > 1 else 0


def sft_batch(config: Config, launch: Launch) -> Batch:
    """The one batch of SFT."""
    nodes = config.integer("placement.num_nodes", default=1)
    each = config.integer("placement.num_gpus_per_node", default=4)
    world, conflict = model_devices("training", nodes, each, launch.world_size)
    uses_megatron = (config.text("strategy") or "megatron") == "megatron"
    layout = _layout(config, world, uses_megatron=uses_megatron)
    batch = config.integer("batch_size", default=4)
    packed = config.flag(_PACKING)
    micro, accumulation = _bins(config) if packed else _rows(config, batch, layout)
    return Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=_length(config),
        global_batch=batch,
        declared=batch if config.has("batch_size") else None,
        tokens_bound="at most",
        problems=(
            *conflict,
            *(megatron_checks(config, "", "") if uses_megatron else ()),
            *_shares(batch, micro, layout, packed=packed),
        ),
        profile="SFT",
    )


def _layout(config: Config, world: Term, *, uses_megatron: bool) -> Layout:
    if not uses_megatron:
        return ulysses(config.integer("sequence_parallel_size", default=1), world)
    untouched = 1 if config.count("megatron_config") else 2
    return megatron(config, "megatron_config", world, tensor=untouched, pipeline=untouched)


def _rows(config: Config, batch: Term, layout: Layout) -> tuple[Term, Term]:
    micro = config.integer(MICRO, default=2)
    return micro, exact(exact(batch, layout.replicas), micro)


def _bins(config: Config) -> tuple[Term, Term]:
    """Sequences packed into bins, a micro batch each."""
    origin = config.origin(_PACKING)
    filled = unknown(
        f"{_PACKING} packs the sequences of a step into bins, a micro batch each: how many there are depends on lengths",
        *([origin] if origin else []),
        key=_PACKING,
    )
    return filled, filled


def _length(config: Config) -> Term:
    limit = config.integer("max_length")
    return limit if limit.origins else limit._replace(reason="max_length is not set: rows are not truncated")


def _shares(batch: Term, micro: Term, layout: Layout, *, packed: bool) -> Iterator[Problem]:
    """Every replica takes the same number of whole micro batches; packed, one sequence at least."""
    replicas = layout.replicas
    if batch.value is None or not replicas.value:
        return
    if packed:
        if batch.value < replicas.value:
            yield refused(
                "EB302",
                f"batch_size {shown(batch.value)} is less than {shown(replicas.value)} replicas",
                batch,
                layout.world,
                help=f"set batch_size to {shown(replicas.value)} or more",
            )
        return
    share = exact(batch, replicas)
    if share.value is None:
        yield refused(
            "EB302",
            f"batch_size {shown(batch.value)} is not divisible by {shown(replicas.value)} replicas",
            batch,
            layout.world,
            help=f"use a multiple of {shown(replicas.value)}",
        )
    elif micro.value and share.value % micro.value:
        yield refused(
            "EB302",
            f"a replica's share, {shown(batch.value)} / {shown(replicas.value)} replicas = {shown(share.value)} sequences, is "
            f"not divisible by {MICRO} {shown(micro.value)}",
            micro,
            batch,
            layout.world,
            help=f"set {MICRO} to a divisor of {shown(share.value)}",
        )
