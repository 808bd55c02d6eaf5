"""One optimizer step of a verl worker: the mini batch, divided among the replicas and into micro batches.

Upstream: verl-project/verl, verl/workers/engine_workers.py (train_mini_batch: an assertion that it divides), verl/
workers/engine/utils.py (prepare_micro_batches); up to release 0.7 verl/workers/fsdp_workers.py and megatron_workers.py
(ppo_mini_batch_size is multiplied and divided with ``//`` in place).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, exact, floor, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config


class Step(NamedTuple):
    """B, the micro batch of a replica (rows), the number of micro batches, and what is refused or rounded."""

    batch: Term
    micro: Term
    accumulation: Term
    problems: tuple[Problem, ...] = ()


def old_workers(config: Config) -> bool:
    """Whether the tree is of a release before the engine workers (0.8), which chooses no ``model_engine``."""
    return (
        config.has("actor_rollout_ref.actor.strategy")
        and config.has("actor_rollout_ref.hybrid_engine")
        and not config.has("model_engine")
    )


def dynamic(config: Config, worker: str) -> bool:
    """Whether the worker's micro batches are packed by tokens. The critic follows the actor where nothing says otherwise
    (verl/trainer/config/critic/critic.yaml)."""
    actor = config.flag("actor_rollout_ref.actor.use_dynamic_bsz")
    return config.flag(f"{worker}.use_dynamic_bsz", default=actor)


def splits_whole_micro(config: Config) -> bool:
    """Whether ``ppo_micro_batch_size`` is split over the replicas: up to release 0.8 it is, and nothing reads it now
    (verl/workers/engine_workers.py). A line over a tree that is not among the files may be of any release."""
    return old_workers(config) or not config.has("model_engine")


def step(config: Config, worker: str, asked: Term, layout: Layout, *, old: bool) -> Step:
    """The step of ``asked`` rows."""
    share = floor(asked, layout.replicas) if old else exact(asked, layout.replicas)
    batch, problems = asked, _undivided(asked, layout.replicas)
    if old and share.known:
        batch = product(share, layout.replicas).named(asked.key or "")
        problems = _rounded(asked, batch, layout.replicas)
    if dynamic(config, worker):
        open_term = _dynamic(config, worker)
        return Step(batch, open_term, open_term, problems)
    micro = config.integer(f"{worker}.ppo_micro_batch_size_per_gpu")
    whole = config.integer(f"{worker}.ppo_micro_batch_size")
    if not micro.known and whole.known and splits_whole_micro(config):
        micro = floor(whole, layout.replicas).named(whole.key or "")
    accumulation = exact(share, micro)
    if micro.value and share.value and not accumulation.known:
        problems = (*problems, _not_whole(asked, share, micro, layout.replicas))
    return Step(batch, micro, accumulation, problems)


def _dynamic(config: Config, worker: str) -> Term:
    budget = config.integer(f"{worker}.ppo_max_token_len_per_gpu", default=16384)
    origin = config.origin(f"{worker}.use_dynamic_bsz")
    reason = (
        f"{worker}.use_dynamic_bsz fills a micro batch with up to {shown(budget.value)} tokens of a device: how many "
        "completions fit depends on their lengths"
    )
    return unknown(reason, *([origin] if origin else []), key=f"{worker}.use_dynamic_bsz")


def _undivided(asked: Term, replicas: Term) -> tuple[Problem, ...]:
    if asked.value is None or not replicas.value or exact(asked, replicas).known:
        return ()
    return (
        Problem(
            "EB302",
            f"a step of {shown(asked.value)} completions ({asked.key}) is not divisible by {shown(replicas.value)} replicas",
            (asked, replicas),
            refuses=True,
            help=f"let ppo_mini_batch_size x rollout.n be a multiple of {shown(replicas.value)}",
        ),
    )


def _rounded(asked: Term, batch: Term, replicas: Term) -> tuple[Problem, ...]:
    if batch.value == asked.value:
        return ()
    nothing = batch.value == 0
    return (
        Problem(
            "EB302" if nothing else "EB303",
            f"a step of {shown(asked.value)} completions ({asked.key}) is rounded down to {shown(batch.value)}, a multiple "
            f"of {shown(replicas.value)} replicas",
            (asked, replicas),
            refuses=nothing,
            help=f"let ppo_mini_batch_size x rollout.n be a multiple of {shown(replicas.value)}",
        ),
    )


def _not_whole(asked: Term, share: Term, micro: Term, replicas: Term) -> Problem:
    return Problem(
        "EB302",
        f"a replica's share of a step, {shown(asked.value)} / {shown(replicas.value)} replicas = {shown(share.value)} "
        f"completions, is not divisible by {micro.key} {shown(micro.value)}",
        (micro, asked, replicas),
        refuses=True,
        help=f"set {micro.key} to a divisor of {shown(share.value)}: it counts completions, and is not multiplied by "
        "rollout.n",
    )
