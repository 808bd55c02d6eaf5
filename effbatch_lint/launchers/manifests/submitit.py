"""Hydra's submitit launcher: ``hydra.launcher`` states nodes and tasks, and every task runs the program.

Upstream: facebookresearch/hydra plugins/hydra_submitit_launcher config.py: nodes 1, tasks_per_node 1, gpus_per_node
null. With one task on a node of several devices, the program starts the others itself (or nobody does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Scalar, leaves
from effbatch_lint.launch import Allocation, Argument, Launch
from effbatch_lint.launchers import words
from effbatch_lint.launchers.manifests.job import Manifest, alone
from effbatch_lint.terms import Origin, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_KEYS = ("nodes", "tasks_per_node", "gpus_per_node", "gpus_per_task", "submitit_folder")


def recognised(config: Config) -> bool:
    """A launcher section with submitit's keys."""
    launcher = config.section("hydra.launcher")
    return launcher is not None and launcher.count(*_KEYS) > 1


def launches(manifest: Manifest) -> list[Launch]:
    """The launch that the section describes; what else the file sets are overrides of the run."""
    config = manifest.config
    nodes = config.integer("hydra.launcher.nodes", default=1)
    tasks = config.integer("hydra.launcher.tasks_per_node", default=1)
    devices = config.integer("hydra.launcher.gpus_per_node") if config.has("hydra.launcher.gpus_per_node") else None
    world = product(nodes, tasks)
    if tasks.value == 1 and devices is not None and devices.value != 1:
        world = unknown(
            "submitit starts one task per node; how many of its devices the program uses is the program's business",
            *tasks.origins,
        )
    allocation = Allocation(nodes, devices, None if devices is None else product(nodes, devices), world, tasks)
    launch = alone(manifest, "submitit", allocation, world)
    found = tuple(
        Argument(path, entry.value.text, "", (Origin(entry.value.span, path),))
        for path, entry in leaves(config.root)
        if isinstance(entry.value, Scalar) and not path.startswith(("hydra.", "defaults"))
    )
    return [launch._replace(arguments=found, overrides=words.overrides(found), processes=world)]
