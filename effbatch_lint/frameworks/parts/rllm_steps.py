"""rLLM over verl's workers: a rollout, in as many optimizer steps as ppo_mini_batch_size goes into it.

    steps = max(1, data.train_batch_size // ppo_mini_batch_size)
    B = data.train_batch_size x rollout.n // steps                      completions
    separated: B = rllm.async_training.mini_batch_size x rollout.n // steps

Upstream: rllm-org/rllm, rllm/trainer/verl/verl_backend.py (_pad_dataproto_to_world_size), rllm/trainer/unified_trainer.py
(_training_loop), rllm/trainer/verl/utils.py (sync_config), rllm/trainer/config/rllm/base.yaml (defaults).

Turns of one completion may become several rows, which are padded to the replicas: the rows of a step vary, its completions
do not. Keys that both sides have count under ``rllm.`` first. The earlier trainers (rllm.trainer.verl.train_*) step as verl
does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, computed, floor, product, shown, total

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_SEPARATED = "rllm.async_training.enable"


class RllmStep(NamedTuple):
    """Completions of a step as they are trained and as they are declared, those of a prompt, and the tokens of each."""

    taken: Term
    declared: Term
    completions: Term
    length: Term
    problems: tuple[Problem, ...] = ()


def is_rllm(config: Config, launch: Launch) -> bool:
    """Whether rLLM's own trainer drives verl's workers."""
    return config.count("rllm", "rllm/backend") > 0 and not (launch.program or "").startswith("rllm.trainer.verl.")


def rllm_step(config: Config, worker: str) -> RllmStep:
    """The step of one worker."""
    separated = config.flag(_SEPARATED)
    rollout = config.integer("rllm.data.train_batch_size", "data.train_batch_size", default=64)
    completions = config.integer("rllm.rollout.n", "actor_rollout_ref.rollout.n", default=8)
    prompts = (
        config.integer("rllm.async_training.mini_batch_size", default=64)
        if separated
        else config.integer(f"{worker}.ppo_mini_batch_size", "actor_rollout_ref.actor.ppo_mini_batch_size", default=256)
    )
    steps = computed(lambda least: max(1, least), "steps", floor(rollout, prompts))
    declared = product(prompts, completions).named(f"{prompts.key} x rollout.n")
    collected = declared if separated else product(rollout, completions)
    taken = floor(collected, steps).named(f"{prompts.key if separated else rollout.key} x rollout.n / steps")
    return RllmStep(taken, declared, completions, _length(config), _other(rollout, prompts, steps, declared, taken))


def _length(config: Config) -> Term:
    prompt = config.integer("rllm.data.max_prompt_length", "data.max_prompt_length", default=2048)
    answer = config.integer("rllm.data.max_response_length", "data.max_response_length", default=30720)
    return total(prompt, answer).named(f"{prompt.key} + {answer.key}")


def _other(rollout: Term, prompts: Term, steps: Term, declared: Term, taken: Term) -> tuple[Problem, ...]:
    """Another batch than the mini batch says, without a word."""
    if taken.value is None or declared.value is None or taken.value == declared.value:
        return ()
    plural = "" if steps.value == 1 else "s"
    return (
        Problem(
            "EB303",
            f"{prompts.key} {shown(prompts.value)} stands for {shown(declared.value)} completions, and a step trains on "
            f"{shown(taken.value)}: rLLM only takes from it that a rollout of {rollout.key} {shown(rollout.value)} has "
            f"{shown(steps.value)} step{plural}",
            (prompts, rollout),
            help=f"set {prompts.key} to {shown(rollout.value)} or a divisor of it, or declare {shown(taken.value)} completions",
        ),
    )
