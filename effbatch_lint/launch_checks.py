"""What a launch and the config that it starts say of each other: world sizes that differ, divisions that lost something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.terms import Origin, Term, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.launch import Launch

# Launchers whose processes are the devices that train. Ray's cluster also generates and judges.
_PROCESSES = frozenset(("torchrun", "accelerate", "deepspeed", "composer", "srun", "mpirun", "mpiexec"))


def checked(batch: Batch, launch: Launch, declared: Term | None, *, alone: bool) -> Batch:
    """The batch with what the launch adds to its problems.

    Args:
        batch: the main batch of the run.
        launch: as the script starts it, whatever world size the call asks for.
        declared: a world size that is declared for this tool and contradicts the launch.
        alone: whether the script starts nothing else that could take a part of the job's devices.
    """
    found = (
        *_declared(launch, declared),
        *_allocated(launch, alone=alone),
        *_one_of_many(launch),
        *_cut_off(launch),
        *_truncated(batch),
    )
    return batch._replace(problems=(*batch.problems, *found)) if found else batch


def _declared(launch: Launch, declared: Term | None) -> Iterator[Problem]:
    launched = launch.world_size
    if declared is None:
        return
    yield Problem(
        "EB203",
        f"world-size {shown(declared.value)} is declared, and {launch.launcher or 'the script'} starts "
        f"{shown(launched.value)}",
        (declared, launched),
        help=f"declare world-size={launched.value}, or start {shown(declared.value)}",
    )


def _allocated(launch: Launch, *, alone: bool) -> Iterator[Problem]:
    """More than the scheduler gives cannot start; fewer nodes than it gives are a number that was left behind."""
    given = launch.allocation
    if given is None or launch.launcher not in _PROCESSES or _drives(launch):
        return
    nodes = given.nodes
    if nodes is not None and nodes.known and launch.nodes.known and nodes.value != launch.nodes.value:
        assert nodes.value is not None
        assert launch.nodes.value is not None
        if alone or launch.nodes.value > nodes.value:
            yield _conflict(launch, nodes, launch.nodes, "nodes")
            return
    per_node = given.devices_per_node
    devices = given.devices or (product(nodes, per_node) if nodes is not None and per_node is not None else None)
    world = launch.world_size
    if devices is not None and devices.value and world.value and world.value > devices.value:
        yield _conflict(launch, devices, world, "devices")


def _drives(launch: Launch) -> bool:
    """One process under srun, on one of the job's nodes: it drives workers that other steps start (``ray start``)."""
    return launch.launcher == "srun" and launch.processes.value == 1


def _one_of_many(launch: Launch) -> Iterator[Problem]:
    """``accelerate launch --multi_gpu --num_processes 1``: the flags are compared before any file is read."""
    if launch.launcher != "accelerate":
        return
    flags = {option.name.replace("-", "_"): option for option in launch.options}
    number = flags.get("num_processes")
    if "multi_gpu" in flags and number is not None and number.text == "1" and number.note is None:
        yield Problem(
            "EB304",
            "--multi_gpu wants at least 2 processes, and --num_processes is 1",
            (Term(1, "read", number.origins, key="--num_processes"),),
            refuses=True,
            help="leave --multi_gpu out for one process",
        )


def _cut_off(launch: Launch) -> Iterator[Problem]:
    """A line that does not go on where its author thinks so: what follows is another command, which bash does not find."""
    flag = launch.cut_off
    if flag is None:
        return
    name = flag.display
    where = tuple(Origin(span, name) for span in flag.spans)
    yield Problem(
        "EB305",
        f"{name} is no part of the command: the line before it does not end in a backslash",
        (unknown("it is another command", *where, key=name),),
        help="end that line in a backslash, with no comment and no blank behind it",
    )


def _conflict(launch: Launch, given: Term, started: Term, what: str) -> Problem:
    return Problem(
        "EB203",
        f"the job is given {shown(given.value)} {what}, and {launch.launcher} starts on {shown(started.value)}",
        (started, given),
        help=f"let both say the same number of {what}",
    )


def _truncated(batch: Batch) -> Iterator[Problem]:
    """Whole-number division in the script drops the remainder: the batch is not what was divided."""
    for term in (batch.accumulation, batch.micro, batch.declared):
        if term is None or term.value is None:
            continue
        lost = next((o.note for o in term.origins if o.note is not None and "the remainder" in o.note), None)
        if lost is not None:
            yield Problem(
                "EB303",
                f"{term.key or 'the number'} {shown(term.value)} comes from a division that is not whole: {lost}"
                f"{_missed(batch)}",
                (term,),
                help="choose numbers that divide, or declare the batch that runs",
            )
            return


def _missed(batch: Batch) -> str:
    """What became of the declared batch."""
    total, effective = batch.declared, batch.effective
    if total is None or total.value is None or effective.value is None or total.value == effective.value:
        return ""
    return f"; the batch is {shown(effective.value)} {batch.unit}, not {shown(total.value)} ({total.key})"
