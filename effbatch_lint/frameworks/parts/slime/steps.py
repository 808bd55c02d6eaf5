"""slime's optimizer step: so many completions of a rollout, in micro batches of a fixed size or packed by tokens.

Upstream: THUDM/slime, slime/utils/arguments.py (slime_validate_args), slime/utils/dp_schedule.py (build_dp_schedule). Without
a global batch Megatron takes its own default, a micro batch of each replica (NVIDIA/Megatron-LM,
megatron/training/arguments.py), also where micro batches are packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.frameworks.parts.megatron.microbatches import constant, undeclared
from effbatch_lint.terms import floor, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout, Problem
    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term

MICRO, GLOBAL = "micro-batch-size", "global-batch-size"
PROMPTS, SAMPLES, STEPS = "rollout-batch-size", "n-samples-per-prompt", "num-steps-per-rollout"
DYNAMIC, BUDGET = "use-dynamic-batch-size", "max-tokens-per-gpu"


class Step(NamedTuple):
    """An optimizer step.

    Attributes:
        size: completions.
        pinned: whether the size is fixed; otherwise micro batch, accumulation and replicas make it.
        micro: completions per forward pass of a replica; unknown when they are packed.
        accumulation: forward passes of a replica.
        rollout: completions that a rollout collects.
        problems: Megatron's division, which is checked whatever the packing makes of the micro batch.
    """

    size: Term
    pinned: bool
    micro: Term
    accumulation: Term
    rollout: Term
    problems: tuple[Problem, ...]


def step(args: Config, layout: Layout) -> Step:
    """The step that the flags describe."""
    micro = args.integer(MICRO, default=1)
    rollout = product(args.integer(PROMPTS), args.integer(SAMPLES, default=1))
    declared = _declared(args, rollout)
    if declared is None:
        division = undeclared(micro, layout.replicas, GLOBAL)
    else:
        division = constant(declared, micro, layout.replicas)
        if args.flag("decrease-batch-size-if-needed"):
            division = division._replace(problems=())  # rounds a number of Megatron's own, which slime never reads
    if not args.flag(DYNAMIC):
        size, pinned = division.global_batch, division.pinned
        return Step(size, pinned, micro, division.accumulation, rollout, division.problems)
    budget = args.integer(BUDGET)
    packed = f"--{DYNAMIC} packs up to {shown(budget.value)} tokens of each device into a micro batch"
    return Step(
        division.global_batch,
        True,
        unknown(f"{packed}: how many completions that is depends on their lengths", *budget.origins, key=MICRO),
        unknown(
            f"{packed}: how many of them a step takes depends on the lengths", *budget.origins, key="micro batches"
        ),
        rollout,
        division.problems,
    )


def _declared(args: Config, rollout: Term) -> Term | None:
    if args.has(STEPS):
        steps = args.integer(STEPS)
        parts = f"{shown(rollout.value)} completions of a rollout / {shown(steps.value)} steps"
        divided = floor(rollout, steps).named(f"{PROMPTS} x {SAMPLES} // {STEPS}")
        return divided.because(parts) if divided.known else divided
    return args.integer(GLOBAL) if args.has(GLOBAL) else None
