"""A batch key stands twice in one mapping.

What it checks
    A key that decides the batch (micro batch, accumulation, a parallel degree, ...) is written twice in the same
    mapping of a YAML or JSON file, or in one list of flags of a script. Most loaders silently keep the last one;
    OmegaConf and DeepSpeed refuse, which is an error of its own.

Why it matters
    The reader sees the first one.

Example
    gradient_accumulation_steps: 4
    learning_rate: 1e-5
    gradient_accumulation_steps: 8        # this one counts

Use instead
    Keep one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import path_of
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.findings import Label
from effbatch_lint.terms import origins_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.documents.nodes import Entry
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each key of the batch's own terms that an earlier entry of its mapping also sets."""
    terms = batch.terms().values()
    keys = dict.fromkeys(origin.key for term in terms for origin in term.origins if origin.key)
    config = context.recipe.config
    refused = {origin.span for problem in batch.all_problems if problem.refuses for origin in origins_of(problem.terms)}
    for key in keys:
        section, _, name = key.rpartition(".")
        holder = config.node(section) if section else config.root
        if not isinstance(holder, Mapping):
            continue
        counting = holder.entries.get(name)
        # A key in two files of one run is for its framework to judge: gpt-neox refuses it.
        earlier = [
            entry
            for entry in holder.duplicates
            if entry.key == name and counting is not None and path_of(entry.span) == path_of(counting.span)
        ]
        if earlier and counting is not None and not refused.intersection(entry.span for entry in earlier):
            yield _finding(context, earlier, counting)


_SHOWN = 4  # of the entries without effect
_LONGEST = 40


def _finding(context: Context, earlier: list[Entry], counting: Entry) -> Finding:
    def value(entry: Entry) -> str:
        text = entry.value.text if isinstance(entry.value, Scalar) else "a mapping or list"
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

    often = "twice" if len(earlier) == 1 else f"{len(earlier) + 1:,} times"
    at = f"line {counting.span.line}" if counting.span else "the last one"
    labels = [Label(entry.span, f"{value(entry)}: has no effect") for entry in earlier[:_SHOWN] if entry.span]
    if counting.span:
        labels.append(Label(counting.span, f"{value(counting)}: this one counts"))
    return context.finding(
        "EB307",
        f"{counting.key} stands {often}: {at} counts, which says {value(counting)}",
        None,
        related=labels,
        help="remove one of them" if len(earlier) == 1 else "remove all but one of them",
    )
