"""A launch line as part of a run: its flags over the config, and the files that it names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.companions import Companions
from effbatch_lint.compose.config import Config
from effbatch_lint.compose.merge import before, parsed_value
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar
from effbatch_lint.documents.shell.text import written
from effbatch_lint.launchers import tree
from effbatch_lint.launchers.written import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from effbatch_lint.documents.document import Document
    from effbatch_lint.documents.nodes import Node
    from effbatch_lint.files import Files
    from effbatch_lint.launch import Launch
    from effbatch_lint.project.candidates import Candidate


class Launched(NamedTuple):
    """One launch of a script.

    Attributes:
        launch: the launch itself.
        script: the script that was given, which may hold the launch line in another script that it calls.
        project: the files that may be read.
        text: the program and the names of its flags, in which the frameworks' words are looked for.
        missing: configs that the line names and the project does not hold: (section that they fill, name).
        alone: whether the script starts nothing else in the same run.
        again: the run of the same line, of the script followed again with a further word (``env:NNODES=8``); with None,
            of the script as it stands, where what hangs on its number of devices is not known.
        sizes: the devices on which the script may start this line, one way or another, where they are known.
    """

    launch: Launch
    script: Document
    project: Files
    text: str
    missing: tuple[tuple[str, str], ...] = ()
    alone: bool = True
    again: Callable[[str | None], Candidate | None] | None = None
    sizes: frozenset[int] = frozenset()

    @property
    def files(self) -> tuple[str, ...]:
        """The scripts that took part: the given one first."""
        return tuple(dict.fromkeys((self.script.source.path, self.launch.script or self.script.source.path)))

    def over(self, root: Mapping) -> Mapping:
        """The config with the program's flags and ``key=value`` words on top; a dotted name is a path."""
        return laid(root, tree.mapping(self.launch.arguments))

    def find(self, name: str) -> Document | None:
        """The file that the run knows under this name: written by the script, or found from where it runs."""
        launch = self.launch
        return find(written(name), self.project, launch.written, script=self.script.source, directory=launch.directory)


def of(launch: Launch, script: Document, project: Files) -> Launched:
    """The launch with what is looked for in it; its accelerate file finds the files that it names itself."""
    words = [launch.launcher or "", launch.program or ""]
    words += [f"{argument.dashes}{argument.name}" for argument in launch.arguments]
    # A script that the project does not hold starts the program: the words given to it are a part of the program's own.
    unseen = (("", launch.program or "a script"),) if launch.launcher == "bash" else ()
    line = Launched(launch, script, project, " ".join(words), unseen)
    if launch.accelerate is None:
        return line
    file = launch.accelerate
    read = list(file.files)
    companions = Companions(project, os.path.join(project.base, file.path), read, first=line.find)
    config = Config(file.root, file.path, file.dialect, files=read, companion=companions)
    return line._replace(launch=launch._replace(accelerate=config))


def laid(root: Mapping, flags: Mapping) -> Mapping:
    """Flags over a tree: each takes the place of the value at its dotted path, which it remembers."""
    entries, duplicates = dict(root.entries), [*root.duplicates, *flags.duplicates]
    for name, entry in flags.entries.items():
        _lay(entries, name.lstrip("+"), entry)
    return Mapping(lambda: (entries, duplicates), root.span)


def _lay(entries: dict[str, Entry], key: str, flag: Entry) -> None:
    head, dot, tail = key.partition(".")
    old = entries.get(key)
    if old is not None or not dot:
        value = _value(flag.value)
        entries[key] = Entry(key, flag.span, value, (*flag.previous, *before(old)), flag.note)
        return
    section = entries.get(head)
    below = dict(section.value.entries) if section is not None and isinstance(section.value, Mapping) else {}
    _lay(below, tail, flag)
    span = section.value.span if section is not None and isinstance(section.value, Mapping) else None
    entries[head] = Entry(head, None if section is None else section.span, Mapping(below, span))


def _value(node: Node) -> Node:
    """A list or mapping in YAML's flow style taken apart."""
    is_flow = isinstance(node, Scalar) and node.text[:1] in ("[", "{") and node.value is ...
    return parsed_value(node.text) if is_flow and isinstance(node, Scalar) else node
