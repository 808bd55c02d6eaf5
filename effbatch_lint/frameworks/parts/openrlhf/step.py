"""One optimizer step of OpenRLHF: the declared batch over replicas and micro batches, and what a PPO rollout makes of it.

Upstream: OpenRLHF/OpenRLHF, openrlhf/utils/deepspeed/deepspeed.py (accumulated_gradient; DeepSpeed asserts the product),
openrlhf/trainer/ppo_utils/replay_buffer.py (setup_dynamic_batch), openrlhf/trainer/ray/ppo_actor.py (ppo_train).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, floor, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.frameworks.parts.openrlhf.flags import Flags


class Step(NamedTuple):
    """B as it is trained, its factors, B as it is declared (None: by default), and what is refused or rounded."""

    batch: Term
    micro: Term
    accumulation: Term
    declared: Term | None
    problems: tuple[Problem, ...] = ()


def step(found: Flags, layout: Layout, micro: Term) -> Step:
    """The step of ``train.batch_size`` items; accumulation has no flag, and follows from the devices."""
    batch = found.integer("train.batch_size", default=128)
    declared = batch if found.given("train.batch_size") else None
    if found.on("train.dynamic_batch_enable"):
        return _dynamic(found, layout.replicas, batch, declared)
    accumulation = floor(floor(batch, micro), layout.replicas)
    problems = tuple(_remainder(batch, micro, accumulation, layout))
    return Step(batch, micro, accumulation, declared, problems)


def _remainder(batch: Term, micro: Term, accumulation: Term, layout: Layout) -> Iterator[Problem]:
    replicas = layout.replicas
    made = product(micro, accumulation, replicas)
    if made.value is None or batch.value is None or made.value == batch.value:
        return
    least = product(micro, replicas)
    below = shown(made.value) if made.value else None
    above = shown(made.value + (least.value or 0))
    text = f"{micro.key} {shown(micro.value)} x {shown(replicas.value)} replicas = {shown(least.value)}"
    if accumulation.value == 0:
        what = f"is less than {text}: gradient accumulation would be 0, and DeepSpeed stops"
    else:
        what = f"is no multiple of {text}, and DeepSpeed stops: {shown(accumulation.value)} micro batches make {below}"
    yield Problem(
        "EB302",
        f"{batch.key} {shown(batch.value)} {what}",
        (batch, micro, layout.world, *(term for term in (layout.tensor, layout.context) if term.value != 1)),
        refuses=True,
        help=f"set {batch.key} to {f'{below} or ' if below else ''}{above}, or change the micro batch or the devices",
    )


def _dynamic(found: Flags, replicas: Term, batch: Term, declared: Term | None) -> Step:
    """Token budgets make the micro batches, and every replica takes ``B // replicas`` of a step's samples."""
    switch = found.place("train.dynamic_batch_enable")
    budget = found.integer("train.max_tokens_per_gpu", default=16192)
    filled = unknown(
        f"{switch.key} fills a micro batch with up to {shown(budget.value)} tokens of a device: how many completions fit "
        "depends on their lengths",
        *switch.origins,
        key=switch.key,
    )
    whole = product(floor(batch, replicas), replicas)
    if whole.value is None or whole.value == batch.value:
        return Step(batch if whole.known else whole, filled, filled, declared)
    none = whole.value == 0
    rounded = Problem(
        "EB302" if none else "EB303",
        f"{batch.key} {shown(batch.value)} over {shown(replicas.value)} replicas is rounded down: with {switch.key} a step "
        f"trains on {shown(whole.value)}",
        (batch, replicas, switch),
        refuses=none,
        help=f"set {batch.key} to a multiple of {shown(replicas.value)}",
    )
    return Step(whole, filled, filled, declared, (rounded,))


def rollout(found: Flags, layout: Layout) -> Iterator[Problem]:
    """What a rollout leaves over. It counts prompts, where an optimizer step counts completions."""
    prompts = found.integer("rollout.batch_size", default=1024)
    samples = found.integer("rollout.n_samples_per_prompt", default=1)
    batch = found.integer("train.batch_size", default=128)
    collected = product(prompts, samples)
    if collected.value is None or not batch.value or not layout.replicas.value or collected.value % batch.value == 0:
        return
    dynamic = found.on("train.dynamic_batch_enable")
    made = (
        f"a rollout of {shown(prompts.value)} prompts x {shown(samples.value)} = {shown(collected.value)} completions"
    )
    if collected.value > batch.value:
        over = shown(collected.value % batch.value)
        fate = (
            "they are dropped" if dynamic else "they wait for a step of the next rollout, when the weights are others"
        )
        message = f"{made} is no multiple of {batch.key} {shown(batch.value)}: {over} are left over, and {fate}"
    elif dynamic:
        message = f"{made} is less than {batch.key} {shown(batch.value)}: no optimizer step is ever made"
    else:
        message = f"{made} is less than {batch.key} {shown(batch.value)}: a step needs several rollouts"
    refuses = dynamic and collected.value < batch.value
    yield Problem(
        "EB301" if refuses else "EB303",
        message,
        (batch, prompts, samples),
        refuses=refuses,
        help=f"let {prompts.key} x {samples.key} be a multiple of {batch.key}",
    )
