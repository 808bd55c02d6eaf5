"""A target is declared and the batch cannot be known.

What it checks
    There is something to compare with, and a number is missing: mostly the world size, which the launcher decides.

Why it matters
    A declaration that nothing checks is a comment. The finding says which number is missing and how to give it.

Example
    # effbatch: target=2048
    micro_batch_size: 4
    gradient_accumulation_steps: 8        # 32 per replica; how many replicas?

Use instead
    # effbatch: target=2048 world-size=64
    or --world-size 64, or world-size = 64 in the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.rules.context import declared_label, factors
from effbatch_lint.terms import Term, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding
    from effbatch_lint.rules.context import Context
    from effbatch_lint.targets.target import Target
    from effbatch_lint.terms import Number


def check(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for each target that cannot be compared, with what is missing."""
    for target, verdict in context.verdicts:
        if verdict.kind != "unverifiable":
            continue
        notes = []
        if batch.per_replica.known:
            notes.append(
                f"{shown(batch.per_replica.value)} {batch.unit} per replica: {shown(batch.micro.value)} x {shown(batch.accumulation.value)}"
            )
        yield context.finding(
            "EB104",
            f"{target.words(verdict.unit)} declared, and it cannot be checked: {verdict.computed.reason}",
            declared_label(target, verdict.unit),
            related=factors(batch),
            notes=notes,
            help=_countable(batch, verdict.unit) if batch.layout.world.known else _help(batch, target, verdict.unit),
        )


def _countable(batch: Batch, unit: str) -> str | None:
    """What can be declared of a batch whose items have no tokens."""
    effective = batch.effective
    if unit != "tokens" or batch.sequence_length is not None or effective.value is None:
        return None
    return f"declare the {batch.unit} instead: target={effective.value} is what is computed"


def _help(batch: Batch, target: Target, unit: str) -> str:
    """How to state the devices, and how many of them would meet the target."""
    advice = "give --world-size N, or write  # effbatch: world-size=N"
    devices = _devices(batch, target, unit)
    return advice if devices is None else f"{advice}; {shown(devices)} devices would see {target.words(unit)}"


def _devices(batch: Batch, target: Target, unit: str) -> Number | None:
    """The devices whose replicas together meet the target; None where no whole number of replicas does."""
    each, model = batch.per_replica, batch.layout.model_parallel
    if unit == "tokens" and batch.unit != "tokens":
        if batch.sequence_length is None or batch.tokens is not None:
            return None
        each = product(each, batch.sequence_length, Term(batch.sequences_per_item, "derived"))
    elif unit != batch.unit:
        return None
    if not each.value or model.value is None or batch.global_batch is not None:
        return None
    declared = target.quantity
    exactly = [declared.value] if declared.binary is None else [declared.binary // declared.scale, declared.value]
    whole = next((number for number in exactly if number % each.value == 0), None)
    return None if whole is None else whole // each.value * model.value
