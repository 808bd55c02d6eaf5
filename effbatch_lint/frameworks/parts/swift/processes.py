"""How many processes ms-swift trains with.

    swift sft, megatron sft           NNODES x NPROC_PER_NODE of the shell, else of the file's ``ENV`` map; neither: one process
    use_ray with device_groups        the ranks of the group that holds the worker ``default``
    megatron rlhf --use_ray           ``train.gpus``; the GPUs of ``rollout`` and ``teacher`` generate and judge
    torchrun, accelerate, deepspeed   what the launcher starts

Upstream: modelscope/ms-swift, swift/cli/main.py (parse_yaml_args: a variable of the shell beats ENV; get_torchrun_args),
swift/ray_utils/resource_manager.py (ResourceManager), swift/ray/megatron/driver_utils.py (parse_ray_yaml).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence
from effbatch_lint.frameworks.parts.accelerate_launch import processes as accelerate_processes
from effbatch_lint.terms import Term, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

TRAIN_GPUS = "train.gpus"
_GROUPS = "device_groups"
_NODES, _DEVICES = "ENV.NNODES", "ENV.NPROC_PER_NODE"
_ALONE = "one process, over whose devices ms-swift spreads the model"
_OWN_LAUNCHERS = frozenset(("swift", "megatron"))
_RANGE = re.compile(r"\s*list\(\s*range\(\s*(?:(\d{1,9})\s*,\s*)?(\d{1,9})\s*\)\s*\)\s*", re.ASCII)


def processes(config: Config, launch: Launch) -> Term:
    """All processes of the run; a declared world size beats what the files state."""
    world = launch.world_size
    if world.how == "declared":
        return world
    if config.has(TRAIN_GPUS):
        return config.integer(TRAIN_GPUS)
    if config.flag("use_ray") and config.count(_GROUPS):
        return _ranks(config)
    if launch.accelerate is not None and not world.known:
        return accelerate_processes(launch.accelerate)
    if launch.launcher in _OWN_LAUNCHERS or (launch.launcher is None and not world.known):
        return _of_environment(config, launch)
    if launch.processes.value == 1 and not world.known:
        return Term(1, "default", (), _ALONE, None, "world_size")
    return world


def holding(world: Term, *degrees: Term) -> Term:
    """``world``, unless it is the one process of a silent environment and must hold several ranks of a replica.

    Such a script runs where the platform sets NPROC_PER_NODE; how many that are is not written here.
    """
    split = [degree for degree in degrees if (degree.value or 1) > 1]
    if world.how != "default" or not split:
        return world
    names = ", ".join(f"{degree.key} {shown(degree.value)}" for degree in split)
    reason = f"NPROC_PER_NODE is not set here, and one process cannot hold {names}"
    return unknown(reason, key="world_size")


def on_each_node(config: Config, launch: Launch) -> Term:
    """The processes of one machine (LOCAL_WORLD_SIZE)."""
    devices = launch.devices_per_node
    return config.integer(_DEVICES) if config.has(_DEVICES) and not _stated(devices) else devices


def _of_environment(config: Config, launch: Launch) -> Term:
    if not config.has(_NODES, _DEVICES):
        return launch.world_size
    nodes, devices = launch.nodes, launch.devices_per_node
    return product(
        nodes if _stated(nodes) else config.integer(_NODES, default=1),
        devices if _stated(devices) else config.integer(_DEVICES, default=1),
    ).named("world_size")


def _stated(term: Term) -> bool:
    """Whether the shell sets the variable, known or not."""
    return term.how != "default" and (term.known or bool(term.origins))


def _ranks(config: Config) -> Term:
    groups = config.node(_GROUPS)
    if isinstance(groups, Mapping):
        for name, entry in groups.entries.items():
            workers = entry.value.get("workers") if isinstance(entry.value, Mapping) else None
            if isinstance(workers, Sequence) and any(
                isinstance(item, Scalar) and item.text == "default" for item in workers.items
            ):
                return _counted(config, f"{_GROUPS}.{name}.ranks")
    origin = config.origin(_GROUPS)
    reason = f"{_GROUPS} has no group with the worker default"
    return unknown(reason, *([origin] if origin else []), key=_GROUPS)


def _counted(config: Config, key: str) -> Term:
    """A number of ranks, a list of them, or ``list(range(0, 4))``, which upstream evaluates."""
    node, origin = config.node(key), config.origin(key)
    span = _RANGE.fullmatch(node.text) if isinstance(node, Scalar) else None
    count: int | None = None
    if isinstance(node, Sequence):
        count = len(node.items)
    elif span is not None:
        count = max(0, int(span[2]) - int(span[1] or 0))
    if count is None:
        return config.integer(key)
    return Term(count, "derived", (origin,) if origin else (), f"{shown(count)} ranks", key=key)
