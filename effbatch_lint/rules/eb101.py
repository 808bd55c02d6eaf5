"""The effective batch differs from the declared target.

What it checks
    The recipe declares how many items one optimizer step should see (a pragma, the settings, an `effbatch:` node
    or --target), and the framework's own arithmetic gives another number.

Why it matters
    Learning rate, warm-up and the number of steps were chosen for the declared batch. With another one the published
    recipe is not reproduced, and nothing else says so: the run starts, the loss falls.

Example
    # effbatch: target=256 world-size=8
    micro_batch_size: 4
    gradient_accumulation_steps: 4        # 4 x 4 x 8 = 128

    The finding names the factor between the two numbers (2 here) and every term of the run that equals it.

Use instead
    gradient_accumulation_steps: 8        # 4 x 8 x 8 = 256
    or, when the new batch is meant: # effbatch: target=128

See also
    EB102 when the factor is a product of model-parallel degrees; EB105 when only the unit differs.
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
    """A finding for each target that the batch misses for no more special reason."""
    for target, verdict in context.verdicts:
        if verdict.kind == "mismatch":
            yield mismatch("EB101", batch, context, target, verdict)
