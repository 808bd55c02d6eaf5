"""The factors that a comment states, each against the number that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.targets.remarks.claims import Claim, Factor
    from effbatch_lint.terms import Term

Pair: TypeAlias = "tuple[Factor, Term]"


def contradicting(factor: Factor, batch: Batch, *, own: bool) -> Pair | None:
    """A named factor with the number that contradicts it, where that number stands in the files."""
    layout = batch.layout
    actual: tuple[Term, ...] = ()
    match factor.meaning:
        case "micro":
            actual = (batch.micro,)
        case "per device" | "batch":
            actual = (batch.micro, batch.per_replica)
        case "accumulation":
            actual = (batch.accumulation,)
        case "replicas":
            actual = (layout.replicas,)
        case "devices":
            actual = (layout.world, layout.replicas) if own else ()
        case "length":
            actual = (batch.sequence_length,) if batch.sequence_length is not None else ()
    if not actual or any(term.value is None or _given_by_hand(term) for term in actual):
        return None
    if any(factor.value.meets(term.value) for term in actual if term.value is not None):
        return None
    return factor, actual[0]


def _given_by_hand(term: Term) -> bool:
    """Whether a number hangs on what no file states: another invocation changes it."""
    return any(origin.span is None and origin.note is not None for origin in term.origins)


def by_elimination(claim: Claim, batch: Batch) -> list[Pair]:
    """The one unnamed factor that equals none of the batch's numbers, when one number only is left for it."""
    named = {factor.meaning for factor in claim.factors}
    left = [
        batch.micro,
        batch.accumulation,
        *(() if named & {"devices", "replicas", "nodes"} else (batch.layout.replicas,)),
    ]
    left = [term for term in left if term.value not in (None, 1)]
    unmatched = []
    for factor in claim.factors:
        if factor.meaning is not None or factor.value.value == 1:
            continue
        match = next((term for term in left if term.value is not None and factor.value.meets(term.value)), None)
        if match is not None:
            left.remove(match)
        else:
            unmatched.append(factor)
    return [(unmatched[0], left[0])] if len(unmatched) == len(left) == 1 and left[0].key and left[0].spans else []
