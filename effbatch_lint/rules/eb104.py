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

from effbatch_lint.rules.context import declared_label, factors
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that cannot be compared, with what is missing."""
    for target, verdict in context.verdicts:
        if verdict.kind != "unverifiable":
            continue
        notes = []
        if batch.per_replica.known:
            notes.append(
                f"{shown(batch.per_replica.value)} {batch.unit} per replica: {shown(batch.micro.value)} x {shown(batch.accumulation.value)}"
            )
        yield context.finding(
            "EB104",
            f"{target.words(verdict.unit)} declared, and it cannot be checked: {verdict.computed.reason}",
            declared_label(target, verdict.unit),
            related=factors(batch),
            notes=notes,
            help=None if batch.layout.world.known else "give --world-size N, or write  # effbatch: world-size=N",
        )
