"""The devices of each of SkyRL's models, and how FSDP and Megatron divide them into replicas.

Upstream: NovaSky-AI/SkyRL, skyrl/train/utils/utils.py (validate_batch_sizes), skyrl/train/config/config.py
(PlacementConfig, MegatronConfig), skyrl/backends/skyrl_train/workers/worker.py (init_worker_process_group).

The critic is FSDP's under any strategy. FSDP rounds ``world // sequence_parallel_size`` down and checks nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.frameworks.parts.megatron.layout import indivisible_groups
from effbatch_lint.frameworks.parts.model_devices import model_devices
from effbatch_lint.terms import Term, exact, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

Role = Literal["policy", "critic", "ref"]
_PLACEMENT = "trainer.placement"
# Keys of the package skyrl_train, which the later one has under generator.inference_engine.
_OLD = (
    "generator.num_inference_engines", "generator.inference_engine_tensor_parallel_size", "generator.backend",
    "generator.run_engines_locally", "generator.gpu_memory_utilization", "generator.async_engine",
)  # fmt: skip


def placed(config: Config, role: Role) -> tuple[Term, Term]:
    """Nodes and devices per node of a model, as the placement says or by default."""
    nodes, each = f"{_PLACEMENT}.{role}_num_nodes", f"{_PLACEMENT}.{role}_num_gpus_per_node"
    if config.count(*_OLD) and not config.has(each):
        moved = unknown(f"{each} is not set, and its default was 4 before February 2026, and 1 since", key=each)
        return config.integer(nodes, default=1), moved
    return config.integer(nodes, default=1), config.integer(each, default=1)


def devices(config: Config, role: Role, launch: Launch) -> tuple[Term, tuple[Problem, ...]]:
    """The devices of a model, and a job that is declared to have fewer."""
    nodes, each = placed(config, role)
    return model_devices(role, nodes, each, launch.world_size)


def layout_of(config: Config, role: Role, world: Term) -> Layout:
    """The replicas of a model of the RL trainer."""
    if config.text("trainer.strategy") == "megatron" and role != "critic":
        return megatron(config, f"trainer.{role}.megatron_config", world)
    return ulysses(config.integer(f"trainer.{role}.sequence_parallel_size", default=1), world)


def megatron(config: Config, section: str, world: Term, *, tensor: int = 1, pipeline: int = 1) -> Layout:
    """Megatron's layout; a remainder is refused, and so are groups of experts that do not fit."""
    tensor_parallel = config.integer(f"{section}.tensor_model_parallel_size", default=tensor)
    pipeline_parallel = config.integer(f"{section}.pipeline_model_parallel_size", default=pipeline)
    found = Layout.of_world(
        world,
        tensor=tensor_parallel,
        pipeline=pipeline_parallel,
        context=config.integer(f"{section}.context_parallel_size", default=1),
    )
    experts = config.integer(f"{section}.expert_model_parallel_size", default=1)
    key = f"{section}.expert_tensor_parallel_size"
    expert_tensor = config.integer(key) if config.has(key) else tensor_parallel
    problem = indivisible_groups(found, "experts", (expert_tensor, experts, pipeline_parallel))
    return found if problem is None or found.problems else found._replace(problems=(problem,))


def ulysses(degree: Term, world: Term) -> Layout:
    """FSDP's layout. Devices beyond the last whole replica are nowhere in its mesh, and nothing asks for them."""
    found = Layout.of_world(world, context=degree, rounding="floor")
    if world.value is None or not degree.value or exact(world, degree).known:
        return found
    used = product(found.replicas, degree)
    left = Problem(
        "EB201",
        f"{shown(world.value)} devices are no whole number of replicas of {shown(degree.value)} ({degree.key}): SkyRL rounds "
        f"down without a check, and {shown(used.value)} have a place in its mesh",
        (degree, world),
        help=f"use a multiple of {shown(degree.value)} devices",
    )
    return found._replace(problems=(left,))
