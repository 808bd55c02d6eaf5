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

from effbatch_lint.rules.context import declared_label, equation, factors, given
from effbatch_lint.terms import product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that is the batch times a product of model-parallel degrees."""
    for target, verdict in context.verdicts:
        if verdict.kind != "model-parallel":
            continue
        from effbatch_lint.rules.advice import advice  # noqa: PLC0415 - most targets are met
        from effbatch_lint.rules.mismatch import multiple  # noqa: PLC0415 - as above

        computed = verdict.computed.value
        assert computed is not None
        factor = product(*verdict.factors[0].terms).value
        assert isinstance(factor, int)
        tokens = verdict.unit == "tokens"
        words = " or ".join(each.words for each in verdict.factors)
        yield context.finding(
            "EB102",
            f"model-parallel devices counted as replicas: {target.words(verdict.unit)} per optimizer step declared, "
            f"{shown(computed)} computed",
            declared_label(target, verdict.unit),
            related=factors(batch, tokens=tokens),
            notes=[
                *equation(batch, context.recipe.reader, tokens=tokens),
                f"{multiple(target, computed, factor)}, and {factor:,} is {words}",
                *given(batch, target),
            ],
            help=advice(batch, context.recipe, target, verdict),
        )
