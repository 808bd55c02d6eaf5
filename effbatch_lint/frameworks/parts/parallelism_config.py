"""accelerate's ParallelismConfig: five sizes whose product must be the number of processes.

Upstream: huggingface/accelerate, src/accelerate/parallelism_config.py (ParallelismConfig.__post_init__,
_validate_accelerator), src/accelerate/accelerator.py (_prepare_deepspeed), 1.15.0.

``dp_replicate`` and ``dp_shard`` carry data; ``tp``, ``cp`` and ``sp`` ranks share it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

# accelerate hands the keys of a launch file to its argument parser as they stand: a bare ``cp_size`` there is lost.
LAUNCH_FILE = "parallelism_config.parallelism_config_"
ARGUMENT = "parallelism_config."


class Degrees(NamedTuple):
    """The sizes of a ParallelismConfig, and the place of the whole."""

    replicate: Term
    shard: Term
    tensor: Term
    context: Term
    sequence: Term
    place: Term

    @property
    def split(self) -> Term:
        """The degree that splits one sequence: context or sequence parallelism, which exclude each other."""
        return self.sequence if self.context.value == 1 else self.context


def degrees(config: Config, stem: str = LAUNCH_FILE) -> Degrees:
    """The sizes under keys that begin with ``stem``; 1 where a key is absent."""
    origin = config.origin("parallelism_config")
    return Degrees(
        replicate=config.integer(f"{stem}dp_replicate_size", default=1),
        shard=config.integer(f"{stem}dp_shard_size", default=1),
        tensor=config.integer(f"{stem}tp_size", default=1),
        context=config.integer(f"{stem}cp_size", default=1),
        sequence=config.integer(f"{stem}sp_size", default=1),
        place=Term(None, "read", () if origin is None else (origin,), key="parallelism_config"),
    )


def refusal(sizes: Degrees, world: Term, distributed: str = "", fsdp_version: str | None = None) -> Problem | None:
    """The first check of accelerate that fails, or None.

    Args:
        sizes: the degrees.
        world: processes over all machines.
        distributed: ``distributed_type`` of the launch file, when there is one.
        fsdp_version: "1" (also when absent) or "2".
    """
    replicate, shard, tensor, context, sequence, _ = sizes
    if any(size.value is None for size in sizes[:-1]):
        return None
    split = tuple(size for size in sizes[:-1] if size.value != 1)
    if context.value != 1 and sequence.value != 1:
        return Problem(
            "EB304",
            f"{_named(context)} and {_named(sequence)} exclude each other",
            (context, sequence),
            refuses=True,
            help="set one of them to 1",
        )
    if (tensor.value != 1 or context.value != 1) and replicate.value != 1 and shard.value == 1:
        return Problem(
            "EB304",
            f"{_named(replicate)} beside tensor or context parallelism wants dp_shard_size over 1",
            split,
            refuses=True,
            help=f"set dp_shard_size to {shown(replicate.value)} and dp_replicate_size to 1",
        )
    if distributed == "FSDP" and fsdp_version != "2" and split:
        return Problem(
            "EB304",
            f"parallelism_config wants FSDP version 2, and fsdp_version is {fsdp_version or 'not set, which means 1'}",
            split,
            refuses=True,
            help="set fsdp_config.fsdp_version to 2",
        )
    return _wrong_product(sizes, split, world) or (
        _nothing_to_shard(sizes, world) if distributed == "FSDP" and fsdp_version == "2" else None
    )


def _wrong_product(sizes: Degrees, split: tuple[Term, ...], world: Term) -> Problem | None:
    """The sizes must make the number of processes.

    With sequence parallelism accelerate skips that check, and writes micro batch x accumulation x dp_replicate x
    dp_shard into ``train_batch_size``, which DeepSpeed then compares with its own ranks.
    """
    data = product(sizes.replicate, sizes.shard)
    shared = product(sizes.tensor, sizes.context, sizes.sequence)
    needed = product(data, sizes.sequence) if sizes.sequence.value != 1 else product(data, shared)
    if not split or not world.value or not shared.value or needed.value == world.value:
        return None
    fits = world.value % shared.value == 0
    return Problem(
        "EB202",
        f"{' x '.join(map(_named, split))} make up {shown(needed.value)} processes, and the job has {shown(world.value)}",
        (*split, world),
        refuses=True,
        help=f"dp_replicate_size x dp_shard_size must be {shown(world.value // shared.value)}"
        if fits
        else f"use a multiple of {shown(shared.value)} processes",
    )


def _nothing_to_shard(sizes: Degrees, world: Term) -> Problem | None:
    if sizes.shard.value != 1 or sizes.context.value != 1 or world.value in (None, 1):
        return None
    return Problem(
        "EB304",
        "FSDP version 2 has nothing to shard over: dp_shard_size and cp_size are both 1",
        (sizes.place, world),
        refuses=True,
        help="set dp_shard_size to the number of replicas",
    )


def _named(size: Term) -> str:
    name = (size.key or "").rpartition(".")[2].removeprefix("parallelism_config_")
    return f"{name} {shown(size.value)}"
