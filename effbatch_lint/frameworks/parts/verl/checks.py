"""What verl refuses before its first optimizer step.

Upstream: verl-project/verl, verl/utils/config.py (validate_config), verl/workers/config/actor.py (ActorConfig), verl/
workers/config/critic.py, verl/utils/tensordict_utils.py (make_iterator). Most checks are skipped with use_dynamic_bsz.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.compose.config import Unresolved
from effbatch_lint.frameworks.parts.verl.engines import engine_layout, worker_engine
from effbatch_lint.frameworks.parts.verl.steps import dynamic, splits_whole_micro
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_ACTOR = "actor_rollout_ref.actor"


def checks(config: Config, world: Term) -> Iterator[Problem]:
    """The checks of the whole run."""
    misplaced = config.present(*(f"{worker}.model_engine" for worker in (_ACTOR, "actor_rollout_ref.ref", "critic")))
    if misplaced is not None:
        yield Problem(
            "EB304",
            f"{misplaced} is in no config of verl, and Hydra stops at it: the choice is model_engine, at the top",
            (config.place(misplaced),),
            refuses=True,
            help=f"write model_engine={config.text(misplaced)}",
        )
    yield from _whole_rollout(config, world)


def _whole_rollout(config: Config, world: Term) -> Iterator[Problem]:
    """``validate_config``: a rollout's completions over the devices. FSDP is asked for the devices, Ulysses or not."""
    prompts = config.integer("data.train_batch_size", default=1024)
    if config.flag(f"{_ACTOR}.use_dynamic_bsz") or not prompts.value:
        return
    completions = config.integer("actor_rollout_ref.rollout.n", default=1)
    rollout = product(prompts, completions)
    engine = worker_engine(config, _ACTOR)
    least: Term = world
    divisors: tuple[Term, ...] = (world,)
    if engine.kind == "megatron":
        replicas = engine_layout(config, engine, world).replicas
        micro = config.integer(f"{_ACTOR}.ppo_micro_batch_size_per_gpu")
        least, divisors = product(replicas, micro), (replicas, micro)
    if rollout.value is None or not least.value or exact(rollout, least).known:
        return
    split = " x ".join(shown(term.value) for term in divisors)
    yield Problem(
        "EB302",
        f"a rollout of {shown(prompts.value)} prompts x {shown(completions.value)} completions = {shown(rollout.value)} is "
        f"not divisible by {'replicas x micro batch' if engine.kind == 'megatron' else 'the devices'}: {split}",
        (prompts, completions, *divisors),
        refuses=True,
        help=f"let data.train_batch_size x rollout.n be a multiple of {shown(least.value)}",
    )


def worker_checks(config: Config, worker: str, prompts: Term, completions: Term, layout: Layout) -> Iterator[Problem]:
    """The checks of one worker: its mini batch against the rollout, and what Ulysses needs."""
    rollout = config.integer("data.train_batch_size", default=1024)
    if rollout.value and prompts.value:
        yield from _rollout(rollout, prompts, completions)
    packed = config.flag("actor_rollout_ref.model.use_remove_padding", default=True)
    if worker_engine(config, worker).fsdp and (layout.context.value or 1) > 1 and not packed:
        yield Problem(
            "EB304",
            f"{layout.context.key} is {shown(layout.context.value)}, and Ulysses needs "
            "actor_rollout_ref.model.use_remove_padding",
            (layout.context, config.place("actor_rollout_ref.model.use_remove_padding")),
            refuses=True,
            help="set actor_rollout_ref.model.use_remove_padding=true",
        )


def missing_micro(config: Config, worker: str, launch: Launch) -> Iterator[Problem]:
    """A fixed micro batch needs its key, and one only.

    A tree without a command line, or of which a part is not in the project, waits for what gives it.
    """
    each, whole = f"{worker}.ppo_micro_batch_size_per_gpu", f"{worker}.ppo_micro_batch_size"
    # `model_engine=veomni` chooses an option; a command line sets values.
    sets = any("." in word.partition("=")[0].partition("@")[0] for word in config.overrides)
    unknown = any(isinstance(config.value(key), Unresolved) for key in (each, whole, f"{worker}.use_dynamic_bsz"))
    if dynamic(config, worker) or unknown or not (sets or launch.launcher):
        return
    if config.has(each) and config.has(whole):
        yield Problem(
            "EB304",
            f"{whole} and {each} are both set, and verl takes one of them",
            (config.integer(whole), config.integer(each)),
            refuses=True,
            help=f"remove {whole}",
        )
    elif not config.has(each) and not (config.has(whole) and splits_whole_micro(config)) and not config.unseen:
        yield Problem(
            "EB304",
            f"{each} is not set, and use_dynamic_bsz is off: nothing says how many completions a device takes at once",
            (config.integer(whole, f"{worker}.ppo_mini_batch_size"),),
            refuses=True,
            help=f"set {each}, or use_dynamic_bsz",
        )


def _rollout(rollout: Term, prompts: Term, completions: Term) -> Iterator[Problem]:
    """A rollout shorter than a step stops verl (0.8 and 0.9), one that is no multiple leaves a shorter last step."""
    assert rollout.value is not None
    assert prompts.value is not None
    if rollout.value < prompts.value:
        yield Problem(
            "EB301",
            f"{rollout.key} {shown(rollout.value)} is less than {prompts.key} {shown(prompts.value)}: a rollout holds no "
            "whole optimizer step",
            (prompts, rollout),
            refuses=True,
            help=f"set {prompts.key} to {shown(rollout.value)} or a divisor of it",
        )
    elif rollout.value % prompts.value:
        rest = rollout.value % prompts.value
        last = "" if completions.value is None else f" ({shown(rest * completions.value)} completions)"
        yield Problem(
            "EB303",
            f"{rollout.key} {shown(rollout.value)} is no multiple of {prompts.key} {shown(prompts.value)}: the last step of "
            f"a rollout has {shown(rest)} prompts{last}",
            (rollout, prompts),
            help=f"set {rollout.key} to a multiple of {shown(prompts.value)}",
        )
