"""The effective batch differs from the declared target.

What it checks
    The recipe declares how many items one optimizer step should see (a pragma, the settings, an `effbatch:` node
    or --target), and the framework's own arithmetic gives another number.

Why it matters
    Learning rate, warm-up and the number of steps were chosen for the declared batch. With another one the published
    recipe is not reproduced, and nothing else says so: the run starts, the loss falls.

Example:
    # effbatch: target=256 world-size=8
    micro_batch_size: 4
    gradient_accumulation_steps: 4        # 4 x 4 x 8 = 128

    The finding names the factor between the two numbers (2 here) and every term of the run that equals it.

Use instead
    gradient_accumulation_steps: 8        # 4 x 8 x 8 = 256
    or, when the new batch is meant: # effbatch: target=128

See Also:
    EB102 when the factor is a product of model-parallel degrees; EB105 when only the unit differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.diagnosis import any_term, factor_between
from effbatch_lint.findings import Label
from effbatch_lint.rules.context import declared_label, equation, factors
from effbatch_lint.targets.verdict import judge, reach
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context
    from effbatch_lint.targets.target import Target
    from effbatch_lint.targets.verdict import Verdict


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that the batch misses for no more special reason."""
    for target in context.recipe.targets:
        verdict = judge(batch, target)
        if verdict.kind == "mismatch":
            yield mismatch("EB101", batch, context, target, verdict)


def mismatch(code: str, batch: Batch, context: Context, target: Target, verdict: Verdict) -> Finding:
    """The finding for a number that is not the declared one, with the diagnosis of the factor between them."""
    computed = verdict.computed.value
    assert computed is not None
    between = factor_between(target.quantity.value, computed)
    notes = [equation(batch, context.recipe.framework.name)]
    if verdict.unit == "tokens" and batch.sequence_length is not None:
        notes.append(
            f"tokens: {shown(batch.effective.value)} x {shown(batch.sequence_length.value)} = {shown(computed)} per step"
        )
    related = factors(batch)
    if between is not None:
        notes.append(_factor(target, computed, *between))
        for found in any_term(batch, context.recipe.launch, between[0]):
            notes.append(f"{shown(between[0])} is {found.words} of this run")
            related += [Label(span, found.words) for term in found.terms for span in term.spans]
    related = list({label.span: label for label in related}.values())
    return context.finding(
        code,
        f"{target.words} declared, {shown(computed)} {verdict.unit} per optimizer step computed",
        declared_label(target),
        related=related,
        notes=notes,
        help=reach(batch, target, verdict),
    )


def _factor(target: Target, computed: object, factor: int, larger: bool) -> str:  # noqa: FBT001 - a pair of diagnosis.factor_between
    declared = target.quantity.text
    value = shown(computed)  # type: ignore[arg-type] # checked by the caller: a number
    return f"{declared} is {factor:,} x {value}" if larger else f"{value} is {factor:,} x {declared}"
