"""Beaker's ``gantry run -- command``: ``--replicas`` nodes with ``--gpus`` each.

Source: allenai/beaker-gantry, gantry/commands/run.py (the options of 3.7, and ``--nfs`` of those before 2); the command behind the dashes runs once per replica, and Beaker tells it
how many replicas there are in BEAKER_REPLICA_COUNT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell import words as shell_words
from effbatch_lint.documents.shell.text import written
from effbatch_lint.launch import Allocation
from effbatch_lint.launchers import words
from effbatch_lint.terms import Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start

_SWITCHES = frozenset((
    "leader-selection", "no-leader-selection", "host-networking", "no-host-networking", "nfs", "no-nfs",
    "propagate-failure", "no-propagate-failure", "propagate-preemption", "no-propagate-preemption", "no-python", "yes",
    "y", "allow-dirty", "preemptible", "not-preemptible", "dry-run", "show-logs", "no-logs", "no-conda", "uv-all-extras",
    "uv-no-extras", "torchrun", "system-python", "skip-nccl-setup", "skip-tcpxo-setup", "use-system-python",
    "no-auto-resume",
))  # fmt: skip


def gantry(start: Start) -> Start | None:
    """The command that the replicas run; None for any other use of gantry."""
    if len(start.words) < 2 or start.words[1].chars != "run":  # noqa: PLR2004 - a subcommand
        return None
    found = words.options(start.words[2:], _SWITCHES)
    nodes = found.term("replicas") or Term(1, "default", (), None, None, "--replicas")
    devices = found.term("gpus")
    world = unknown("--gpus is not given") if devices is None else product(nodes, devices)
    environment = dict(start.environment)
    for name, value in found.repeated:
        assignment = shell_words.ASSIGNMENT.match(value.chars)
        if name == "env" and assignment is not None:
            environment[assignment[1]] = value.slice(assignment.end())
    if "replicas" in found.values:
        environment["BEAKER_REPLICA_COUNT"] = found.values["replicas"]
    rest = found.rest
    if "torchrun" in found.switches and rest:
        # The command is then torchrun's: a script or `-m module` that starts once per GPU of every replica.
        rest = (written("python"), *rest)
        start = start._replace(processes=world)
    allocation = Allocation(nodes, devices, None if devices is None else world)
    return start.left(rest)._replace(
        launcher="gantry", nodes=nodes, devices=devices, world_size=world, environment=environment,
        job=start.job._replace(allocation=allocation), options=found.arguments(),
    )  # fmt: skip
