"""What llm-foundry and Composer refuse at start, and what is silently another batch than declared.

Upstream: mosaicml/llm-foundry llmfoundry/utils/config_utils.py (calculate_batch_size_info, process_init_device),
llmfoundry/data/utils.py (validate_ds_replication); mosaicml/composer composer/core/state.py (tensor parallelism is
built on FSDP); mosaicml/examples (``//=`` without a check).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term


def of(
    config: Config, declared: Term, seen: Term, world: Term, replication: Term, *, rounds: bool
) -> Iterator[Problem]:
    """All checks; ``rounds`` tells the programs that divide without one."""
    yield from _division(declared, seen, world, rounds=rounds)
    yield from _replication(config, declared, seen, replication)
    yield from _tensor_parallel(config, world)


def _division(declared: Term, seen: Term, world: Term, *, rounds: bool) -> Iterator[Problem]:
    if declared.value is None or not world.value or declared.value % world.value == 0:
        return
    problem = f"{declared.key} {shown(declared.value)} cannot be divided by {shown(world.value)} ranks"
    below = declared.value - declared.value % world.value
    advice = f"set {declared.key} to a multiple of {shown(world.value)}"
    if rounds and below:
        yield Problem("EB303", f"{problem}, and runs as {shown(seen.value)}", (declared, world), help=advice)
    else:
        yield Problem("EB302", problem, (declared, world), refuses=True, help=advice)


def _replication(config: Config, declared: Term, seen: Term, replication: Term) -> Iterator[Problem]:
    """Ranks that read the same rows: fewer different rows than declared, and than Composer counts."""
    sequence = config.integer("train_loader.dataset.seq_parallel_replication", default=1)
    if sequence.value is not None and sequence.value > 1:
        yield Problem(
            "EB304",
            f"sequence parallelism is not supported: {sequence.key} is {shown(sequence.value)}",
            (sequence,),
            refuses=True,
            help=f"remove {sequence.key}",
        )
    if replication.value not in (1, None) and seen.value is not None and seen.value != declared.value:
        yield Problem(
            "EB303",
            f"{declared.key} {shown(declared.value)} runs as {shown(seen.value)} different sequences: "
            f"{shown(replication.value)} ranks read the same ones ({replication.key})",
            (declared, replication),
            help=f"declare {shown(seen.value)}, or multiply {declared.key} by {shown(replication.value)}",
        )


def _tensor_parallel(config: Config, world: Term) -> Iterator[Problem]:
    """It needs FSDP, a degree and a strategy; on one GPU Composer goes back to DDP before it looks at them."""
    if not config.has("tp_config") or world.value == 1:
        return
    degree = config.integer("tp_config.tensor_parallel_degree")
    missing = [key for key in ("strategy", "tensor_parallel_degree") if config.entry(f"tp_config.{key}") is None]
    if missing:
        refusal, advice = f"tp_config has no {' and no '.join(missing)}", f"set tp_config.{missing[0]}"
    elif not config.has("fsdp_config"):
        refusal, advice = "tp_config needs an fsdp_config: tensor parallelism is built on FSDP", "set fsdp_config"
    else:
        return
    yield Problem("EB304", refusal, (degree,), refuses=True, help=advice)
