"""A target is declared and the batch cannot be known.

What it checks
    There is something to compare with, and a number is missing: mostly the world size, which the launcher decides.

Why it matters
    A declaration that nothing checks is a comment. The finding says which number is missing and how to give it.

Example
    # effbatch: target=2048
    micro_batch_size: 4
    gradient_accumulation_steps: 8        # 32 per replica; how many replicas?

Use instead
    # effbatch: target=2048 world-size=64
    or --world-size 64, or world-size = 64 in the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.findings import Label
from effbatch_lint.rules.context import declared_label, factors, given
from effbatch_lint.terms import Term, counted, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context
    from effbatch_lint.source import Span
    from effbatch_lint.targets.target import Target
    from effbatch_lint.terms import Number


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that cannot be compared, with what is missing."""
    for target, verdict in context.verdicts:
        if verdict.kind != "unverifiable":
            continue
        yield context.finding(
            "EB104",
            f"{target.words(verdict.unit)} per optimizer step declared, and it cannot be checked: {verdict.computed.reason}",
            declared_label(target, verdict.unit),
            related=[*factors(batch), *(Label(span, "not known") for span in _places(batch))],
            notes=[*_share(batch, target, verdict.unit), *given(batch, target)],
            help=_missing(batch, target, verdict.unit),
        )


def _places(batch: Batch) -> list[Span]:
    """Where the numbers stand that have no value, and not what else they would be made of."""
    known = {span for term in batch.terms().values() if term.known for span in term.spans}
    return list(dict.fromkeys(span for term in _stated(batch) for span in term.spans if span not in known))


def _share(batch: Batch, target: Target, unit: str) -> list[str]:
    """What one replica contributes, and whether any number of them makes the target."""
    share = batch.per_replica
    if share.value is None or batch.layout.replicas.known:
        return []
    each = counted(share.value, batch.unit)
    line = f"{shown(batch.micro.value)} x {shown(batch.accumulation.value)} = {each} per replica"
    reachable = unit != batch.unit or target.tolerance or target.quantity.meets_multiple(share.value)
    return [line if reachable else f"{line}, and {target.number} is no multiple of that, on whatever number of devices"]


def _missing(batch: Batch, target: Target, unit: str) -> str | None:
    """How to give the number that is missing, and how many devices would meet the target when it is theirs."""
    for term in _stated(batch):
        needed = None if term.known else _needed(term)
        if needed is not None:
            return needed
        if not term.known and term.spans and term.key:
            return f"give it: --override {term.origins[0].key or term.key}=N"
    if not batch.layout.world.known and batch.global_batch is None:
        advice = "give --world-size N, or write  # effbatch: world-size=N"
        devices = _devices(batch, target, unit)
        return advice if devices is None else f"{advice}; {counted(devices, 'devices')} would see {target.words(unit)}"
    if target.quantity.unit == "tokens" and batch.tokens_per_step is None:
        effective = batch.effective.value
        number = "N" if effective is None else f"{shown(effective).replace(',', '')}, which is what is computed"
        return f"declare {batch.unit} instead: target={number}"
    return None


def _needed(term: Term) -> str | None:
    """What to give the script, where a variable or an argument of it is all that is missing."""
    from effbatch_lint.documents.shell.said import needed  # noqa: PLC0415 - few findings are of this kind

    word = needed(term.reason or "")
    if word is None:
        return None
    return "give it: --override arg:VALUE" if word == "arg:" else f"give it: --set {word.removeprefix('env:')}VALUE"


def _stated(batch: Batch) -> list[Term]:
    """The numbers that a config states, rather than what follows from them."""
    layout, length = batch.layout, batch.sequence_length
    stated = [batch.micro, batch.accumulation, layout.tensor, layout.pipeline, layout.context]
    return stated if length is None else [*stated, length]


def _devices(batch: Batch, target: Target, unit: str) -> Number | None:
    """The devices whose replicas together meet the target; None where no whole number of replicas does."""
    each, model = batch.per_replica, batch.layout.model_parallel
    if unit == "tokens" and batch.unit != "tokens":
        if batch.sequence_length is None or batch.tokens is not None:
            return None
        each = product(each, batch.sequence_length, Term(batch.sequences_per_item, "derived"))
    elif unit != batch.unit:
        return None
    if not each.value or model.value is None or batch.global_batch is not None:
        return None
    declared = target.quantity
    exactly = [declared.value] if declared.binary is None else [declared.binary // declared.scale, declared.value]
    whole = next((number for number in exactly if number % each.value == 0), None)
    return None if whole is None else whole // each.value * model.value
