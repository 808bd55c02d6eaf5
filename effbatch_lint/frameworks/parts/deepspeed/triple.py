"""The DeepSpeed triple: train_batch_size = micro batch x accumulation x ranks. What is left out follows from the rest.

Upstream: deepspeedai/DeepSpeed, deepspeed/runtime/config.py (DeepSpeedConfig._set_batch_related_parameters and
_batch_assertion, 0.19.8).

    given                  derived
    B, micro               accumulation = B // micro // ranks
    B, accumulation        micro = B // ranks // accumulation
    B                      accumulation = 1, micro = B // ranks
    micro, accumulation    B = micro x accumulation x ranks
    micro                  accumulation = 1, B = micro x ranks

A division that loses something is never silent: afterwards the product must be B again, or DeepSpeed stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO
from effbatch_lint.terms import Term, default, floor, product, shown, unknown


class Triple(NamedTuple):
    """The three numbers, completed, and what contradicts itself in what was given."""

    batch: Term
    micro: Term
    accumulation: Term
    problems: tuple[Problem, ...] = ()


def complete(
    batch: Term | None, micro: Term | None, accumulation: Term | None, ranks: Term, *, whole_ranks: bool = True
) -> Triple:
    """The triple from what is given (None: the key is absent).

    Args:
        batch: samples per optimizer step over all ranks.
        micro: samples per rank and forward pass.
        accumulation: forward passes per optimizer step.
        ranks: data-parallel ranks as DeepSpeed counts them.
        whole_ranks: whether ranks that are unknown are at least known to be a whole number.
    """
    too_small = tuple(_not_positive(batch, micro, accumulation))
    if batch is None and micro is None:
        neither = f"neither {BATCH} nor {MICRO} is set, and DeepSpeed starts only with one of them"
        return Triple(unknown(neither, key=BATCH), unknown(neither, key=MICRO), accumulation or _once())
    if batch is None:
        assert micro is not None
        accumulation = accumulation or _once()
        return Triple(product(micro, accumulation, ranks).named(BATCH), micro, accumulation, too_small)
    given = [term for term in (micro, accumulation) if term is not None]
    problems = too_small or tuple(_contradictions(batch, given, ranks, whole_ranks))
    if micro is None:
        accumulation = accumulation or _once()
        micro = floor(floor(batch, ranks), accumulation).named(MICRO)
    elif accumulation is None:
        accumulation = floor(floor(batch, micro), ranks).named(ACCUMULATION)
    return Triple(batch, micro, accumulation, problems)


def _once() -> Term:
    return default(1, ACCUMULATION)


def _not_positive(*terms: Term | None) -> Iterator[Problem]:
    for term in terms:
        if term is not None and term.value is not None and term.value <= 0:
            message = f"{term.key} is {shown(term.value)}, and has to be greater than 0"
            yield Problem("EB304", message, (term,), refuses=True, help="set it to 1 or more, or leave it out")


def _contradictions(batch: Term, given: list[Term], ranks: Term, whole_ranks: bool) -> Iterator[Problem]:  # noqa: FBT001 - the caller's keyword, handed on
    """B is a multiple of the ranks and of what is given beside it: exactly their product when all three are given."""
    if ranks.known:
        divisor = product(*given, ranks)
    elif whole_ranks and given:
        divisor = product(*given)
    else:
        return
    if not batch.value or not divisor.value or batch.value == divisor.value:
        return
    all_given = len(given) == 2  # noqa: PLR2004 - micro batch and accumulation
    if batch.value % divisor.value == 0 and not (all_given and ranks.known):
        return
    factors = [f"{term.key} {shown(term.value)}" for term in given]
    if ranks.known:
        factors.append(f"{shown(ranks.value)} ranks")
    text = " x ".join(factors)
    if all_given and ranks.known:
        message = f"{BATCH} is {shown(batch.value)}, and {text} make {shown(divisor.value)}"
        advice = f"set {BATCH} to {shown(divisor.value)}, or leave out one of the three: DeepSpeed derives it"
    elif ranks.known:
        below = batch.value - batch.value % divisor.value
        near = [shown(value) for value in (below, below + divisor.value) if value]
        message = f"{BATCH} {shown(batch.value)} is no multiple of {shown(divisor.value)} ({text})"
        advice = f"set {BATCH} to {' or '.join(near)}, or use fewer ranks"
    else:
        message = f"{BATCH} {shown(batch.value)} is no multiple of {shown(divisor.value)} ({text}), however many ranks there are"
        advice = f"set {BATCH} to a multiple of {shown(divisor.value)}"
    yield Problem("EB301" if all_given else "EB302", message, (batch, *given, ranks), refuses=True, help=advice)
