"""Findings for what a framework's reader found itself: its :class:`~effbatch_lint.batch.Problem` records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.rules.context import Context, labels
from effbatch_lint.terms import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.terms import Term


def problems(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each problem of the batch, pointing at the first of its terms that stands in a file."""
    for problem in batch.all_problems:
        found = (label for term in problem.terms for label in labels(term, _words(term, batch)))
        placed = list({label.span: label for label in found}.values())
        yield context.finding(
            problem.code,
            problem.message,
            placed[0] if placed else None,
            related=placed[1:],
            notes=[f"{context.recipe.reader} stops at start"] if problem.refuses else [],
            help=problem.help,
        )


def _words(term: Term, batch: Batch) -> str:
    if term.value is None:
        return term.reason or (term.key if term.how == "read" and term.key else "not known")
    if term.key:
        return f"{term.key}: {shown(term.value)}"
    if term == batch.layout.replicas:
        return counted(term.value, "replicas")
    return f"{term.formula} = {shown(term.value)}" if term.formula else shown(term.value)
