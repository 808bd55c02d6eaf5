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
    from effbatch_lint.documents.shell.state import Condition
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.source import Span
    from effbatch_lint.terms import Origin

NO_WORLD_SIZE = "the world size is set by the launcher, and no launcher is given"


class Argument(NamedTuple):
    """A word (or a flag with its value) of a command line.

    Attributes:
        name: the flag without its dashes, the key of a ``key=value`` word; empty for a positional word.
        text: the value as the shell hands it over (several values with blanks between them); None for a bare flag.
        dashes: what stands before the name: ``--``, ``-``, Hydra's ``+``, or nothing.
        origins: the places that wrote the value (of a bare flag: the flag).
        reason: why the value cannot be known; ``text`` is then what stands in the script.
        note: how the value came about ("the default in ${N:-8}").
        word: the value with the places of its characters, to look up a file that it names.
    """

    name: str
    text: str | None
    dashes: str = ""
    origins: tuple[Origin, ...] = ()
    reason: str | None = None
    note: str | None = None
    word: Text | None = None


class Allocation(NamedTuple):
    """What a scheduler or a manifest gives a job, whatever the launcher inside makes of it; a Term per quantity that
    is stated.

    Attributes:
        nodes: machines.
        devices_per_node: accelerators on each.
        devices: accelerators in the whole job, where the total is what is stated.
        tasks: how often the scheduler starts the program in all.
        tasks_per_node: how often on each machine.
    """

    nodes: Term | None = None
    devices_per_node: Term | None = None
    devices: Term | None = None
    tasks: Term | None = None
    tasks_per_node: Term | None = None


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
        accelerate: the accelerate file that the launcher reads, which states the layout for the program, with the
            launcher's flags on top.
        settings: the program's own configuration, composed with its words, where no framework reads it.
        processes: how many processes the launcher starts; differs from the world size where one process drives
            several accelerators.
        arguments: the program's words, with their places.
        options: the launcher's own flags, with their places.
        allocation: what the scheduler or the manifest gives the job.
        span: where the launch line begins.
        script: the file that holds it.
        conditions: what must hold for the line to run, and cannot be decided here.
        written: files that the script writes before it, by the name that it uses.
        directory: the folder in which it runs, when the script goes to one.
        numbers: the script's variables that hold a whole number at its end (``GLOBAL_BATCH_SIZE=1024``), by name.
        cut_off: what follows the line as a command of its own, and begins with a flag: a continuation is missing.
        unset: words of the program's line that are variables nobody gave, and may hold any flags (``${EXTRA_ARGS[@]}``).
    """

    world_size: Term
    nodes: Term = unknown("the number of nodes is not stated")
    devices_per_node: Term = unknown("the number of devices per node is not stated")
    launcher: str | None = None
    program: str | None = None
    overrides: Mapping[str, str | bool] = {}
    environment: Mapping[str, str] = {}
    accelerate: Config | None = None
    settings: Config | None = None
    processes: Term = unknown("the number of processes is not stated")
    arguments: tuple[Argument, ...] = ()
    options: tuple[Argument, ...] = ()
    allocation: Allocation | None = None
    span: Span | None = None
    script: str | None = None
    conditions: tuple[Condition, ...] = ()
    written: Mapping[str, Text] = {}
    directory: Text | None = None
    numbers: Mapping[str, Term] = {}
    unset: tuple[str, ...] = ()
    cut_off: Text | None = None

    @property
    def bare(self) -> bool:
        """Whether a run without arguments and variables that nobody gave would start this line."""
        return all(condition.bare is not False for condition in self.conditions)

    @classmethod
    def nothing(cls) -> Launch:
        """No launch line at all: the world size is unknown, and never 1."""
        return cls(unknown(NO_WORLD_SIZE, key="world_size"))
