"""What starts a run: how many devices, which program, with which words.

A :class:`Launch` comes from a launch script, a manifest, an accelerate file or the command line of this tool; a
framework reads its world size and never asks which of them it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from effbatch_lint.compose.config import Config

NO_WORLD_SIZE = "the world size is set by the launcher, and no launcher is given"


class Launch(NamedTuple):
    """One start of one program.

    Attributes:
        world_size: accelerators in the job (processes, one per accelerator).
        nodes: machines.
        devices_per_node: accelerators on each machine.
        launcher: ``torchrun``, ``accelerate``, ...; None without a launch line.
        program: the script or module that is started.
        overrides: the program's flags and ``key=value`` words; flag names without dashes, a bare flag is True.
        environment: variables set for the program.
        accelerate: the accelerate file that the launcher reads, which states the layout for the program.
    """

    world_size: Term
    nodes: Term = unknown("the number of nodes is not stated")
    devices_per_node: Term = unknown("the number of devices per node is not stated")
    launcher: str | None = None
    program: str | None = None
    overrides: Mapping[str, str | bool] = {}
    environment: Mapping[str, str] = {}
    accelerate: Config | None = None

    @classmethod
    def nothing(cls) -> Launch:
        """No launch line at all: the world size is unknown, and never 1."""
        return cls(unknown(NO_WORLD_SIZE, key="world_size"))
