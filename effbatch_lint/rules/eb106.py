"""Two declarations of the target disagree.

What it checks
    The pragma, the settings, an `effbatch:` node and --target may all state the batch. Two of them state different
    numbers in the same unit.

Why it matters
    One of them is stale, and whoever reads only that one reproduces another recipe.

Example
    # effbatch: target=2048               in the config
    target = 1024                         in pyproject.toml, for the same recipe

Use instead
    Keep one of them.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from effbatch_lint.rules.context import declared_label, equation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each pair of declarations that no number can meet both."""
    for first, second in combinations(context.recipe.targets, 2):
        if (first.quantity.unit or batch.unit) != (second.quantity.unit or batch.unit):
            continue
        if first.met_by(second.quantity.value) or second.met_by(first.quantity.value):
            continue
        other = declared_label(second, batch.unit)
        places = " and ".join(f"{target.words(batch.unit)} ({target.place})" for target in (first, second))
        yield context.finding(
            "EB106",
            f"two declarations of the target disagree: {places}",
            declared_label(first, batch.unit),
            related=[other] if other is not None else [],
            notes=equation(batch, context.recipe.reader) if batch.effective.known else [],
            help="keep the one that is meant",
        )
