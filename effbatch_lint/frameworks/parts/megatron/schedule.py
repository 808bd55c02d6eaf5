"""Megatron's changing global batch: ``--step-batch-size-schedule``, and ``--rampup-batch-size`` before it.

Upstream: NVIDIA/Megatron-LM, megatron/core/num_microbatches_calculator.py: StepBatchsizeNumMicroBatchesCalculator
(_parse_schedule, _validate_schedule); up to tag core_v0.17.1 RampupBatchsizeNumMicroBatchesCalculator.

A schedule's thresholds are tokens, because Megatron always hands over the sequence length; it compares samples, so
that two thresholds within one sequence are refused. A ramp counts samples.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem, Stage
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.terms import Term

_NUMBER = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:E[+-]?\d{1,2})?)([KMBT]?)", re.IGNORECASE)
_SUFFIX = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}

# A ramp of more steps than a person could read is kept as its first and last stage.
MAX_STAGES = 1_000


def steps(text: str, length: Term, at: Term) -> tuple[tuple[Stage, ...], Problem | None]:
    """The stages of ``"0:384 200B:768"`` in order, or what Megatron refuses of it. ``at`` names and places the flag."""
    pairs = []
    for entry in text.replace(",", " ").split():
        threshold, colon, batch = entry.partition(":")
        start, size = _count(threshold), _count(batch)
        if not colon or start is None or size is None:
            return (), _refused(at, f"{entry!r} is no THRESHOLD:BATCH")
        if size < 1:
            return (), _refused(at, f"the batch of {entry!r} must be positive")
        pairs.append((start, size))
    pairs.sort()
    samples = [start // (length.value or 1) for start, _ in pairs]
    if not samples or samples[0] != 0:
        return (), _refused(at, "the first threshold must be 0")
    if any(later <= earlier for earlier, later in pairwise(samples)):
        return (), _refused(at, "the thresholds must increase by at least one sequence")
    return tuple(Stage(start, "tokens", at._replace(value=size, how="read")) for start, size in pairs), None


def ramp(words: Sequence[str], total: Term, at: Term) -> tuple[tuple[Stage, ...], Problem | None]:
    """The stages of START INCREMENT SAMPLES up to the ``total`` global batch, or what Megatron refuses of it."""
    digits = [word.replace("_", "") for word in words if len(word) < 20]  # noqa: PLR2004 - no batch has twenty digits
    numbers = [int(word) if word.isdecimal() else -1 for word in digits]
    if len(numbers) != 3 or min(numbers) < 0:  # noqa: PLR2004 - start, increment, samples
        return (), _refused(at, f"{' '.join(words)[:60]!r} is not START INCREMENT SAMPLES")
    start, increment, samples = numbers
    if total.value is None:
        return (), None
    if start < 1 or increment < 1 or total.value < start or (total.value - start) % increment:
        return (), _refused(
            at,
            f"{total.key} {shown(total.value)} is not reached from {shown(start)} in steps of {shown(increment)}",
            total,
        )
    count = int(total.value - start) // increment
    if count == 0 or samples == 0:
        return (), _refused(
            at, f"{shown(count)} steps in {shown(samples)} samples are no ramp: Megatron divides by 0", total
        )
    chosen = range(count + 1) if count < MAX_STAGES else (0, count)
    return (
        tuple(
            Stage(
                -(-step * samples // count),
                "samples",
                at._replace(value=start + step * increment, how="read") if step < count else total,
            )
            for step in chosen
        ),
        None,
    )


def _count(text: str) -> int | None:
    match = _NUMBER.fullmatch(text)
    return None if match is None or len(text) > 40 else int(float(match[1]) * _SUFFIX[match[2].upper()])  # noqa: PLR2004


def _refused(at: Term, reason: str, *further: Term) -> Problem:
    return Problem("EB304", f"{at.key}: {reason}", (at, *further), refuses=True)
