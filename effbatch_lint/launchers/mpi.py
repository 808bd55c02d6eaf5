"""mpirun and mpiexec: ``-np`` processes, one per accelerator; ``-x NAME=VALUE`` sets the environment.

Source: Open MPI's and Intel MPI's documented options; the slots of the hosts when ``-np`` is absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.launchers import hostfile, words
from effbatch_lint.terms import Term, exact, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.launchers.start import Start

_SWITCHES = frozenset((
    "allow-run-as-root", "tag-output", "oversubscribe", "display-map", "display-allocation", "report-bindings",
    "timestamp-output", "verbose", "v", "quiet", "q", "bind-to-core", "bynode", "byslot", "nolocal", "prefix-output",
    "genvall", "l", "no-oversubscribe", "use-hwthread-cpus", "merge-stderr-to-stdout",
))  # fmt: skip
_TWO = frozenset(("mca", "gmca", "genv", "env"))
_PROCESSES = ("np", "n", "c")
_PER_NODE = ("N", "npernode", "ppn", "map-by-node", "perhost")


def peel(start: Start) -> Start:
    """The program below mpirun."""
    values: dict[str, Text] = {}
    environment = dict(start.environment)
    at = 1
    while at < len(start.words) and start.words[at].chars.startswith("-"):
        name = start.words[at].chars.lstrip("-")
        at += 1
        if name in _TWO:
            equals = start.words[at].chars.find("=") if at < len(start.words) and name not in ("mca", "gmca") else -1
            if equals > 0:  # MVAPICH's spelling: `-env NAME=VALUE`
                environment[start.words[at].chars[:equals]] = start.words[at].slice(equals + 1)
            elif name in ("genv", "env") and at + 1 < len(start.words):
                environment[start.words[at].display] = start.words[at + 1]
            at += 1 if equals > 0 else 2
        elif name == "x" and at < len(start.words):
            word = start.words[at]
            at += 1
            equals = word.chars.find("=")
            if equals > 0:
                environment[word.chars[:equals]] = word.slice(equals + 1)
        elif name not in _SWITCHES and at < len(start.words):
            values[name] = start.words[at]
            at += 1
    hosts = _hosts(start, values)
    per_node = next((words.term(values[name], f"-{name}") for name in _PER_NODE if name in values), None)
    world = next((words.term(values[name], f"-{name}") for name in _PROCESSES if name in values), None)
    nodes = None if hosts is None else hostfile.nodes(hosts)
    allocation = start.job.allocation
    if nodes is None and allocation is not None:
        nodes = allocation.nodes
    if world is None:
        world = _default(start, hosts, nodes, per_node)
    devices = per_node or (None if nodes is None else exact(world, nodes))
    return start.left(start.words[at:])._replace(
        launcher="mpirun", nodes=nodes, devices=devices, world_size=world, processes=world, environment=environment
    )


def _hosts(start: Start, values: dict[str, Text]) -> list[hostfile.Host] | None:
    for name in ("hostfile", "machinefile", "f"):
        if name in values:
            return hostfile.read(start, values[name])
    for name in ("H", "host", "hosts"):
        if name in values:
            return hostfile.listed(values[name], f"-{name}")
    return None


def _default(start: Start, hosts: list[hostfile.Host] | None, nodes: Term | None, per_node: Term | None) -> Term:
    if per_node is not None and nodes is not None:
        return product(nodes, per_node)
    if hosts is not None:
        return hostfile.slots(hosts)
    tasks = start.job.allocation and start.job.allocation.tasks
    return tasks or unknown("mpirun starts a process per slot: -np is not given", key="-np")
