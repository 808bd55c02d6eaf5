"""The finding for a number that is not the declared one, in items (EB101) or tokens (EB103), with its diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.diagnosis import any_term, factor_between
from effbatch_lint.rules.context import declared_label, equation, factors, given
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.diagnosis import Between, Factor
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context
    from effbatch_lint.targets.target import Target
    from effbatch_lint.targets.verdict import Verdict
    from effbatch_lint.terms import Number


def mismatch(code: str, batch: Batch, context: Context, target: Target, verdict: Verdict) -> Finding:
    """The finding for a number that is not the declared one, with the diagnosis of the factor between them."""
    from effbatch_lint.rules.advice import advice  # noqa: PLC0415 - most targets are met

    computed = verdict.computed.value
    assert computed is not None
    notes = equation(batch, context.recipe.reader, tokens=verdict.unit == "tokens")
    between = factor_between(target.quantity, computed)
    if between is not None:
        found = any_term(batch, context.recipe.launch, between)
        notes += _explained(target, computed, between, found)
    return context.finding(
        code,
        f"{target.words(verdict.unit)} per optimizer step declared, {shown(computed)} computed",
        declared_label(target, verdict.unit),
        related=factors(batch, tokens=verdict.unit == "tokens"),
        notes=[*notes, *given(batch, target)],
        help=advice(batch, context.recipe, target, verdict),
    )


def multiple(target: Target, computed: Number, factor: int) -> str:
    """``48 is 2 x 24``; a rounded declaration with the number that it stands for: ``4M is 8 x 524,288 = 4,194,304``."""
    exact = "" if target.quantity.value == computed * factor else f" = {shown(computed * factor)}"
    return f"{target.number} is {factor:,} x {shown(computed)}{exact}"


def _explained(target: Target, computed: Number, between: Between, found: tuple[Factor, ...]) -> list[str]:
    """The factor between the numbers, and what of the run it equals."""
    if between.larger:
        line = multiple(target, computed, between.factor)
        return [f"{line}, and {between.factor:,} is {' and '.join(each.words for each in found)}" if found else line]
    part = computed // between.factor
    line = f"{shown(computed)} is {between.factor:,} x {shown(part)}"
    if not found:
        return [line]
    names = found[0].names
    count = f"{between.factor:,}"
    if names == ("accumulation",):
        return [
            f"{line}: {shown(part)} is one forward pass, and {count} of them are accumulated ({found[0].terms[0].written})"
        ]
    if names == ("number of replicas",):
        return [f"{line}: {shown(part)} is the share of one replica, and there are {count} replicas"]
    if names == ("number of nodes",):
        return [f"{line}: {shown(part)} is the share of one node, and there are {count} nodes"]
    return [f"{line}: {shown(part)} leaves out {' or '.join(each.words for each in found)}"]
