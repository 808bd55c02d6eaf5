"""One optimizer step of SkyRL: the mini batch over the replicas, in micro batches, and what is refused of it.

Upstream: NovaSky-AI/SkyRL, skyrl/train/utils/utils.py (validate_batch_sizes),
skyrl/backends/skyrl_train/distributed/dispatch.py (stage_chunks).

The checks divide with ``//``: a share that is not whole passes, and is padded with rows that count nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, exact, floor, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.skyrl.layout import Role

MICRO, BUDGET = "trainer.micro_train_batch_size_per_gpu", "trainer.max_tokens_per_microbatch"


class Divided(NamedTuple):
    """The micro batch of a replica, the number of micro batches, and what is padded or ignored."""

    micro: Term
    accumulation: Term
    problems: tuple[Problem, ...] = ()


def divided(config: Config, whole: Term, layout: Layout) -> Divided:
    """A replica's share of a step in micro batches: of a number of completions, or of a number of tokens."""
    micro = config.integer(MICRO, default=1)
    budget = config.integer(BUDGET, default=-1)
    if budget.value is None or budget.value > 0:
        filled = unknown(
            budget.reason
            or f"{BUDGET} fills a micro batch with up to {shown(budget.value)} tokens: how many completions fit depends on "
            "their lengths",
            *budget.origins,
            key=BUDGET,
        )
        return Divided(filled, filled, tuple(_ignored(config, micro, budget)))
    replicas = layout.replicas
    if whole.value is None or not replicas.value or exact(whole, replicas).known:
        return Divided(micro, exact(exact(whole, replicas), micro))
    padding = -whole.value % replicas.value
    padded = Problem(
        "EB303",
        f"a step of {shown(whole.value)} completions ({whole.key}) is not divisible by {shown(replicas.value)} replicas: "
        f"{shown(padding)} masked rows are added, and {shown(whole.value + padding)} are computed",
        (whole, layout.world),
        help=f"let {whole.key} be a multiple of {shown(replicas.value)}",
    )
    uneven = unknown(
        f"a replica's {shown((whole.value + padding) // replicas.value)} rows are partly padding", *whole.origins
    )
    share = floor(whole, replicas)
    return Divided(micro, uneven, (padded,) if share.value else ())


def _ignored(config: Config, micro: Term, budget: Term) -> Iterator[Problem]:
    if config.has(MICRO) and budget.value:
        yield Problem(
            "EB305",
            f"{MICRO} {shown(micro.value)} has no effect: {BUDGET} {shown(budget.value)} makes the micro batches",
            (micro, budget),
            help=f"remove {MICRO}, or set {BUDGET} to -1",
        )


def refused(code: str, message: str, *terms: Term, help: str) -> Problem:
    """A check that stops the run."""
    return Problem(code, message, terms, refuses=True, help=help)


def step_checks(config: Config, role: Role, whole: Term, layout: Layout) -> Iterator[Problem]:
    """``validate_batch_sizes`` for one model: rollout, step and micro batch, over the replicas."""
    rollout = config.integer("trainer.train_batch_size", default=1024)
    prompts = config.integer(f"trainer.{role}_mini_batch_size", default=256)
    yield from _rollout(rollout, prompts)
    micro = config.integer(MICRO, default=1)
    replicas = layout.replicas
    share = floor(whole, replicas)
    if share.value is None or not replicas.value:
        return
    if share.value == 0:
        yield refused(
            "EB302",
            f"a step of {shown(whole.value)} completions ({whole.key}) leaves nothing for some of "
            f"{shown(replicas.value)} replicas",
            whole,
            layout.world,
            help=f"let {whole.key} be {shown(replicas.value)} or more",
        )
        return
    if micro.value and share.value % micro.value:
        yield refused(
            "EB302",
            f"a replica's share of a step, {shown(whole.value)} / {shown(replicas.value)} replicas = {shown(share.value)} "
            f"completions, is not divisible by {micro.key} {shown(micro.value)}",
            micro,
            whole,
            layout.world,
            help=f"set {micro.key} to a divisor of {shown(share.value)}: it counts completions",
        )
    if not rollout.value or not prompts.value or rollout.value % prompts.value:
        return
    collected = floor(product(rollout, config.integer("generator.n_samples_per_prompt", default=5)), replicas)
    if collected.value is not None and collected.value % share.value:
        yield refused(
            "EB302",
            f"a replica's share of a rollout, {shown(collected.value)} completions, is not divisible by its share of a step, "
            f"{shown(share.value)}: both are rounded down over {shown(replicas.value)} replicas",
            rollout,
            whole,
            layout.world,
            help=f"let {whole.key} be a multiple of {shown(replicas.value)}",
        )


def _rollout(rollout: Term, prompts: Term) -> Iterator[Problem]:
    if rollout.value is None or not prompts.value or rollout.value % prompts.value == 0:
        return
    less = rollout.value < prompts.value
    yield refused(
        "EB301" if less else "EB302",
        f"{rollout.key} {shown(rollout.value)} is {'less than' if less else 'no multiple of'} {prompts.key} "
        f"{shown(prompts.value)}: a rollout holds no whole number of optimizer steps",
        rollout,
        prompts,
        help=f"set {rollout.key} to a multiple of {shown(prompts.value)}",
    )
