"""What is said of a claim that does not hold: the stale factors first, then the batch as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.targets.remarks.totals import effective_on
from effbatch_lint.terms import Number, Term, shown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.source import Span
    from effbatch_lint.targets.remarks.claims import Claim, Factor
    from effbatch_lint.targets.remarks.factors import Pair

_WORDS = {
    "per device": "batch per device",
    "batch": "batch size",
    "length": "sequence length",
    "replicas": "data-parallel replicas",
}


class Verdict(NamedTuple):
    """A claim that does not hold.

    Attributes:
        message: what the comment says, what the files say.
        span: the claim.
        related: the numbers that contradict it, the stale factor first.
        computed: the batch as it is: ``4 x 8 x 8 = 256 sequences on 8 devices``; None where no batch was worked out.
        note: whether the total is right and only a factor is stale, which harms nobody.
    """

    message: str
    span: Span
    related: tuple[Term, ...]
    computed: str | None = None
    note: bool = False


def verdict(claim: Claim, batch: Batch, named: tuple[int, ...], stale: list[Pair], *, note: bool = False) -> Verdict:
    """The verdict with the ``stale`` factors and the numbers that contradict them."""
    said = " ".join(claim.text.split())
    facts = [
        f"{_what(factor, term)} is {shown(term.value)}{_place(term)}, not {factor.value.text}" for factor, term in stale
    ]
    computed = _computed(claim, batch, named)
    message = f'the comment says "{said}"; {", ".join(facts) or computed}'
    if facts and note:
        message += "; the total is right"
    related = dict.fromkeys([*(term for _, term in stale), *(term for term in decisive(batch) if term.spans)])
    return Verdict(message, claim.span, tuple(related), computed, note)


def _what(factor: Factor, term: Term) -> str:
    return term.key or _WORDS.get(factor.meaning or "", factor.meaning or "a factor")


def _place(term: Term) -> str:
    return f" ({term.spans[0].where})" if term.spans else ""


def _computed(claim: Claim, batch: Batch, named: tuple[int, ...]) -> str:
    """The batch as it is, on the devices that the claim names; for one replica where nobody knows the devices."""
    world = batch.layout.world.value
    devices = named[0] if len(named) == 1 else world
    effective = effective_on(devices, batch) if isinstance(devices, int) else batch.effective.value
    if batch.global_batch is not None and effective is not None:
        return f"{batch.global_batch.key or 'the global batch'} is {shown(effective)} {batch.unit}"
    each = batch.per_replica.value
    steps = f"{shown(batch.micro.value)} x {shown(batch.accumulation.value)}"
    if effective is None or not each:
        return f"{steps} = {shown(each)} {batch.unit} on each replica{_replicas_needed(claim, each)}"
    on = f" on {shown(devices)} devices" if isinstance(devices, int) else ""
    return f"{steps} x {shown(effective // each)} = {shown(effective)} {batch.unit}{on}"


def _replicas_needed(claim: Claim, each: Number | None) -> str:
    if claim.total is None or not each:
        return ""
    if claim.total.value % each:
        return f", and no whole number of replicas makes {claim.total.text}"
    return f": {claim.total.text} takes {shown(claim.total.value // each)} replicas"


def decisive(batch: Batch) -> list[Term]:
    """The numbers that the config states of the batch."""
    terms = [batch.micro, batch.accumulation, batch.global_batch, batch.declared]
    return [term for term in terms if term is not None]
