"""What SkyRL refuses before its first optimizer step.

Upstream: NovaSky-AI/SkyRL, skyrl/train/utils/utils.py (validate_cfg, validate_generator_cfg,
validate_megatron_cfg), skyrl/train/fully_async_trainer.py, skyrl/train/config/config.py (from_cli_overrides).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.frameworks.parts.skyrl.layout import placed
from effbatch_lint.frameworks.parts.skyrl.rollout import has_reference, rollout_checks
from effbatch_lint.frameworks.parts.skyrl.steps import refused
from effbatch_lint.terms import product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout, Problem
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_ENGINE = "generator.inference_engine"
_COLOCATE = "trainer.placement.colocate_all"


def run_checks(config: Config, launch: Launch, policy: Layout) -> Iterator[Problem]:
    """The checks of the whole run."""
    yield from _prefixes(launch)
    if config.text("trainer.algorithm.advantage_estimator") == "gae" and not config.has("trainer.critic.model.path"):
        yield refused(
            "EB304",
            "trainer.algorithm.advantage_estimator gae needs a critic: trainer.critic.model.path is not set",
            config.place("trainer.algorithm.advantage_estimator"),
            help="set trainer.critic.model.path",
        )
    if config.text("trainer.strategy") == "megatron":
        yield from megatron_checks(config, "trainer.policy.", "trainer.")
        if config.has("trainer.critic.model.path"):
            yield refused(
                "EB304",
                "trainer.critic.model.path is set, and a critic is trained with FSDP only",
                config.place("trainer.critic.model.path"),
                config.place("trainer.strategy"),
                help="set trainer.strategy=fsdp, or train without a critic",
            )
    yield from rollout_checks(config, launch, policy)
    yield from _shared_devices(config, policy)
    yield from _input(config)
    if config.flag("trainer.fully_async.enabled") or "fully_async" in (launch.program or ""):
        yield from _fully_async(config)


def megatron_checks(config: Config, model: str, trainer: str) -> Iterator[Problem]:
    """What Megatron is not combined with; ``model`` and ``trainer`` are the prefixes of their keys."""
    sequence = config.integer(f"{model}sequence_parallel_size", default=1)
    if sequence.value is not None and sequence.value != 1:
        yield refused(
            "EB304",
            f"{sequence.key} is {shown(sequence.value)}, and Ulysses is FSDP's: Megatron has context_parallel_size",
            sequence,
            help=f"set {model}megatron_config.context_parallel_size instead",
        )
    context = config.integer(f"{model}megatron_config.context_parallel_size", default=1)
    packing = config.present(f"{trainer}remove_microbatch_padding", f"{trainer}use_sample_packing")
    if context.value is not None and context.value > 1 and packing is not None and not config.flag(packing):
        yield refused(
            "EB304",
            f"{context.key} is {shown(context.value)}, and context parallelism needs {packing}",
            context,
            config.place(packing),
            help=f"set {packing}=true",
        )


def _prefixes(launch: Launch) -> Iterator[Problem]:
    """The words are a dot list now; Hydra's ``+`` was the package skyrl_train's."""
    if not (launch.program or "").startswith("skyrl.train."):
        return
    for argument in launch.arguments:
        if "+" in argument.dashes and argument.name:
            yield refused(
                "EB304",
                f"{argument.dashes}{argument.name}: SkyRL's command line takes no word with a +",
                unknown(argument.name, *argument.origins, key=argument.name),
                help=f"write {argument.name}=...; a key of your own needs a subclass of the config",
            )


def _shared_devices(config: Config, policy: Layout) -> Iterator[Problem]:
    """Models on the same devices have the same number of them. Engines that are not stated may come with ``$@``."""
    if not config.flag(_COLOCATE, default=True):
        if config.flag("trainer.placement.colocate_policy_ref", default=True) and has_reference(config):
            yield from _unequal(config)
        return
    engines = config.integer(f"{_ENGINE}.num_engines", "generator.num_inference_engines")
    if not engines.origins:
        return
    degrees = [
        config.integer(f"{_ENGINE}.{name}", f"generator.inference_engine_{name}", default=1)
        for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
    ]
    generating = product(engines, *degrees)
    if generating.value is None or policy.world.value is None or generating.value == policy.world.value:
        return
    text = " x ".join(f"{term.key} {shown(term.value)}" for term in (engines, *degrees) if term.origins)
    yield refused(
        "EB304",
        f"{_COLOCATE}: the policy has {shown(policy.world.value)} devices, and generation {shown(generating.value)} ({text})",
        engines,
        *(term for term in degrees if term.origins),
        policy.world,
        help=f"let the engines' product be {shown(policy.world.value)}, or set {_COLOCATE}=false",
    )


def _unequal(config: Config) -> Iterator[Problem]:
    for one, other in zip(placed(config, "policy"), placed(config, "ref"), strict=True):
        if one.known and other.known and one.value != other.value:
            yield refused(
                "EB304",
                f"policy and reference share their devices, and {one.key} is {shown(one.value)}, {other.key} "
                f"{shown(other.value)}",
                one,
                other,
                help=f"set {other.key}={shown(one.value)}, or trainer.placement.colocate_policy_ref=false",
            )
            return


def _input(config: Config) -> Iterator[Problem]:
    """The input of one turn is the prompt; of several turns it is no shorter."""
    if not config.has("generator.max_input_length"):
        return
    turns = config.integer("generator.max_turns", default=1)
    limit = config.integer("generator.max_input_length")
    prompt = config.integer("trainer.max_prompt_length", default=512)
    if limit.value is None or prompt.value is None or limit.value == prompt.value or turns.value is None:
        return
    if turns.value == 1 or limit.value < prompt.value:
        wanted = "differs from" if turns.value == 1 else "is below"
        yield refused(
            "EB304",
            f"{limit.key} {shown(limit.value)} {wanted} {prompt.key} {shown(prompt.value)}, with generator.max_turns "
            f"{shown(turns.value)}",
            limit,
            prompt,
            help=f"set {limit.key}={shown(prompt.value)}",
        )


def _fully_async(config: Config) -> Iterator[Problem]:
    """A step is what is generated at a time, by a number of workers that can all be busy."""
    rollout = config.integer("trainer.train_batch_size", default=1024)
    prompts = config.integer("trainer.policy_mini_batch_size", default=256)
    if rollout.value is not None and prompts.value and rollout.value != prompts.value:
        yield refused(
            "EB301",
            f"{rollout.key} {shown(rollout.value)} is not {prompts.key} {shown(prompts.value)}, which fully asynchronous "
            "training wants",
            rollout,
            prompts,
            help=f"set {rollout.key}={shown(prompts.value)}",
        )
    workers = config.integer("trainer.fully_async.num_parallel_generation_workers", default=768)
    staleness = config.integer("trainer.fully_async.max_staleness_steps", default=4)
    if workers.value is None or staleness.value is None or prompts.value is None:
        return
    most = prompts.value * (staleness.value + 1)
    if not prompts.value <= workers.value <= most:
        yield refused(
            "EB304",
            f"{workers.key} {shown(workers.value)} is not between {prompts.key} {shown(prompts.value)} and {shown(most)}, "
            f"{shown(staleness.value)} + 1 times as many",
            workers,
            prompts,
            staleness,
            help=f"set {workers.key} to {shown(prompts.value)} or more, and at most {shown(most)}",
        )
