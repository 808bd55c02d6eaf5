"""A command line on its way to a :class:`Launch`: what the launchers peeled off so far have said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.launch import Allocation, Argument, Launch
from effbatch_lint.launchers import words
from effbatch_lint.launchers.own_configs import own_config
from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.shell.command import Command
    from effbatch_lint.documents.shell.directives import Directives
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.files import Files
    from effbatch_lint.source import Source

_VISIBLE = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK", "HABANA_VISIBLE_MODULES",
)  # fmt: skip


class Job(NamedTuple):
    """Where a command line stands: the project, the file, and what the job was given."""

    files: Files | None
    source: Source
    directives: Directives
    allocation: Allocation | None = None


class Said(NamedTuple):
    """What a manifest says of the processes that it starts, whatever its command makes of it."""

    launcher: str | None = None
    nodes: Term | None = None
    devices: Term | None = None
    world_size: Term | None = None
    processes: Term | None = None

    def start(self, command: Command, job: Job) -> Start:
        """The start of a command under the manifest."""
        return Start(
            command.words, command, job, command.environment, self.launcher, self.world_size, self.nodes, self.devices,
            self.processes,
        )  # fmt: skip


class Start(NamedTuple):
    """A command line and what is known of how it is started.

    Attributes:
        words: what is left of the line: the next launcher or the program, with its arguments.
        command: the line as the script starts it.
        job: where it stands.
        environment: the variables that are set for it.
        launcher: who starts the processes; None so far.
        world_size, nodes, devices, processes: what that launcher said.
        options: that launcher's own flags.
        accelerate: the accelerate file, with the flags on top.
        step: the part of the job's nodes that an ``srun`` above asks for.
        hidden: a word that is not known and stands where options may: nothing that is absent can be trusted then.
    """

    words: tuple[Text, ...]
    command: Command
    job: Job
    environment: Mapping[str, Text]
    launcher: str | None = None
    world_size: Term | None = None
    nodes: Term | None = None
    devices: Term | None = None
    processes: Term | None = None
    options: tuple[Argument, ...] = ()
    accelerate: Config | None = None
    step: Allocation | None = None
    hidden: Text | None = None

    @property
    def name(self) -> str:
        """The next program's name without its folder; empty when it is not known."""
        return self.words[0].display.rpartition("/")[2] if self.words else ""

    def left(self, rest: Sequence[Text]) -> Start:
        """The same start with other words left."""
        return self._replace(words=tuple(rest))

    def default(self, value: int, key: str, why: str | None = None) -> Term:
        """The launcher's default for an option that is absent; unknown when the option may be hidden."""
        if self.hidden is not None:
            where = words.origins(self.hidden, key)
            return unknown(f"{key} may be among {self.hidden.display}: {self.hidden.reason}", *where, key=key)
        return Term(value, "default", (), why, None, key)

    def visible(self) -> Term | None:
        """The number of devices that the environment makes visible, when it lists them."""
        for name in _VISIBLE:
            value = self.environment.get(name)
            if value is None:
                continue
            if not value.known:
                return words.term(value, name)
            if not re.fullmatch(r"\s*[\w:./-]+(\s*,\s*[\w:./-]+)*\s*,?\s*", value.chars):
                continue
            count = len([part for part in value.chars.split(",") if part.strip()])
            return Term(count, "derived", words.origins(value, name), f"{count} devices in {name}", None, name)
        return None

    def variable(self, *names: str) -> Term | None:
        """The number in the first of the variables that is set."""
        for name in names:
            if name in self.environment and self.environment[name].chars:
                return words.term(self.environment[name], name)
        return None

    def launch(self, program: str | None, rest: Sequence[Text], *, launcher: str | None = None) -> Launch:
        """The launch of a program with its arguments."""
        found = words.arguments(rest)
        found = (*own_config(program, found), *found)
        return Launch(
            world_size=(self.world_size or unknown("nothing here states the number of devices")).named("world_size"),
            nodes=self.nodes or unknown("the number of nodes is not stated"),
            devices_per_node=self.devices or unknown("the number of devices per node is not stated"),
            launcher=self.launcher or launcher,
            program=program,
            # accelerate's own flags are settings of the run as well: mixed precision, accumulation, DeepSpeed.
            overrides=words.overrides((*self.options, *found) if self.launcher == "accelerate" else found),
            environment={name: value.display for name, value in self.environment.items()},
            accelerate=self.accelerate,
            processes=self.processes or unknown("the number of processes is not stated"),
            arguments=found,
            options=self.options,
            # Ray's head is started on one node of the cluster that trains.
            allocation=self.job.allocation if self.step is None or self.launcher == "ray" else self.step,
            span=self.command.span,
            script=self.job.source.path,
            conditions=self.command.conditions,
            written=self.command.files,
            directory=self.command.directory,
            unset=tuple(word.display for word in rest if word.unset),
        )
