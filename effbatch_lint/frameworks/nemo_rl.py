"""NeMo-RL: the policy's global batch is declared in sequences (in pairs for DPO and reward models), on the Ray cluster.

    B = policy.train_global_batch_size
    accumulation = B / (train_micro_batch_size x replicas), and depends on the data where micro batches are packed
    replicas = policy's devices / (tensor x pipeline x context)

Upstream: NVIDIA-NeMo/RL (2026-08), nemo_rl/models/policy/lm_policy.py (Policy), nemo_rl/distributed/batched_data_dict.py
(shard_by_batch_size), nemo_rl/algorithms (nemo_rl_checks), nemo_rl_cluster for the devices. A file stands on the files
that its ``defaults`` name (compose/inherit.py).

A rollout of prompts x generations is trained in as many optimizer steps as it holds global batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.documents.document import kind_of
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.megatron.layout import indivisible_groups
from effbatch_lint.frameworks.parts.megatron.microbatches import constant
from effbatch_lint.frameworks.parts.nemo_rl.checks import checks, division_checks
from effbatch_lint.frameworks.parts.nemo_rl.cluster import policy_devices
from effbatch_lint.terms import ONE, Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

# Each algorithm's section, what its rows are, and the generations of a prompt unless they are given.
_ALGORITHMS: dict[str, tuple[Unit, int | None]] = {
    "ppo": ("completions", 16), "distillation": ("completions", 1), "dpo": ("pairs", None), "rm": ("pairs", None),
    "sft": ("sequences", None), "grpo": ("completions", 16),
}  # fmt: skip
_DTENSOR = ("tensor_parallel_size", "context_parallel_size")
_MEGATRON = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
_PACKED = ("sequence_packing", "dynamic_batching")


def recognise(config: Config) -> int:
    """A policy with a global batch, beside a cluster and an algorithm's section."""
    if not config.has("policy.train_global_batch_size") or not config.has("cluster.gpus_per_node", "cluster.num_nodes"):
        return 0
    return 2 + config.count(
        "policy.train_micro_batch_size", "policy.max_total_sequence_length", "policy.dtensor_cfg", "policy.megatron_cfg",
        "cluster.num_nodes", "cluster.gpus_per_node", *_ALGORITHMS,
    )  # fmt: skip


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """The policy's batch, and that of PPO's value model."""
    if kind_of(config.path) == "shell" and "config" not in launch.overrides:
        # examples/run_grpo.py and the others: without --config, a file beside the program is the base of the words.
        config = config.hiding(f"the config that {launch.program} takes without --config may set it")
    algorithm = next((name for name in _ALGORITHMS if config.has(name)), "")
    world, problems = policy_devices(config, algorithm, launch.world_size)
    policy = _batch(config, "policy", algorithm, world, launch)
    yield policy._replace(problems=(*problems, *policy.problems))
    if algorithm == "ppo" and config.has("value.train_global_batch_size"):
        yield _batch(config, "value", algorithm, world, launch)._replace(name="value")


def _batch(config: Config, model: str, algorithm: str, world: Term, launch: Launch) -> Batch:
    unit = _unit(config, algorithm)
    total = config.integer(f"{model}.train_global_batch_size")
    layout = _layout(config, model, world)
    packed = next((kind for kind in _PACKED if config.flag(f"{model}.{kind}.enabled")), None)
    micro = config.integer(f"{model}.train_micro_batch_size")
    micro = micro if packed is None else _filled(config, f"{model}.{packed}", micro)
    division = constant(total, ONE if packed else micro, layout.replicas)
    return Batch(
        micro=micro,
        accumulation=unknown(micro.reason or "", *micro.origins) if packed else division.accumulation,
        layout=layout,
        sequence_length=config.integer(f"{model}.max_total_sequence_length"),
        unit=unit,
        sequences_per_item=2 if unit == "pairs" else 1,
        global_batch=total,
        declared=total,
        tokens_bound="at most",
        items_per_prompt=_per_prompt(config, algorithm) if unit == "completions" else None,
        problems=(
            *(division.problems if not packed else division_checks(total, layout.replicas)),
            *checks(config, model, algorithm, layout, launch),
        ),
    )


def _unit(config: Config, algorithm: str) -> Unit:
    """What a row is. Off-policy distillation trains on the rows of a data set."""
    off_policy = config.has("teachers") and not config.has("teacher")
    return "sequences" if off_policy or algorithm not in _ALGORITHMS else _ALGORITHMS[algorithm][0]


def _per_prompt(config: Config, algorithm: str) -> Term | None:
    generations = _ALGORITHMS[algorithm][1] if algorithm in _ALGORITHMS else None
    key = f"{algorithm}.num_generations_per_prompt"
    return None if generations is None else config.integer(key, default=generations)


def _layout(config: Config, model: str, world: Term) -> Layout:
    """Pipeline stages are Megatron's only; ``dp_replicate_size`` shapes the sharding and divides nothing."""
    if not config.flag(f"{model}.megatron_cfg.enabled"):
        section = f"{model}.dtensor_cfg."
        tensor, context = (config.integer(f"{section}{name}") for name in _DTENSOR)
        return Layout.of_world(world, tensor=tensor, context=context)
    section = f"{model}.megatron_cfg."
    tensor, pipeline, context = (config.integer(f"{section}{name}") for name in _MEGATRON)
    found = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    experts = config.integer(f"{section}expert_model_parallel_size", default=1)
    expert_tensor = config.integer(f"{section}expert_tensor_parallel_size", default=1)
    problem = indivisible_groups(found, "experts", (expert_tensor, experts, pipeline))
    return found if problem is None or found.problems else found._replace(problems=(problem,))


def _filled(config: Config, section: str, micro: Term) -> Term:
    budget = config.integer(f"{section}.train_mb_tokens")
    limit = f"up to {budget.value:,} tokens" if budget.value is not None else "a budget of tokens"
    reason = f"{section} fills a micro batch with {limit}: how many sequences fit depends on their lengths"
    origin = config.origin(f"{section}.enabled")
    return unknown(reason, *([origin] if origin else []), key=micro.key)


FRAMEWORK = Framework(
    name="nemo-rl",
    formula="policy.train_global_batch_size = micro batch x accumulation x policy devices / (tensor x pipeline x context)",
    sources=(
        "NVIDIA-NeMo/RL nemo_rl/models/policy/lm_policy.py",
        "NVIDIA-NeMo/RL nemo_rl/algorithms/grpo.py",
        "NVIDIA-NeMo/RL nemo_rl/distributed/batched_data_dict.py",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
)
