"""The devices of a NeMo 1 run: the Trainer's, and those that the launcher of a tree asks Slurm for.

Upstream: NVIDIA/NeMo-Framework-Launcher, launcher_scripts/nemo_launcher/core/stages.py (_make_cluster_parameters:
``run.nodes`` and ``run.ntasks_per_node`` before the Trainer's keys). Lightning compares the two under Slurm and stops
(lightning/fabric/plugins/environments/slurm.py, validate_settings).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.lightning.devices import devices_per_node
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch


def nemo_devices(config: Config, launch: Launch) -> tuple[Term, tuple[Problem, ...]]:
    """The world size, and what contradicts it.

    The files are written for one size and started on another: ``--world-size`` stands for the Trainer's keys then, and
    contradicts nothing. A launch line that starts another number than the Trainer expects does.
    """
    per_node, refused = devices_per_node(config, ("trainer.",), launch)
    nodes = config.integer("trainer.num_nodes", default=1)
    stated = product(per_node, nodes).named("trainer.devices x num_nodes")
    problems = (*refused, *_asked(config, "run.nodes", nodes), *_asked(config, "run.ntasks_per_node", per_node))
    launched = launch.world_size
    if not launched.known:
        return stated, problems
    if not stated.known or stated.value == launched.value or launch.launcher is None:
        return launched, problems
    conflict = Problem(
        "EB203",
        f"trainer.devices x num_nodes is {shown(stated.value)} devices, and the job is started on "
        f"{shown(launched.value)}",
        (per_node, nodes, launched),
        refuses=True,
        help=f"set trainer.num_nodes to {shown(exact(launched, per_node).value)} nodes of {shown(per_node.value)} devices"
        if exact(launched, per_node).known
        else f"let trainer.devices x num_nodes be {shown(launched.value)}",
    )
    return launched, (*problems, conflict)


def _asked(config: Config, key: str, trained: Term) -> Iterator[Problem]:
    """The launcher's own number for Slurm, where Lightning is told another."""
    asked = config.integer(key)
    if asked.known and trained.known and asked.value != trained.value:
        yield Problem(
            "EB203",
            f"{key} asks Slurm for {shown(asked.value)}, and {trained.key} is {shown(trained.value)}: Lightning compares "
            "them and stops",
            (asked, trained),
            refuses=True,
            help=f"set both to one number, or remove {key}",
        )
