"""Megatron's division of a global batch into micro batches, shared by the frameworks that train with Megatron-Core.

    accumulation = global batch / (micro batch x replicas)

Upstream: NVIDIA/Megatron-LM, megatron/core/num_microbatches_calculator.py (ConstantNumMicroBatchesCalculator,
StepBatchsizeNumMicroBatchesCalculator), megatron/core/pipeline_parallel/schedules.py
(forward_backward_pipelining_with_interleaving).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.terms import ONE, exact, floor, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.batch import Stage
    from effbatch_lint.terms import Term

# Stages that a message names one by one.
_NAMED = 4


class Division(NamedTuple):
    """A global batch (sequences per optimizer step) and the number of micro batches of each replica that it takes.

    ``pinned``: the batch is declared; otherwise it follows the number of replicas.
    """

    global_batch: Term
    accumulation: Term
    schedule: tuple[Stage, ...] = ()
    problems: tuple[Problem, ...] = ()
    pinned: bool = True


def undeclared(micro: Term, replicas: Term, key: str) -> Division:
    """No global batch is set: one micro batch of each replica, whatever their number."""
    total = product(micro, replicas)
    one = ONE.because(f"{key} is not set: one micro batch of each replica")
    return Division(total.named(key), one, pinned=False)


def constant(total: Term, micro: Term, replicas: Term, *, decrease: bool = False) -> Division:
    """One global batch for the whole run; ``decrease`` rounds it down to a multiple of micro batch x replicas."""
    step = product(micro, replicas)
    if not decrease:
        return Division(total, exact(total, step), problems=_indivisible(total, step, micro, replicas))
    accumulation = floor(total, step)
    running = product(accumulation, step)
    return Division(running, accumulation, problems=_decreased(total, running, step, micro, replicas))


def staged(stages: Sequence[Stage], micro: Term, replicas: Term) -> Division:
    """A global batch that changes with the samples or tokens consumed; the division is that of the last stage.

    Whether a stage can be divided is only asserted when the training loop reaches it: a run whose first stage can be
    starts, and one whose last stage cannot be never does a step of that size.
    """
    step = product(micro, replicas)
    last = stages[-1].effective_batch
    problems: tuple[Problem, ...] = ()
    wrong = [stage for stage in stages if step.value and (stage.effective_batch.value or 0) % step.value]
    if wrong:
        first = wrong[0]
        split = _split(micro, replicas)
        named = wrong if len(wrong) <= _NAMED else wrong[: _NAMED - 1]
        batches = ", ".join(shown(stage.effective_batch.value) for stage in named)
        if named is not wrong:
            batches += f" (and of {shown(len(wrong) - len(named))} further stages)"
        when = f"when it comes to it, from {shown(first.start)} {first.unit} on"
        if first is stages[0]:
            when = "before its first step"
        problems = (
            Problem(
                "EB302",
                f"{first.effective_batch.key}: a batch of {batches} sequences is not divisible by {split}, and the "
                f"training loop stops {when}",
                (first.effective_batch, micro, replicas),
                refuses=first is stages[0],
                help=f"let every stage be a multiple of {shown(step.value)}, or use another number of devices",
            ),
        )
    if stages[-1] in wrong:
        last = unknown(problems[0].message, *last.origins, key=last.key)
    return Division(last, exact(last, step), tuple(stages), problems)


def interleaved(accumulation: Term, pipeline: Term, virtual: Term, group: Term | None = None) -> Problem | None:
    """What the interleaved pipeline schedule refuses: micro batches that do not fill its groups.

    ``virtual`` are the stages on each device (no interleaving below 2); a ``group`` is as long as the pipeline unless set.
    """
    group = pipeline if group is None or not group.known else group
    micro_batches, ranks, size, stages = accumulation.value, pipeline.value, group.value, virtual.value
    if not (micro_batches and ranks and size and stages) or stages < 2 or ranks < 2:  # noqa: PLR2004 - a pipeline has two
        return None
    rest = micro_batches % size
    if ranks <= size <= micro_batches and not 0 < rest < ranks:
        return None
    return Problem(
        "EB304",
        f"{shown(micro_batches)} micro batches per step do not fill the interleaved schedule of {shown(ranks)} pipeline "
        f"stages: they are taken {shown(size)} at a time, and {shown(rest)} are left over"
        if micro_batches >= size >= ranks
        else f"the interleaved schedule takes {shown(size)} micro batches at a time, which must be from {shown(ranks)} "
        f"(pipeline stages) to {shown(micro_batches)} (micro batches per step)",
        (virtual, pipeline, group, accumulation),
        refuses=True,
        help=f"let the global batch be micro batch x replicas x a multiple of {shown(ranks)}",
    )


def _indivisible(total: Term, step: Term, micro: Term, replicas: Term) -> tuple[Problem, ...]:
    if total.value is None or not step.value or (total.value >= step.value and total.value % step.value == 0):
        return ()
    below = total.value // step.value * step.value
    fitting = " or ".join(shown(size) for size in (below, below + step.value) if size > 0)
    return (
        Problem(
            "EB302",
            f"{_named(total)} {shown(total.value)} is not divisible by {_split(micro, replicas)}",
            (total, micro, replicas),
            refuses=True,
            help=f"{total.key} {fitting}, or another number of devices",
        ),
    )


def _decreased(total: Term, running: Term, step: Term, micro: Term, replicas: Term) -> tuple[Problem, ...]:
    if running.value is None or running.value == total.value:
        return ()
    refuses = running.value < 1
    return (
        Problem(
            "EB302" if refuses else "EB303",
            f"{total.key} {shown(total.value)} is rounded down to {shown(running.value)}, a multiple of "
            f"{_split(micro, replicas)}",
            (total, micro, replicas),
            refuses=refuses,
            help=f"declare a multiple of {shown(step.value)}",
        ),
    )


def _named(total: Term) -> str:
    return f"{total.key} (not set: its default)" if total.how == "default" else f"{total.key}"


def _split(micro: Term, replicas: Term) -> str:
    step = product(micro, replicas)
    return f"{shown(micro.value)} ({micro.key}) x {shown(replicas.value)} replicas = {shown(step.value)}"
