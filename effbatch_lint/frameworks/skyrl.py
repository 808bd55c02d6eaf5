"""SkyRL: policy_mini_batch_size prompts make an optimizer step, each with n_samples_per_prompt completions.

    B = trainer.policy_mini_batch_size x generator.n_samples_per_prompt                  completions
    accumulation = B / replicas / trainer.micro_train_batch_size_per_gpu
    replicas = world // sequence_parallel_size        FSDP
               world / (tensor x pipeline x context)  Megatron
    SFT: B = batch_size sequences

Upstream: NovaSky-AI/SkyRL, skyrl/train/config/config.py (defaults), skyrl/train/utils/utils.py (validate_batch_sizes,
validate_cfg), skyrl/backends/skyrl_train/distributed/dispatch.py (stage_chunks), skyrl/train/fully_async_trainer.py;
SFT: skyrl/train/config/sft_config.py, skyrl/train/sft_trainer.py.

``train_batch_size`` and the mini batches count prompts, the micro batch completions. Each model has devices of its own
(trainer.placement); generation shares them or has others. A mini batch that the replicas do not divide is padded with rows
that count nothing. The keys are those of the Hydra tree that the package ``skyrl_train`` had up to 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.skyrl.checks import run_checks
from effbatch_lint.frameworks.parts.skyrl.layout import devices, layout_of
from effbatch_lint.frameworks.parts.skyrl.sft import is_sft, sft_batch
from effbatch_lint.frameworks.parts.skyrl.steps import MICRO, divided, step_checks
from effbatch_lint.terms import Term, product, total

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.skyrl.layout import Role
    from effbatch_lint.launch import Launch

_STEP_WISE = "generator.step_wise_trajectories"
_PROGRAMS = ("skyrl.train.entrypoints.main_base", "skyrl_train.entrypoints.main_base", "skyrl.train.main_sft")
# Options of the package skyrl_train, whose settings were files.
_HYDRA = frozenset(("config-name", "cn", "config-path", "cp", "config-dir", "cd"))
_KEYS = (
    "trainer.policy_mini_batch_size", "trainer.critic_mini_batch_size", MICRO, "trainer.micro_forward_batch_size_per_gpu",
    "trainer.update_epochs_per_batch", "trainer.placement.policy_num_gpus_per_node", "trainer.placement.policy_num_nodes",
    "trainer.placement.colocate_all", "generator.n_samples_per_prompt", "generator.inference_engine", "trainer.strategy",
    "generator.num_inference_engines", "trainer.policy.model.path", "environment.env_class",
)  # fmt: skip


def recognise(config: Config) -> int:
    """Mini batches of the trainer beside its placement or its generator; or the flat keys of SFT."""
    if config.count("trainer.policy_mini_batch_size", MICRO, "trainer.train_batch_size") and config.count(
        "trainer.placement", "generator.n_samples_per_prompt", "generator.inference_engine"
    ):
        return config.count(*_KEYS)
    return is_sft(config)


def starts(launch: Launch) -> bool:
    """SkyRL's own training programs; a project's own ones are known by the keys."""
    return launch.program in _PROGRAMS


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """The policy's batch, and the critic's where there is one; or that of SFT. A program that generates trains nothing."""
    if (launch.program or "").endswith("_generate"):
        return
    if launch.program and not any(argument.name in _HYDRA for argument in launch.arguments):
        config = config.of_line()
    if launch.program == "skyrl.train.main_sft" or (is_sft(config) and not config.has("trainer")):
        yield sft_batch(config, launch)
        return
    policy = _batch(config, launch, "policy")
    yield policy._replace(problems=(*run_checks(config, launch, policy.layout), *policy.problems))
    if config.has("trainer.critic.model.path"):
        yield _batch(config, launch, "critic")


def _batch(config: Config, launch: Launch, role: Role) -> Batch:
    world, conflict = devices(config, role, launch)
    layout = layout_of(config, role, world)
    prompts = config.integer(f"trainer.{role}_mini_batch_size", default=256)
    samples = config.integer("generator.n_samples_per_prompt", default=5)
    whole = product(prompts, samples).named(f"{prompts.key} x {samples.key}")
    step = divided(config, whole, layout)
    return Batch(
        micro=step.micro,
        accumulation=step.accumulation,
        layout=layout,
        sequence_length=_length(config),
        name="train" if role == "policy" else role,
        unit="completions",
        global_batch=whole,
        declared=whole,
        tokens_bound="at most",
        items_per_prompt=samples,
        problems=(*conflict, *step_checks(config, role, whole, layout), *step.problems),
        profile="step-wise: a completion may be several rows" if config.flag(_STEP_WISE) else None,
    )


def _length(config: Config) -> Term:
    """Prompt and answer; of several turns the last input, which holds the earlier ones, and one answer."""
    turns = config.integer("generator.max_turns", default=1)
    prompt = config.integer("trainer.max_prompt_length", default=512)
    answer = config.integer("generator.sampling_params.max_generate_length", default=1024)
    if turns.value is None:
        return turns.named("generator.max_turns")
    if turns.value == 1:
        return total(prompt, answer).named(f"{prompt.key} + {answer.key}")
    context = config.integer("generator.max_input_length") if config.has("generator.max_input_length") else prompt
    return total(context, answer).named(f"{context.key} + {answer.key}")


FRAMEWORK = Framework(
    name="skyrl",
    formula="policy_mini_batch_size x n_samples_per_prompt = micro_train_batch_size_per_gpu x accumulation x replicas",
    sources=(
        "NovaSky-AI/SkyRL skyrl/train/utils/utils.py",
        "NovaSky-AI/SkyRL skyrl/train/config/config.py",
        "NovaSky-AI/SkyRL skyrl/train/config/sft_config.py",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
    dialect="omegaconf",
)
