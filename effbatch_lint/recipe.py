"""A recipe: the files of one run, the framework that reads them, and the batch they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.compose.refusal import Note
    from effbatch_lint.findings import Misdeclared
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.launch import Launch
    from effbatch_lint.source import Span
    from effbatch_lint.targets.target import Target
    from effbatch_lint.terms import Term


class Recipe(NamedTuple):
    """One run as described by its files.

    Attributes:
        path: the file that a person would name.
        config: the composed configuration; ``config.files`` are all the files that took part.
        framework: whose arithmetic was used; None for a launch of a program that none is known for.
        launch: how it is started; its world size may be unknown.
        batches: what was read, the main optimizer's first.
        targets: what the effective batch is declared to be, and where.
        name: from the settings, or what tells it from the other runs of its file.
        unknown: declarations in the config that do not exist or do not read, with their places.
        lines: the first and last line of the config's document, in a file of several.
        missing: files that the config names and the project does not hold: (key, name).
        notes: what refuses nothing and should be known of how it was composed.
        remarking: the files whose comments speak of this run.
        runner_up: the framework that comes next by its keys, where the file looks like two.
        other_sizes: the other world sizes for which the same files are checked, each a recipe of its own.
    """

    path: str
    config: Config
    framework: Framework | None
    launch: Launch
    batches: tuple[Batch, ...]
    targets: tuple[Target, ...] = ()
    name: str | None = None
    unknown: tuple[Misdeclared, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()
    remarking: tuple[str, ...] = ()
    runner_up: str | None = None
    lines: tuple[int, int] | None = None
    other_sizes: tuple[Term, ...] = ()

    def holds(self, span: Span) -> bool:
        """Whether a place is a part of this run: in one of its files, and not in another document of the config's own."""
        if span.path != self.config.path or self.lines is None:
            return span.path in self.config.files
        return self.lines[0] <= span.line <= self.lines[1]

    @property
    def reader(self) -> str:
        """Whose arithmetic was used, for a message."""
        return "no framework that is known" if self.framework is None else self.framework.name

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a recipe (an element of ``recipes`` in ``explain --output-format json``)."""
        launch = self.launch
        return {
            "path": self.path,
            "files": list(dict.fromkeys(self.config.files)),
            "name": self.name,
            "framework": self.framework.name if self.framework is not None else None,
            "profile": self.batches[0].profile if self.batches else None,
            "overrides": list(self.config.overrides),
            "launch": None
            if launch.launcher is None
            else {
                "launcher": launch.launcher,
                "program": launch.program,
                "nodes": launch.nodes.value,
                "devices_per_node": launch.devices_per_node.value,
                "world_size": launch.world_size.value,
                "overrides": dict(launch.overrides),
                "environment": dict(launch.environment),
            },
            "batches": [batch.as_dict() for batch in self.batches],
        }
