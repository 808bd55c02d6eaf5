"""Model-parallel devices were counted as replicas.

What it checks
    The declared target equals the effective batch times a product of model-parallel degrees (tensor, pipeline, context
    or sequence parallel). The devices of such a group hold ONE replica together and read the same data: they do not
    multiply the batch.

Why it matters
    It is the commonest way to get a batch wrong: turning tensor parallelism on divides the batch by its degree, and the
    formula "micro batch x accumulation x GPUs" of the README goes on saying the old number.

Example
    # effbatch: target=2048 world-size=64
    micro_batch_size: 4
    gradient_accumulation_steps: 8
    tensor_parallel_size: 4               # 64 devices are 16 replicas: 4 x 8 x 16 = 512

Use instead
    gradient_accumulation_steps: 32       # 4 x 32 x 16 = 2,048
    or, when the smaller batch is meant: # effbatch: target=512

Note
    Expert parallelism borrows data-parallel ranks, and does not divide the replicas in any framework read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.rules.context import declared_label, equation, factors
from effbatch_lint.targets.verdict import reach
from effbatch_lint.terms import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that is the batch times a product of model-parallel degrees."""
    for target, verdict in context.verdicts:
        if verdict.kind != "model-parallel" or verdict.factor is None:
            continue
        computed = verdict.computed.value
        assert computed is not None
        factor = target.quantity.value // computed
        yield context.finding(
            "EB102",
            f"model-parallel devices counted as replicas: {target.words(verdict.unit)} declared, "
            f"{counted(computed, verdict.unit)} per optimizer step computed",
            declared_label(target, verdict.unit),
            related=factors(batch),
            notes=[
                equation(batch, context.recipe.reader),
                f"{target.number} is {shown(factor)} x {shown(computed)}, and {shown(factor)} is {verdict.factor.words}",
            ],
            help=reach(batch, target, verdict),
        )
