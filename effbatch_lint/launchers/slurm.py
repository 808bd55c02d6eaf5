"""Slurm: what ``#SBATCH`` lines and ``sbatch`` give a job, and how often ``srun`` starts the program.

Source: slurm doc/man/man1/sbatch.1, srun.1. ``--gpus`` is the job's total, ``--gres`` and ``--gpus-per-node`` count per
node; without ``--ntasks`` there is one task per node; with both, ``--ntasks-per-node`` is only a maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell import directives
from effbatch_lint.launch import Allocation
from effbatch_lint.launchers import words
from effbatch_lint.terms import Term, exact, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.launchers.start import Start


def allocation(options: Mapping[str, Text], *, prefix: str = "#SBATCH ") -> Allocation | None:
    """What the options of ``sbatch`` or ``srun`` state; None when they state none of it."""
    nodes = _count(options, "nodes", prefix)
    tasks = _count(options, "ntasks", prefix)
    per_node = _count(options, "ntasks-per-node", prefix) or _count(options, "mpiprocs", prefix)
    devices = _count(options, "gpus", prefix)
    per_task = _count(options, "gpus-per-task", prefix)
    on_node = directives.devices(options)
    name = "gpus-per-node" if "gpus-per-node" in options else "ngpus" if "ngpus" in options else "gres"
    devices_per_node = None if on_node is None else words.term(on_node, f"{prefix}--{name}")
    if devices_per_node is None and per_task is not None and per_node is not None:
        devices_per_node = product(per_task, per_node)
    if devices_per_node is None and devices is not None and nodes is not None:
        devices_per_node = exact(devices, nodes)
    if devices is None and devices_per_node is not None and nodes is not None:
        devices = product(nodes, devices_per_node)
    if tasks is None and per_node is not None and nodes is not None:
        tasks = product(nodes, per_node)
    found = Allocation(nodes, devices_per_node, devices, tasks, per_node)
    return found if any(found) else None


def _count(options: Mapping[str, Text], name: str, prefix: str) -> Term | None:
    value = options.get(name)
    if value is None:
        return None
    number = directives.count(value)
    key = f"{prefix}--{name}"
    where = words.origins(value, key)
    if number is None:
        why = value.reason if not value.known else "which is no single number"
        if "$" in value.chars and prefix.startswith("#"):
            why = "Slurm expands no variables in its directives"
        return unknown(f"{key} is {value.display}: {why}", *where, key=key)
    return Term(number, "read", where, None, None, key)


def srun(start: Start) -> Start:
    """The program below srun: started once per task."""
    options, rest, hidden = _options(start.words[1:])
    start = start._replace(hidden=start.hidden or hidden)
    job = start.job.allocation
    step = allocation(options, prefix="srun ") or Allocation()
    nodes = step.nodes or (job and job.nodes)
    devices = step.devices_per_node or (job and job.devices_per_node)
    per_node = step.tasks_per_node or (job and job.tasks_per_node)
    tasks = step.tasks
    if tasks is None and step.nodes is None and step.tasks_per_node is None:
        tasks = job and job.tasks
    if tasks is None and nodes is not None:
        tasks = nodes if per_node is None else product(nodes, per_node)
    world = _world(nodes, devices, tasks, per_node)
    if step.nodes is not None and job is not None:
        # A step that names its own nodes is a part of the job: the launcher below must agree with the step.
        start = start._replace(step=_part(job, step))
    return start.left(rest)._replace(
        launcher="srun", nodes=nodes, devices=devices, world_size=world,
        processes=tasks or unknown("the number of tasks is not stated"),
    )  # fmt: skip


def _options(words: tuple[Text, ...]) -> tuple[dict[str, Text], tuple[Text, ...], Text | None]:
    """The options, what is left, and a word of which nothing is known where options may stand (``srun $ARGS -u x``)."""
    options: dict[str, Text] = {}
    hidden: Text | None = None
    while True:
        at = 0
        for name, value, read in directives.slurm_parsed(list(words)):
            options[name] = value
            at = read
        words = words[at:]
        if len(words) < 2 or any(piece.reason is None for piece in words[0].pieces):  # noqa: PLR2004 - it, and a program
            return options, words, hidden
        hidden, words = hidden or words[0], words[1:]


def _part(job: Allocation, step: Allocation) -> Allocation:
    """What a step is given; more nodes than the job has, it is not."""
    nodes = step.nodes
    if nodes is None or (job.nodes is not None and (job.nodes.value or 0) < (nodes.value or 0)):
        return job
    per_node = step.devices_per_node or job.devices_per_node
    return Allocation(nodes, per_node, product(nodes, per_node) if per_node is not None else job.devices)


def _world(nodes: Term | None, devices: Term | None, tasks: Term | None, per_node: Term | None) -> Term | None:
    """The accelerators in the job: one per task, unless a node has one task and several devices."""
    if tasks is None or tasks.value is None:
        return tasks
    if nodes is not None and nodes.value == tasks.value and (per_node is None or per_node.value == 1):
        if devices is not None and devices.value == 1:
            return tasks
        return unknown(
            "srun starts one task per node; how many of its devices the program uses is the program's business",
            *tasks.origins,
            key="world_size",
        )
    return tasks
