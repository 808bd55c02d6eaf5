"""A value that decides the batch cannot be resolved statically.

What it checks
    A number of the batch is in the config and cannot be known from it: an interpolation of the environment, a
    resolver of user code, a mandatory value (`???`), a file that is named and is not in the project. It is information,
    not a fault: shown with -v, and with --fail-on info.

Why it matters
    The tool does not guess. What it does not know it says, with the reason.

Example
    micro_batch_size: ${oc.env:MICRO}

Use instead
    Give the value: --override micro_batch_size=4, or --set MICRO=4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.findings import Label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each of the batch's own numbers that stands in a file and has no value."""
    layout = batch.layout
    for term in (
        batch.micro,
        batch.accumulation,
        layout.tensor,
        layout.pipeline,
        layout.context,
        batch.sequence_length,
    ):
        if term is None or term.known or not term.spans or term.how != "unknown":
            continue
        if batch.refused or term.reason == layout.world.reason:
            continue  # it follows from what is refused, or from the world size, which the launcher decides
        yield context.finding("EB903", f"{term.reason}", Label(term.spans[0], "not known"))
    for key, name in context.recipe.missing:
        origin = context.recipe.config.origin(key)
        at = origin.span if origin is not None else None
        yield context.finding(
            "EB903",
            f"{key} names {name}, which is not in the project: what it says of the batch is not known",
            Label(at, "not found") if at else None,
            help="hand the file over too",
        )
    for span, message in context.recipe.notes if batch is context.recipe.batches[0] else ():
        yield context.finding("EB903", message, Label(span, "") if span is not None else None)
