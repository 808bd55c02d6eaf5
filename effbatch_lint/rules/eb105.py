"""Target and batch are counted in different units.

What it checks
    The declared number is not the effective batch in the unit it names, and is exactly that batch in another one:
    prompts instead of completions, tokens instead of sequences. Or the framework states its global batch in tokens
    (OLMo-core), the target counts sequences, and it would be true at another sequence length.

Why it matters
    In reinforcement learning a step of 64 prompts with 8 completions each is 512 completions; frameworks differ in
    which of the two their batch key counts, and some changed it between releases. A batch in tokens is half as many
    sequences when the sequence length doubles, and no key with "batch" in its name has moved.

Example
    # effbatch: target=64 unit=completions
    per_device_train_batch_size: 16       # 16 x 4 x 8 = 512 completions = 64 prompts
    gradient_accumulation_steps: 4
    num_generations: 8

Use instead
    # effbatch: target=64 unit=prompts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.rules.context import declared_label, equation, factors, labels
from effbatch_lint.terms import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding, Label
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that is the batch in another unit."""
    for target, verdict in context.verdicts:
        if verdict.kind == "unit":
            yield context.finding(
                "EB105",
                f"{target.words(verdict.unit)} declared, {counted(verdict.computed.value, verdict.unit)} computed: {verdict.reason}",
                declared_label(target, verdict.unit),
                related=[*factors(batch), *_lengths(batch)],
                notes=[equation(batch, context.recipe.reader)],
                help=verdict.advice or "name the unit: # effbatch: target=N unit=prompts, or tokens=N",
            )


def _lengths(batch: Batch) -> Iterator[Label]:
    """Where the tokens of a step and of a sequence stand, for a batch that is stated in tokens."""
    if batch.stated_in_tokens and batch.declared is not None and batch.sequence_length is not None:
        yield from labels(batch.declared, f"{shown(batch.declared.value)} tokens per optimizer step")
        yield from labels(batch.sequence_length, f"{shown(batch.sequence_length.value)} tokens per sequence")
