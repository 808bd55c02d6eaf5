"""The tokens per optimizer step differ from the declared tokens.

What it checks
    The recipe declares tokens per step (tokens=8M), and batch x sequence length gives another number. A rounded
    declaration is compared at its own precision: 8M is met by 8,388,608, and by nothing under 7.5M or over 8.5M.

Why it matters
    Token budgets, learning-rate schedules and scaling laws are written in tokens. A sequence length that doubled, or a
    micro batch that was halved for memory, changes them without touching any key with "batch" in its name.

Example
    # effbatch: tokens=4M world-size=64
    micro_batch_size: 8
    gradient_accumulation_steps: 4
    sequence_length: 4096                 # 8 x 4 x 64 x 4,096 = 8,388,608

Use instead
    gradient_accumulation_steps: 2        # 4,194,304
    or, when the new number is meant: # effbatch: tokens=8.4M

Note
    Where rows are padded, batch x sequence length is an upper bound: a declaration of more than half of it is what
    padding may leave, and met. A smaller one cannot be judged (EB104), unless the bound is a whole multiple of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.rules.mismatch import mismatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each declaration of tokens that the batch misses."""
    for target, verdict in context.verdicts:
        if verdict.kind == "tokens":
            yield mismatch("EB103", batch, context, target, verdict)
