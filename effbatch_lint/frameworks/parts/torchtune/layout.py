"""torchtune's replicas: ParallelDims for the recipes that read the dims, all devices for the others.

Upstream: pytorch/torchtune torchtune/training/_distributed.py (ParallelDims._validate); the ``DistributedSampler`` of
each recipe (num_replicas).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.frameworks.parts.replicated import replicated
from effbatch_lint.frameworks.parts.torchtune import recipes
from effbatch_lint.terms import ONE, Term, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.torchtune.recipes import Recipe
    from effbatch_lint.launch import Launch

DIMS = ("tensor_parallel_dim", "context_parallel_dim", "data_parallel_shard_dim", "data_parallel_replicate_dim")


def layout(config: Config, recipe: Recipe, launch: Launch) -> Layout:
    """The devices and the replicas."""
    world = launch.world_size
    if recipe is recipes.ASYNC_GRPO:
        workers = config.integer("orchestration.num_training_workers")
        return Layout(workers.named("world_size"), workers)
    if recipe is recipes.PPO or recipes.is_single_device(launch):
        return _single_device(world)
    return _parallel_dims(config, world) if recipe.reads_dims else Layout.of_world(world)


def _single_device(world: Term) -> Layout:
    """One replica; ``tune run`` refuses torchrun's arguments for these recipes."""
    one = Term(1, "derived", (), "the recipe runs on one device", None, "world_size")
    if world.value in (1, None):
        return Layout(one, one)
    problem = Problem(
        "EB304",
        f"the recipe is for a single device, and the job has {shown(world.value)}",
        (world,),
        refuses=True,
        help="start a *_distributed recipe, or one process",
    )
    return Layout(world, one, problems=(problem,))


def _parallel_dims(config: Config, world: Term) -> Layout:
    """``data_parallel_shard_dim`` -1 takes the devices that are left."""
    tensor = config.integer("tensor_parallel_dim", default=1)
    context = config.integer("context_parallel_dim", default=1)
    replicate = config.integer("data_parallel_replicate_dim", default=1)
    shard = config.integer("data_parallel_shard_dim", default=-1)
    invalid = tuple(
        Problem(
            "EB304",
            f"{dim.key} is {shown(dim.value)}; torchtune takes {'-1 or ' if dim is shard else ''}at least 1",
            (dim,),
            refuses=True,
            help=f"set {dim.key} to 1",
        )
        for dim in (tensor, context, replicate, shard)
        if dim.value is not None and dim.value < 1 and not (dim is shard and dim.value == -1)
    )
    if invalid or not shard.known or not replicate.known:
        reason = invalid[0].message if invalid else shard.reason or replicate.reason or ""
        return Layout(world, unknown(reason), tensor, ONE, context, invalid)
    if shard.value == -1:
        return replicated(Layout.of_world(world, tensor=tensor, context=context), replicate)
    replicas = shard if replicate.value == 1 else product(replicate, shard)
    named = replicas.named("data_parallel_shard_dim" if replicas is shard else f"{replicate.key} x {shard.key}")
    return Layout.of_replicas(named, world=world, tensor=tensor, context=context)
