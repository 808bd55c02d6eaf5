"""What ms-swift refuses about a rollout: the completions that are generated at once, for GRPO and GKD.

    Trainer     rollout = per_device_train_batch_size x processes x steps_per_generation     (steps count micro batches)
    Megatron    rollout = global_batch_size x steps_per_generation                           (steps count updates)

Upstream: modelscope/ms-swift, swift/rlhf_trainers/args_mixin.py (_init_generation_batch_params),
swift/megatron/arguments/megatron_args.py (resolve_generation_batch_size, validate_batch_dp_alignment).

``generation_batch_size`` and ``steps_per_generation`` may both be given when they agree. All processes count,
sequence-parallel ones included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import ONE, Term, exact, floor, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config

GROUP, ROLLOUT, STEPS = "num_generations", "generation_batch_size", "steps_per_generation"


def of_trainer(config: Config, kind: str, micro: Term, accumulation: Term, world: Term) -> Iterator[Problem]:
    """The checks of the Trainer side; without a key the rollout is one optimizer step's."""
    group = _group(config, kind)
    each = product(micro, world).named(f"{micro.key} x processes")
    steps = config.integer(STEPS) if config.has(STEPS) else accumulation
    yield from _resolved(config, each, (micro, world), steps, group)
    if kind != "grpo":
        return
    if group.value == 1 and not config.has("teacher_model", "teacher_model_server"):
        yield _refused("EB304", f"{GROUP} is 1: GRPO compares the completions of a prompt", group, help="set 2 or more")
    yield from _evaluation(config, group, world)


def of_megatron(config: Config, kind: str, total: Term, micro: Term, layout: Layout) -> Iterator[Problem]:
    """The checks of the Megatron side; without a key the rollout is one optimizer step's."""
    group = _group(config, kind)
    steps = config.integer(STEPS, default=1)
    found = tuple(_resolved(config, total, (total,), steps, group))
    yield from found
    if found:
        return
    whole = config.integer(ROLLOUT) if config.has(ROLLOUT) else product(total, steps)
    prompts = floor(whole, group)
    each = exact(prompts, layout.replicas)
    if not (prompts.known and layout.replicas.value):
        return
    rollout = f"a rollout of {shown(whole.value)} completions is {shown(prompts.value)} prompts of {shown(group.value)}"
    if not each.value:
        yield _refused(
            "EB302",
            f"{rollout}, which {shown(layout.replicas.value)} replicas cannot share",
            group, total, steps, layout.replicas,
            help=f"let {total.key} x {STEPS} be a multiple of {GROUP} x replicas, "
            f"{shown(product(group, layout.replicas).value)}",
        )  # fmt: skip
    elif _remains(each, micro):
        yield _refused(
            "EB302",
            f"{rollout}, {shown(each.value)} for each replica, which is no multiple of {micro.key} {shown(micro.value)}",
            micro, group, total, steps, layout.replicas,
            help=f"let {total.key} x {STEPS} be a multiple of {GROUP} x replicas x {micro.key}, "
            f"{shown(product(group, layout.replicas, micro).value)}",
        )  # fmt: skip


def _group(config: Config, kind: str) -> Term:
    return config.integer(GROUP, default=8) if kind == "grpo" else ONE.named(GROUP)


def _resolved(config: Config, each: Term, parts: tuple[Term, ...], steps: Term, group: Term) -> Iterator[Problem]:
    """The rollout is a whole number of ``each``, which ``parts`` make, and of groups."""
    stated = config.integer(ROLLOUT)
    if config.has(ROLLOUT) and config.has(STEPS):
        expected = product(each, steps)
        if stated.known and expected.known and stated.value != expected.value:
            yield _refused(
                "EB301",
                f"{ROLLOUT} is {shown(stated.value)}, and {each.key} x {STEPS} is {shown(each.value)} x "
                f"{shown(steps.value)} = {shown(expected.value)}",
                stated, steps, *parts,
                help=f"remove one of them, or set {ROLLOUT} to {shown(expected.value)}",
            )  # fmt: skip
            return
    elif config.has(ROLLOUT) and _remains(stated, each):
        yield _refused(
            "EB302",
            f"{ROLLOUT} {shown(stated.value)} is not divisible by {shown(each.value)} ({each.key})",
            stated, *parts,
            help=f"use a multiple of {shown(each.value)}",
        )  # fmt: skip
        return
    if config.has(STEPS) and steps.value is not None and steps.value < 1:
        yield _refused("EB304", f"{STEPS} is {shown(steps.value)}", steps, help="set 1 or more")
        return
    whole = stated if config.has(ROLLOUT) else product(each, steps)
    if (group.value or 1) > 1 and _remains(whole, group):
        made = ROLLOUT if config.has(ROLLOUT) else f"{each.key} x {steps.key}"
        terms = (stated,) if config.has(ROLLOUT) else (*parts, steps)
        yield _refused(
            "EB302",
            f"a rollout of {shown(whole.value)} completions ({made}) is not divisible by {GROUP} {shown(group.value)}",
            group, *terms,
            help=f"let it be a multiple of {shown(group.value)}",
        )  # fmt: skip


def _evaluation(config: Config, group: Term, world: Term) -> Iterator[Problem]:
    """The completions of an evaluation pass fill the groups too, where there is something to evaluate on."""
    strategy = config.text("eval_strategy", "evaluation_strategy", "save_strategy")
    ratio = config.text("split_dataset_ratio")
    evaluated = config.has("val_dataset", "cached_val_dataset") or ratio not in (None, "0", "0.0", "0.")
    if strategy in ("no", "False") or not evaluated or (group.value or 1) < 2:  # noqa: PLR2004 - one is no group
        return
    own = config.integer("per_device_eval_batch_size", default=1)
    group = config.integer("num_generations_eval") if config.has("num_generations_eval") else group
    whole = product(own, world)
    if _remains(whole, group):
        yield _refused(
            "EB304",
            f"an evaluation pass of {shown(whole.value)} completions ({own.key} x processes) is not divisible by "
            f"{group.key} {shown(group.value)}",
            own, group, world,
            help=f"let {own.key} x processes be a multiple of {shown(group.value)}",
        )  # fmt: skip


def _remains(dividend: Term, divisor: Term) -> bool:
    return dividend.value is not None and bool(divisor.value) and not exact(dividend, divisor).known


def _refused(code: str, message: str, *terms: Term, help: str) -> Problem:
    return Problem(code, message, terms, refuses=True, help=help)
