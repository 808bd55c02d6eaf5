"""torchtitan's ParallelDims: replicate x shard x context x tensor x pipeline must be WORLD_SIZE.

Upstream: pytorch/torchtitan, torchtitan/distributed/parallel_dims.py (_validate, build_mesh);
torchtitan/components/ft/manager.py (get_dp_info: with fault tolerance WORLD_SIZE is that of one replica group, and
the groups multiply).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.frameworks.parts.replicated import replicated
from effbatch_lint.terms import Term, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.torchtitan.eras import Era


def layout(config: Config, era: Era, world: Term) -> Layout:
    """The devices and the replicas: ``data_parallel_shard_degree`` -1 takes the devices that are left."""
    replicate = config.integer(era.replicate, default=1)
    shard = config.integer(era.shard, default=-1)
    tensor = config.integer(era.tensor, default=1)
    pipeline = config.integer(era.pipeline, default=1)
    context = config.integer(era.context, default=1)
    invalid = tuple(_invalid(shard, replicate, tensor, pipeline, context))
    if invalid or not (shard.known and replicate.known):
        reason = invalid[0].message if invalid else shard.reason or replicate.reason or ""
        return Layout(world, unknown(reason, *shard.origins), tensor, pipeline, context, invalid)
    if shard.value == -1:
        rest = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
        group = replicated(rest, replicate)
    else:
        replicas = shard if replicate.value == 1 else product(replicate, shard)
        named = replicas.named(era.shard if replicas is shard else f"{era.replicate} x {era.shard}")
        group = Layout.of_replicas(named, world=world, tensor=tensor, pipeline=pipeline, context=context)
    return _all_groups(config, group._replace(problems=(*group.problems, *_experts(config, group, replicate))))


def _invalid(shard: Term, *degrees: Term) -> Iterator[Problem]:
    rest = "-1 (the devices that are left) or at least 1"
    for degree, allowed in ((shard, rest), *((degree, "at least 1") for degree in degrees)):
        if degree.value is None or degree.value >= 1 or (degree is shard and degree.value == -1):
            continue
        yield Problem(
            "EB304",
            f"{degree.key} is {shown(degree.value)}; torchtitan takes {allowed}",
            (degree,),
            refuses=True,
            help=f"set {degree.key} to {allowed}",
        )


def _experts(config: Config, dims: Layout, replicate: Term) -> Iterator[Problem]:
    """Expert parallelism never divides the replicas; it must fit the shard x context x tensor ranks it borrows."""
    expert = config.integer("parallelism.expert_parallel_degree", default=1)
    expert_tensor = config.integer("parallelism.expert_tensor_parallel_degree", default=1)
    devices = product(dims.replicas, dims.context, dims.tensor)
    if not expert.value or expert.value <= 1 or not expert_tensor.value or not dims.tensor.value:
        return
    if expert_tensor.value not in (1, dims.tensor.value):
        yield Problem(
            "EB304",
            f"expert_tensor_parallel_degree is {shown(expert_tensor.value)}; torchtitan takes only 1 or "
            f"tensor_parallel_degree ({shown(dims.tensor.value)})",
            (expert_tensor, dims.tensor),
            refuses=True,
            help="set expert_tensor_parallel_degree to 1 or to tensor_parallel_degree",
        )
    elif devices.value and replicate.value and devices.value // replicate.value % (expert.value * expert_tensor.value):
        borrowed = shown(devices.value // replicate.value)
        yield Problem(
            "EB304",
            f"expert parallelism needs groups of {shown(expert.value * expert_tensor.value)} devices, and the "
            f"shard x context x tensor devices that it borrows are {borrowed}",
            (expert, expert_tensor, dims.context, dims.tensor),
            refuses=True,
            help=f"set expert_parallel_degree to a divisor of {borrowed}",
        )


def _alone(config: Config, groups: Term) -> Iterator[Problem]:
    key = "fault_tolerance.semi_sync_method"
    if groups.value is not None and groups.value > 1 and config.has(key):
        count = shown(groups.value)
        yield Problem(
            "EB303",
            f"with semi_sync_method {config.text(key)} each of the {count} replica groups takes its optimizer steps alone: "
            f"one of them sees a part in {count} of the batch that is counted over all groups",
            (config.place(key), groups),
            help="plan with the batch of one replica group",
        )


def _all_groups(config: Config, group: Layout) -> Layout:
    """TorchFT: the layout is that of one replica group, and all groups read different data.

    With ``semi_sync_method`` (DiLoCo, local SGD) the groups take their inner steps alone; the batch is still counted
    over all of them, as torchtitan's trainer does.
    """
    if not config.flag("fault_tolerance.enable"):
        return group
    groups = config.integer("fault_tolerance.group_size")
    if not groups.known:
        # The default of 0 trains nothing: the number of groups is the launcher's, as a flag of every group.
        reason = "fault tolerance is enabled and fault_tolerance.group_size, a flag of the launch line, is not set"
        return group._replace(replicas=unknown(reason, *config.integer("fault_tolerance.enable").origins))
    if groups.value is not None and groups.value < 1:
        problem = Problem(
            "EB304",
            f"fault_tolerance.group_size is {shown(groups.value)}: no replica group reads data",
            (groups,),
            refuses=True,
            help="set fault_tolerance.group_size to the number of replica groups",
        )
        return group._replace(problems=(*group.problems, problem))
    group = group._replace(problems=(*group.problems, *_alone(config, groups)))
    replicas = product(group.replicas, groups)
    if replicas.known:
        replicas = replicas.because(f"{shown(group.replicas.value)} replicas x {shown(groups.value)} replica groups")
    return group._replace(replicas=replicas)
