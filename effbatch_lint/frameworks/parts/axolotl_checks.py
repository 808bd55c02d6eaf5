"""What axolotl refuses before it trains, and the batch key that it ignores.

Upstream: axolotl-ai-cloud/axolotl 0.19.0, src/axolotl/utils/schemas/validation.py (check_batch_size_fields, check_gas_bsz,
check_context_parallel_size, check_sample_packing_w_rl, check_grpo_batch_size_divisibility), utils/distributed.py
(_get_parallel_config_kwargs); the sizes that it hands over are checked by accelerate (ParallelismConfig).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.terms import Term, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

MICRO = "micro_batch_size"
ACCUMULATION = "gradient_accumulation_steps"
TOTAL = "batch_size"


def unplaced(config: Config, layout: Layout) -> Problem | None:
    """What the expert and data-parallel degrees leave over: axolotl or accelerate stops then."""
    expert = config.integer("expert_parallel_size", default=1)
    replicate = config.integer("dp_replicate_size", default=1)
    shard = config.integer("dp_shard_size", default=1)
    fsdp = config.has("fsdp", "fsdp_config")
    replicas, world = layout.replicas.value, layout.world
    if not isinstance(replicas, int) or not expert.value or not replicate.value or not shard.value:
        return None
    if replicas % expert.value:
        return Problem(
            "EB202",
            f"expert_parallel_size {shown(expert.value)} does not divide the {shown(replicas)} replicas",
            (expert, world),
            refuses=True,
            help=f"set expert_parallel_size to a divisor of {shown(replicas)}",
        )
    rest = int(replicas // expert.value)
    written = int(shard.value) if config.has("dp_shard_size") else None
    if placed(rest, int(replicate.value), written, fsdp=fsdp) == rest:
        return None
    if written is not None and not fsdp:
        return Problem(
            "EB304",
            f"dp_shard_size {shown(written)} wants FSDP, and there is no fsdp_config",
            (shard, world),
            refuses=True,
            help="add fsdp_config, or remove dp_shard_size",
        )
    degrees = tuple(term for term in (replicate, shard) if term.value != 1)
    names = " x ".join(f"{term.key} {shown(term.value)}" for term in degrees)
    keys = " x ".join(term.key or "" for term in degrees)
    return Problem(
        "EB202",
        f"{names} wants {shown(product(replicate, shard).value)} replicas, and {shown(world.value)} devices hold {shown(rest)}",
        (*degrees, world),
        refuses=True,
        help=f"set {keys} to {shown(rest)}{', or remove it' if degrees == (shard,) else ''}",
    )


def placed(rest: int, replicate: int, shard: int | None, *, fsdp: bool) -> int:
    """The replicas that find a place: the replicate degree first, then the shard degree; the rest where one is free."""
    if shard is None and replicate == 1:
        return rest
    found, rest = replicate, rest // replicate
    if rest > 1 and shard is not None and shard > 1 and fsdp:
        found, rest = found * shard, rest // shard
        return found * rest if rest == 1 or replicate == 1 else 0
    return found * rest if rest == 1 or (fsdp and shard in (None, 1)) else 0


def sizes(config: Config, micro: Term, accumulation: Term, layout: Layout) -> Iterator[Problem]:
    """``batch_size``: refused beside an accumulation, and otherwise without effect on training."""
    if not config.has(TOTAL):
        return
    total = config.integer(TOTAL)
    if config.has(ACCUMULATION):
        yield Problem(
            "EB301",
            f"{ACCUMULATION} {shown(accumulation.value)} and {TOTAL} {shown(total.value)} exclude each other",
            (total, accumulation),
            refuses=True,
            help=f"remove {TOTAL}",
        )
    elif not config.has(MICRO):
        yield Problem(
            "EB304",
            f"{TOTAL} {shown(total.value)} wants {MICRO} beside it",
            (total,),
            refuses=True,
            help=f"set {MICRO} and {ACCUMULATION}, and remove {TOTAL}",
        )
    elif accumulation.how == "default" and product(micro, layout.replicas).value != total.value:
        yield Problem(
            "EB305",
            f"{TOTAL} {shown(total.value)} only estimates the number of steps: training uses {MICRO} "
            f"{shown(micro.value)} and {ACCUMULATION} 1, the default",
            (total, micro),
            help=f"set {ACCUMULATION} to what is meant, and remove {TOTAL}",
        )


def packing(config: Config, micro: Term, layout: Layout) -> Iterator[Problem]:
    """Packing excludes preference and reinforcement learning, and fills a context-parallel row by itself."""
    switch = config.origin("sample_packing")
    if switch is None or not config.flag("sample_packing"):
        return
    packed = Term(None, "read", (switch,), key="sample_packing")
    if config.has("rl"):
        message = f"sample_packing does not work with rl: {config.text('rl')}"
        yield Problem("EB304", message, (packed,), refuses=True, help="set sample_packing to false")
    elif (layout.context.value or 1) > 1 and (micro.value or 1) > 1:
        yield Problem(
            "EB304",
            f"with context parallelism and sample_packing {MICRO} has to be 1, and is {shown(micro.value)}",
            (micro, layout.context, packed),
            refuses=True,
            help=f"set {MICRO} to 1, and multiply {ACCUMULATION} by {shown(micro.value)}",
        )


def groups(config: Config, micro: Term, accumulation: Term, world: Term) -> Iterator[Problem]:
    """GRPO groups are whole on every rank: checked on micro batch x accumulation, stricter than trl."""
    group = config.integer("trl.num_generations")
    explicit = config.has("trl.generation_batch_size")
    rollout = config.integer("trl.generation_batch_size") if explicit else product(micro, accumulation)
    if config.text("rl") != "grpo" or not group.value or rollout.value is None:
        return
    if group.value < 2:  # noqa: PLR2004 - a group of one has no advantage to compare
        yield Problem(
            "EB304", "trl.num_generations has to be 2 or more", (group,), refuses=True, help="set it to 2 or more"
        )
    elif rollout.value % group.value:
        yield Problem(
            "EB302",
            f"{shown(rollout.value)} completions ({rollout.key or f'{MICRO} x {ACCUMULATION}'}) are no multiple of "
            f"trl.num_generations {shown(group.value)}",
            (group, micro, accumulation),
            refuses=True,
            help=f"set {ACCUMULATION} so that {MICRO} x {ACCUMULATION} is a multiple of {shown(group.value)}",
        )
    elif world.value is not None and world.value > 1 and rollout.value < group.value * world.value:
        yield Problem(
            "EB302",
            f"{shown(rollout.value)} completions are less than {shown(group.value)} for each of {shown(world.value)} devices",
            (group, micro, accumulation, world),
            refuses=True,
            help=f"{MICRO} x {ACCUMULATION} has to be {shown(group.value * world.value)} or more",
        )
