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

from effbatch_lint.rules.context import declared_label, equation, factors, given, labels
from effbatch_lint.terms import counted, exact, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding, Label
    from effbatch_lint.rules.context import Context


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that is the batch in another unit."""
    for target, verdict in context.verdicts:
        if verdict.kind != "unit":
            continue
        from effbatch_lint.rules.advice import in_unit, of_length  # noqa: PLC0415 - most targets are met

        unit = target.quantity.unit or verdict.unit
        if verdict.reason is not None:
            yield context.finding(
                "EB105",
                f"{target.words(unit)} per optimizer step declared, {counted(verdict.computed.value, verdict.unit)} "
                f"computed: {verdict.reason}",
                declared_label(target, unit),
                related=[*factors(batch), *_lengths(batch)],
                notes=[*equation(batch, context.recipe.reader), *given(batch, target)],
                help=of_length(batch, context.recipe, target),
            )
            continue
        tokens = "tokens" in (unit, verdict.mixed)
        yield context.finding(
            "EB105",
            f"{target.words(unit)} per optimizer step declared, and {target.number} is the number of {verdict.mixed}, "
            f"not of {unit}",
            declared_label(target, unit),
            related=[*factors(batch, tokens=tokens), *_group(batch)],
            notes=[*equation(batch, context.recipe.reader, tokens=tokens), *_held(batch), *given(batch, target)],
            help=in_unit(target, target.number.replace(",", ""), verdict.mixed or ""),
        )


def _lengths(batch: Batch) -> Iterator[Label]:
    """Where the length of a sequence stands, for a batch that is stated in tokens."""
    if batch.sequence_length is not None:
        yield from labels(batch.sequence_length, f"{shown(batch.sequence_length.value)} tokens per sequence")


def _group(batch: Batch) -> list[Label]:
    group = batch.items_per_prompt
    return [] if group is None else labels(group, f"{shown(group.value)} completions per prompt")


def _held(batch: Batch) -> list[str]:
    """The number of prompts, where completions are counted."""
    group = batch.items_per_prompt
    if group is not None and batch.unit == "completions":
        prompts = exact(batch.effective, group)
        return [f"prompts: {shown(batch.effective.value)} / {shown(group.value)} = {shown(prompts.value)}"]
    return []
