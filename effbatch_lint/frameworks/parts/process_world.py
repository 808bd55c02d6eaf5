"""The world size of a program that drives one device in each process: as many devices as processes.

Upstream: huggingface/pytorch-image-models, timm/utils/distributed.py (world_info_from_env); mlfoundations/open_clip,
src/open_clip_train/distributed.py, which has the same rule: the launcher's number of processes, and without any a process
trains alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.terms import Origin, Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.launch import Launch

_WORLD = "WORLD_SIZE"


def process_world(launch: Launch) -> Term:
    """The processes that train together; unknown without a launch line, and where the line leaves their number open."""
    if launch.world_size.known or not launch.processes.known:
        return launch.world_size
    if launch.launcher == "python":
        return _alone(launch)
    return launch.processes.named("world_size")


def _alone(launch: Launch) -> Term:
    """A process that no launcher starts, unless the script tells it of others."""
    stated = launch.environment.get(_WORLD)
    if stated is not None:
        origin = Origin(None, _WORLD, "the environment of the launch line")
        if stated.isdecimal() and len(stated) < 10:  # noqa: PLR2004 - no job has that many processes
            return Term(int(stated), "read", (origin,), None, None, _WORLD)
        return unknown(f"{_WORLD} is {stated}, which is no whole number", origin, key=_WORLD)
    tasks = None if launch.allocation is None else launch.allocation.tasks
    if tasks is not None and tasks.value != 1:
        reason = (
            f"the job has {shown(tasks.value)} tasks, for which the program waits, and the line starts one process: "
            "srun would start them all"
        )
        return unknown(reason, *tasks.origins, key="world_size")
    return Term(1, "derived", (), "one process, started without a launcher", None, "world_size")
