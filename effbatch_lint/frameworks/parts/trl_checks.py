"""What trl's configurations refuse beside HF Trainer's own checks.

Upstream: huggingface/trl, trl/trainer/grpo_config.py (GRPOConfig.__post_init__), trl/trainer/kto_trainer.py, 1.16. Since
0.17 the completions of a whole rollout must fill the groups; 0.15 and 0.16 asked that of every single pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.trainer.batch import ACCUMULATION, MICRO
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config

GROUP, ROLLOUT, STEPS = "num_generations", "generation_batch_size", "steps_per_generation"
_UNPAIRED = ("desirable_weight", "undesirable_weight")


def of(config: Config, batch: Batch) -> Iterator[Problem]:
    """The findings on a batch as trl reads it."""
    if batch.unit == "completions":
        yield from _rollout(config, batch)
        yield from _evaluation(config, batch)
        if (batch.layout.context.value or 1) > 1:
            yield _refused(
                "EB304",
                "GRPO does not take context or sequence parallelism",
                batch.layout.context,
                help="set the degree to 1",
            )
    labelled = config.count(*_UNPAIRED) > 0 and config.text("loss_type") != "apo_zero_unpaired"
    if labelled and batch.micro.value is not None and batch.micro.value <= 1:
        yield _refused(
            "EB304",
            f"KTO's KL term needs at least 2 examples in a pass, and {MICRO} is {shown(batch.micro.value)}",
            batch.micro,
            help=f"set {MICRO} to 2 and halve {ACCUMULATION}",
        )


def _rollout(config: Config, batch: Batch) -> Iterator[Problem]:
    """The completions of a rollout: whole passes of all processes, and whole groups."""
    group, stated = config.integer(GROUP), config.integer(ROLLOUT)
    if group.value is not None and group.value < 2:  # noqa: PLR2004 - advantages compare the completions of a group
        yield _refused(
            "EB304",
            f"{GROUP} is {shown(group.value)}: advantages need at least 2 completions of a prompt",
            group,
            help=f"set {GROUP} to 2 or more",
        )
        return
    if config.has(ROLLOUT) and config.has(STEPS):
        yield _refused(
            "EB304",
            f"{ROLLOUT} and {STEPS} are both set: one follows from the other",
            stated,
            config.integer(STEPS),
            help="remove one of them",
        )
        return
    each = product(batch.micro, batch.layout.world)
    if stated.known and _remains(stated, each):
        yield _refused(
            "EB302",
            f"{ROLLOUT} {shown(stated.value)} is not divisible by {shown(batch.micro.value)} ({MICRO}) x "
            f"{shown(batch.layout.world.value)} processes = {shown(each.value)}",
            stated,
            batch.micro,
            batch.layout.world,
            help=f"use a multiple of {shown(each.value)}",
        )
        return
    steps = config.integer(STEPS) if config.has(STEPS) else batch.accumulation
    whole = stated if config.has(ROLLOUT) else product(each, steps)
    if _remains(whole, group):
        parts = (stated,) if config.has(ROLLOUT) else (batch.micro, steps, batch.layout.world)
        made = ROLLOUT if config.has(ROLLOUT) else f"{MICRO} x processes x {steps.key or ACCUMULATION}"
        yield _refused(
            "EB302",
            f"a rollout of {shown(whole.value)} completions ({made}) is not divisible by {GROUP} {shown(group.value)}",
            group,
            *parts,
            help=f"let it be a multiple of {shown(group.value)}",
        )


def _evaluation(config: Config, batch: Batch) -> Iterator[Problem]:
    """Completions of an evaluation pass fill the groups too."""
    if config.text("eval_strategy", "evaluation_strategy") in (None, "no", "False"):
        return
    own = config.integer("per_device_eval_batch_size", default=8)
    group = config.integer("num_generations_eval", GROUP)
    whole = product(own, batch.layout.world)
    if _remains(whole, group):
        yield _refused(
            "EB304",
            f"an evaluation pass of {shown(whole.value)} completions (per_device_eval_batch_size x processes) is not divisible "
            f"by {group.key} {shown(group.value)}",
            own,
            group,
            batch.layout.world,
            help=f"let per_device_eval_batch_size x processes be a multiple of {shown(group.value)}",
        )


def _remains(dividend: Term, divisor: Term) -> bool:
    return dividend.value is not None and bool(divisor.value) and not exact(dividend, divisor).known


def _refused(code: str, message: str, *terms: Term, help: str) -> Problem:
    return Problem(code, message, terms, refuses=True, help=help)
