"""No global batch is pinned: the batch follows the number of devices.

What it checks
    Nothing in the recipe fixes the effective batch: no global batch key, no declared target. On twice the devices
    it trains with twice the batch. Off by default: most configs are written so. Enable it with
    extend-select = ["EB308"] where recipes must be reproducible on any machine.

Why it matters
    The batch of the run is decided by whoever starts it.

Example
    micro_batch_size: 4
    gradient_accumulation_steps: 8

Use instead
    # effbatch: target=2048 world-size=64
    or the framework's own global batch key, where it has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.rules.context import labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for a batch that neither its framework nor a target fixes."""
    if batch.global_batch is not None or batch.declared is not None or context.recipe.targets or not batch.micro.known:
        return
    if batch.layout.replicas.how == "read":
        return
    yield context.finding(
        "EB308",
        "nothing pins the global batch: it changes with the number of devices",
        next(iter(labels(batch.micro, "per replica")), None),
        help="declare it: # effbatch: target=N world-size=N",
    )
