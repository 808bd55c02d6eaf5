"""The finding for a number that is not the declared one, in items (EB101) or tokens (EB103), with its diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.diagnosis import any_term, factor_between
from effbatch_lint.findings import Label
from effbatch_lint.rules.context import declared_label, equation, factors, labels
from effbatch_lint.targets.verdict import reach
from effbatch_lint.terms import counted, shown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context
    from effbatch_lint.targets.target import Target
    from effbatch_lint.targets.verdict import Verdict
    from effbatch_lint.terms import Number


def mismatch(code: str, batch: Batch, context: Context, target: Target, verdict: Verdict) -> Finding:
    """The finding for a number that is not the declared one, with the diagnosis of the factor between them."""
    computed = verdict.computed.value
    assert computed is not None
    between = factor_between(target.quantity.value, computed)
    notes = [equation(batch, context.recipe.reader)]
    if verdict.unit == "tokens" and batch.sequence_length is not None:
        notes.append(
            f"tokens: {shown(batch.effective.value)} x {shown(batch.sequence_length.value)} = {shown(computed)} per step"
        )
    related = [*_further(batch, verdict.unit), *factors(batch)]
    if between is not None:
        notes.append(_factor(target, computed, *between))
        for found in any_term(batch, context.recipe.launch, between[0]):
            notes.append(f"{shown(between[0])} is {found.words} of this run")
            related += [Label(span, found.words) for term in found.terms for span in term.spans]
    related = list({label.span: label for label in related}.values())
    return context.finding(
        code,
        f"{target.words(verdict.unit)} declared, {counted(computed, verdict.unit)} per optimizer step computed",
        declared_label(target, verdict.unit),
        related=related,
        notes=notes,
        help=reach(batch, target, verdict),
    )


def _further(batch: Batch, unit: str) -> list[Label]:
    """The places of the replicas or devices, where the run itself states them, and of what makes tokens of sequences."""
    replicas, world, length = batch.layout.replicas, batch.layout.world, batch.sequence_length
    out: list[Label] = []
    if replicas.how == "read":
        out += labels(replicas, counted(replicas.value, "replicas"))
    elif world.known and world.how != "declared":
        out += labels(world, counted(world.value, "devices"))
    if unit == "tokens" and length is not None and length.known:
        out += labels(length, f"sequence length {shown(length.value)}")
    return out


def _factor(target: Target, computed: Number, factor: int, larger: bool) -> str:  # noqa: FBT001 - a pair of diagnosis.factor_between
    declared = target.number
    value = shown(computed)
    return f"{declared} is {factor:,} x {value}" if larger else f"{value} is {factor:,} x {declared}"
