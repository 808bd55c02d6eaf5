"""NaFlex: images as rows of patches, as many of them in a batch as a token budget holds.

    rows = max(1, budget // length // divisor x divisor)

Upstream: huggingface/pytorch-image-models, timm/data/naflex_dataset.py (calculate_naflex_batch_size). The length is drawn
for every batch from a list, in one schedule for all ranks; open_clip has the same loader.
"""

from __future__ import annotations

from effbatch_lint.terms import Term, computed, shown

DIVISOR = 8  # unless a flag sets another


def naflex_rows(budget: Term, length: Term, divisor: Term) -> Term:
    """The rows of a batch of one length, from the budget in tokens."""
    formula = f"{shown(budget.value)} tokens / {shown(length.value)}, a multiple of {shown(divisor.value)}"
    return computed(_fitting, formula, budget, length, divisor)


def lengths_of(lengths: tuple[Term, ...]) -> tuple[Term, ...]:
    """The different lengths among those that are given."""
    return tuple({length.value: length for length in lengths}.values())


def _fitting(budget: int, length: int, divisor: int) -> int:
    if length < 1 or divisor < 1:
        return 1
    return max(1, budget // length // divisor * divisor)
