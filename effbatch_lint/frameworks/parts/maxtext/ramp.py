"""MaxText's ramp of the batch: from ``per_device_batch_size_start`` in steps of an increment, counted in samples.

Upstream: AI-Hypercomputer/maxtext, src/maxtext/utils/rampup_batch.py (RampupBatchManager).

Every size lasts until ``global_rampup_samples / increments`` samples were taken at it, rounded up to whole steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem, Stage
from effbatch_lint.frameworks.parts.maxtext.size import size
from effbatch_lint.terms import Term, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.maxtext.size import Size

# A ramp of more steps than a person could read is not listed.
_MAX_STAGES = 1_000


def ramp(
    config: Config, last: Size, devices: Term, accumulation: Term
) -> tuple[tuple[Stage, ...], tuple[Problem, ...]]:
    """The stages of the ramp, or what MaxText refuses of it; neither without a ramp or with numbers unknown."""
    if not config.flag("enable_rampup_batch_size"):
        return (), ()
    start, step = (
        size(config, f"per_device_batch_size_{name}", default)
        for name, default in (("start", "4.0"), ("increment", "2.0"))
    )
    end, begin, by = last.term.value, start.term.value, step.term.value
    if end is None or begin is None or not by:
        return (), ()
    if end <= begin or (end - begin) % by:
        problem = Problem(
            "EB304",
            f"per_device_batch_size {last.text} is not reached from {start.text} in steps of {step.text}",
            (last.term, start.term, step.term),
            refuses=True,
            help="let it be the start plus a whole number of increments",
        )
        return (), (problem,)
    count = int((end - begin) / by)
    samples = config.integer("global_rampup_samples", default=500)
    if not (devices.value and samples.known and accumulation.known) or count > _MAX_STAGES:
        return (), ()
    return tuple(_stages(start.on(devices), step.on(devices), last.on(devices), count, samples, accumulation)), ()


def _stages(first: Term, by: Term, last: Term, count: int, samples: Term, accumulation: Term) -> list[Stage]:
    taken, stages = 0, []
    begin, step, each = int(first.value or 0), int(by.value or 0), int(samples.value or 0)
    for index in range(count + 1):
        current = begin + index * step if index < count else int(last.value or 0)
        batch = (
            Term(current, "derived", first.origins, f"{shown(begin)} + {index} x {shown(step)}")
            if index < count
            else last
        )
        stages.append(Stage(taken, "samples", product(batch, accumulation)))
        steps = -(-each // (count * current)) if current else 0
        taken += steps * current
    return stages
