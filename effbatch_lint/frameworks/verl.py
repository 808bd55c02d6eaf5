"""verl: ppo_mini_batch_size prompts make an optimizer step, each with rollout.n completions.

    B = ppo_mini_batch_size x rollout.n                                     completions
    accumulation = B / replicas / ppo_micro_batch_size_per_gpu              (depends on the data with use_dynamic_bsz)

Upstream: verl-project/verl, verl/trainer/ppo/v1/trainer_base.py (_update_actor, _update_critic), verl/workers/
engine_workers.py (train_mini_batch), verl/workers/engine/utils.py (prepare_micro_batches), verl/trainer/ppo/utils.py
(need_critic); the layout is verl_engines', what is refused verl_checks', SFT verl_sft's.

``train_batch_size`` and ``ppo_mini_batch_size`` count prompts, the micro batch counts completions and is not multiplied.
Up to release 0.7 the FSDP worker divided with ``//``, so that B was rounded down to a multiple of the replicas; a tree
without ``model_engine`` is of that time. rLLM drives these workers with steps of its own (parts/rllm_steps.py).

A launch script names its keys one by one over verl's own tree, which lies in verl's package: what is not given has the
defaults of verl/trainer/config.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.hydra_words import refused_words
from effbatch_lint.frameworks.parts.rllm_steps import is_rllm, rllm_step
from effbatch_lint.frameworks.parts.verl.checks import checks, missing_micro, worker_checks
from effbatch_lint.frameworks.parts.verl.devices import pool
from effbatch_lint.frameworks.parts.verl.engines import engine_layout, worker_engine
from effbatch_lint.frameworks.parts.verl.sft import is_sft, sft_batch
from effbatch_lint.frameworks.parts.verl.steps import old_workers, step
from effbatch_lint.terms import Term, product, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

ACTOR, CRITIC = "actor_rollout_ref.actor", "critic"
_KEYS = (
    f"{ACTOR}.ppo_mini_batch_size", f"{ACTOR}.ppo_micro_batch_size_per_gpu", f"{ACTOR}.ppo_micro_batch_size",
    f"{ACTOR}.use_dynamic_bsz", f"{ACTOR}.ppo_max_token_len_per_gpu", f"{ACTOR}.strategy", f"{ACTOR}.optim.lr",
    "actor_rollout_ref.rollout.n", "actor_rollout_ref.model.path", "data.train_batch_size", "data.max_response_length",
    "algorithm.adv_estimator", "trainer.n_gpus_per_node", "trainer.nnodes", "model_engine",
)  # fmt: skip
# With those of verl/experimental, and of the DAPO recipe that verl had up to 0.6: they add sections, and none of a batch.
_OWN_TREE = re.compile(
    r"(?:^|[ /])(?:(?:ppo|(?:fully_async|one_step_off)_ppo|dapo)(?:_megatron)?_trainer|sft_trainer)(?:\.yaml)?[,;]"
)
_NO_TRAINERS = ("verl.trainer.main_generation", "verl.trainer.main_eval")


def recognise(config: Config) -> int:
    """Keys of the actor, which no other trainer has; or the SFT trainer's engine beside its data."""
    if config.has("actor_rollout_ref.actor", "actor_rollout_ref.rollout"):
        return 2 + config.count(*_KEYS)
    return is_sft(config)


def starts(launch: Launch) -> bool:
    """Trainers of verl's own, whatever is given to them; main_generation and main_eval train nothing."""
    program = launch.program or ""
    return program.startswith("verl.trainer.") and not program.startswith(_NO_TRAINERS)


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """The actor's batch, and the critic's where the advantage needs one."""
    if (launch.program or "").startswith(_NO_TRAINERS) or _only_prints(launch):
        return
    config = _on_own_tree(config)
    if not config.has("actor_rollout_ref") and not (launch.program or "").startswith("verl.trainer.main"):
        yield refused_words(sft_batch(config, launch), launch)
        return
    world, conflict = pool(config, launch.world_size)
    if config.has("server.port", "server.model_name") and not config.has("data.train_batch_size"):
        sent = "the clients of the server send the rows of each step"
        yield _of_other_rows(config, world, sent, "server")._replace(problems=conflict)
        return
    if (launch.program or "").startswith("verl.experimental.vla."):
        cut = "a trajectory is cut into rows, and how many a step has depends on the episodes"
        yield _of_other_rows(config, world, cut, "vision-language-action")._replace(problems=conflict)
        return
    actor = _batch(config, ACTOR, world, launch)
    actor = actor._replace(problems=(*conflict, *checks(config, world), *actor.problems))
    yield refused_words(actor, launch)
    if config.has("critic") and _needs_critic(config):
        yield _batch(config, CRITIC, world, launch)._replace(name="critic")


def _on_own_tree(config: Config) -> Config:
    """The config without doubt about verl's own tree, on which a recipe's primary config stands: its values are the
    defaults here."""
    return config.of_line() if all(_OWN_TREE.search(reason) for _, reason in config.unseen) else config


def _batch(config: Config, worker: str, world: Term, launch: Launch) -> Batch:
    layout = engine_layout(config, worker_engine(config, worker), world)
    if is_rllm(config, launch):
        return _rllm(config, worker, layout, launch)
    prompts = config.integer(f"{worker}.ppo_mini_batch_size", f"{ACTOR}.ppo_mini_batch_size", default=256)
    completions = config.integer("actor_rollout_ref.rollout.n", default=1)
    declared = product(prompts, completions).named(f"{prompts.key} x rollout.n")
    divided = step(config, worker, declared, layout, old=old_workers(config))
    return Batch(
        micro=divided.micro,
        accumulation=divided.accumulation,
        layout=layout,
        sequence_length=total(
            config.integer("data.max_prompt_length", default=512),
            config.integer("data.max_response_length", default=512),
        ).named("data.max_prompt_length + data.max_response_length"),
        unit="completions",
        global_batch=divided.batch,
        declared=declared,
        tokens_bound="at most",
        items_per_prompt=completions,
        problems=(
            *divided.problems,
            *missing_micro(config, worker, launch),
            *worker_checks(config, worker, prompts, completions, layout),
        ),
        profile="up to 0.7" if old_workers(config) else None,
    )


def _only_prints(launch: Launch) -> bool:
    """Hydra's ``--cfg job`` prints the config, and the program does not run."""
    return any(argument.name == "cfg" and argument.dashes for argument in launch.arguments)


def _of_other_rows(config: Config, world: Term, reason: str, profile: str) -> Batch:
    """A trainer on verl's workers whose steps ppo_mini_batch_size does not size: a server of the Tinker interface
    (verl-project/verl-recipe verl_tinker/src/verl_tinker/data/datum_processing.py), and verl/experimental/vla/dp_rob.py,
    which checks no rollout against a step."""
    sent = unknown(reason)
    return Batch(
        micro=sent,
        accumulation=sent,
        layout=engine_layout(config, worker_engine(config, ACTOR), world),
        sequence_length=None,
        unit="completions",
        global_batch=sent,
        declared=None,
        tokens_bound="at most",
        profile=profile,
    )


def _rllm(config: Config, worker: str, layout: Layout, launch: Launch) -> Batch:
    own = rllm_step(config, worker)
    divided = step(config, worker, own.taken, layout, old=old_workers(config))
    return Batch(
        micro=divided.micro,
        accumulation=divided.accumulation,
        layout=layout,
        sequence_length=own.length,
        unit="completions",
        global_batch=divided.batch,
        declared=own.declared,
        tokens_bound="at most",
        items_per_prompt=own.completions,
        problems=(*own.problems, *divided.problems, *missing_micro(config, worker, launch)),
        profile="rLLM",
    )


def _needs_critic(config: Config) -> bool:
    if config.has("critic.enable"):
        return config.flag("critic.enable")
    if config.entry("algorithm.adv_estimator") is None:
        return True
    return config.text("algorithm.adv_estimator") == "gae"  # null: SPIN and SPPO train an actor alone


FRAMEWORK = Framework(
    name="verl",
    formula="ppo_mini_batch_size x rollout.n = ppo_micro_batch_size_per_gpu x accumulation x replicas",
    sources=(
        "verl-project/verl verl/trainer/ppo/v1/trainer_base.py",
        "verl-project/verl verl/workers/engine_workers.py",
        "verl-project/verl verl/utils/config.py",
    ),
    recognise=recognise,
    read=read,
    starts=starts,
    dialect="omegaconf",
)
