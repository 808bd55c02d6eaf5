"""What prime-rl's configuration classes and its SFT trainer refuse.

Upstream: PrimeIntellect-ai/prime-rl, packages/prime-rl-configs (sft.py, orchestrator.py, rl.py), src/prime_rl/trainer/sft/
train.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.prime_rl.sections import GROUP
from effbatch_lint.terms import Term, exact, product, shown, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config


def supervised(declared: Term, micro: Term, length: Term, layout: Layout) -> Iterator[Problem]:
    """The checks of SFT, up to the first division that fails."""
    context = layout.context
    if (context.value or 1) > 1:
        if micro.value not in (None, 1):
            yield _refused(
                "EB304", f"cp {shown(context.value)} needs micro_batch_size 1, and it is {shown(micro.value)}", micro, context,
                help="set data.micro_batch_size to 1",
            )  # fmt: skip
        if _remains(length, context):
            yield _refused(
                "EB304", f"seq_len {shown(length.value)} is not divisible by cp {shown(context.value)}", length, context,
                help=f"use a multiple of {shown(context.value)}",
            )  # fmt: skip
    if _remains(declared, micro):
        yield _refused(
            "EB302",
            f"data.batch_size {shown(declared.value)} is not divisible by micro_batch_size {shown(micro.value)}",
            declared,
            micro,
            help=f"use a multiple of {shown(micro.value)}",
        )
        return
    whole, step = product(declared, context), product(layout.world, micro)
    if _remains(whole, step):
        times = f" x cp {shown(context.value)}" if (context.value or 1) > 1 else ""
        yield _refused(
            "EB302",
            f"data.batch_size {shown(declared.value)}{times} is not divisible by {shown(layout.world.value)} devices x "
            f"micro_batch_size {shown(micro.value)} = {shown(step.value)}",
            declared,
            micro,
            layout.world,
            help=f"use a multiple of {shown(step.value)}, or another number of devices",
        )


def reinforced(config: Config, own: str, rollout: Term, row: Term) -> Iterator[Problem]:
    """The checks of RL: one size of a step, whole groups, rows that hold a rollout, devices of one node."""
    rollouts, group = config.integer(f"{own}batch_size"), config.integer(*(f"{own}{key}" for key in GROUP))
    if rollouts.known and config.has(f"{own}token_batch_size"):
        yield _refused(
            "EB304",
            f"{own}batch_size and token_batch_size are both set: a step has one size",
            config.integer(f"{own}token_batch_size"),
            rollouts,
            help="remove one of them",
        )
    elif rollouts.known and _remains(rollouts, group):
        yield _refused(
            "EB304",
            f"{rollouts.key} {shown(rollouts.value)} is not divisible by {group.key} {shown(group.value)}",
            rollouts,
            group,
            help=f"use a multiple of {shown(group.value)}",
        )
    if rollout.value is not None and row.value is not None and rollout.value > row.value:
        yield _refused(
            "EB304",
            f"a rollout of {shown(rollout.value)} tokens (orchestrator.seq_len) does not fit a row of {shown(row.value)} "
            "(trainer.model.seq_len)",
            rollout,
            row,
            help=f"raise trainer.model.seq_len to {shown(rollout.value)}",
        )
    train, infer = (config.integer(f"deployment.num_{side}_gpus") for side in ("train", "infer"))
    node, used = config.integer("deployment.gpus_per_node", default=8), total(train, infer)
    if used.value is not None and node.value is not None and used.value > node.value:
        yield _refused(
            "EB304",
            f"num_train_gpus {shown(train.value)} and num_infer_gpus {shown(infer.value)} are more than the "
            f"{shown(node.value)} devices of the node",
            train,
            infer,
            help="use deployment.type multi_node, or fewer devices",
        )


def _remains(dividend: Term, divisor: Term) -> bool:
    return dividend.value is not None and bool(divisor.value) and not exact(dividend, divisor).known


def _refused(code: str, message: str, *terms: Term, help: str) -> Problem:
    return Problem(code, message, terms, refuses=True, help=help)
