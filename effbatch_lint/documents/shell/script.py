"""The way in: a script's text -> the commands that it would start."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.shell import directives as scheduler
from effbatch_lint.documents.shell.interpretation import Interpreter
from effbatch_lint.documents.shell.library import follow_functions
from effbatch_lint.documents.shell.state import Array, State
from effbatch_lint.documents.shell.syntax import Code
from effbatch_lint.documents.shell.text import MARK, MAX_CHARACTERS, Text, TooLong, of_source, unknowable, written
from effbatch_lint.source import Source, Span, Unreadable, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from effbatch_lint.documents.shell.command import Command
    from effbatch_lint.documents.shell.directives import Directives
    from effbatch_lint.files import Files

# Set on every machine, to what the machine decides.
_MACHINE = ("HOME", "USER", "LOGNAME", "HOSTNAME", "PWD", "OLDPWD", "PATH", "SHELL", "UID", "EUID", "RANDOM", "SECONDS")


class Script(NamedTuple):
    """What a script does.

    Attributes:
        commands: the programs that it would start, in order; in a run whose conditions are not known, of both ways.
        directives: what it asks its scheduler for.
        files: the files that it writes, by the name that it uses.
        problems: why a part could not be read.
        variables: what its variables hold at the end of a bare run.
    """

    commands: list[Command]
    directives: Directives
    files: Mapping[str, Text]
    problems: list[Unreadable]
    variables: Mapping[str, Text]


def read(
    source: Source,
    files: Files | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] | None = None,
) -> Script:
    """Follow a script.

    Args:
        source: the script.
        files: the project, for what the script sources and reads; None: no file is looked for.
        environment: variables that are given; every other variable that the script does not set is unknown.
        arguments: the script's arguments; None when nobody said.
    """
    given = {name: written(value, note=f"--set {name}={value}") for name, value in (environment or {}).items()}
    words = None if arguments is None else [written(value, note=f"argument {value}") for value in arguments]
    return follow(of_source(source), source, files, environment=given, arguments=words)


def follow(
    text: Text,
    source: Source,
    files: Files | None = None,
    *,
    environment: Mapping[str, Text],
    arguments: list[Text] | None = None,
    written_files: Mapping[str, Text] | None = None,
    directory: Text | None = None,
    directives: Directives | None = None,
) -> Script:
    """Follow script text that may come from anywhere: a file, a ``bash -c`` string, a here-document, a manifest.

    ``source`` is the file that it belongs to; ``directives`` are those of the job that it runs in, if any.
    """
    # Inside a job the lines of another script are comments.
    asked = directives if directives is not None and directives.scheduler is not None else scheduler.read(text)
    reader = _Reader(files, source)
    interpreter = Interpreter(reader, source.path)
    state = State(source.real, interpreter.substitute)
    for name in _MACHINE:
        state.variables[name] = unknowable(f"${name}", f"{name} is the machine's", filled=True)
    state.variables["BASH_SOURCE"] = Array({"0": written(source.real)})
    state.variables.update(scheduler.variables(asked))
    state.files.update(scheduler.files(asked))
    state.variables.update(environment)
    state.exported.update(environment)
    state.files.update(written_files or {})
    state.arguments = arguments
    state.directory = directory
    problems: list[Unreadable] = []
    states = [state]
    try:
        states = interpreter.run(text, state)
        if not interpreter.commands and states[0].functions:
            follow_functions(interpreter, states[0])
    except Unreadable as error:
        problems.append(error)
    except RecursionError:
        problems.append(Unreadable(source.span(), "the script nests deeper than the limit"))
    except TooLong:
        problems.append(Unreadable(source.span(), f"a text of more than the limit of {MAX_CHARACTERS:,} characters"))
    if not problems and not interpreter.commands:
        problems.extend(errors(text, source))
    found = dict(written_files or {})
    for each in states:
        found.update(each.files)
    variables = {name: value for name, value in states[0].variables.items() if isinstance(value, Text)}
    return Script(interpreter.commands, asked, found, problems, variables)


def errors(text: Text, source: Source) -> list[Unreadable]:
    """The first place that is no valid bash; none in a script of another shell, which need not be."""
    if re.match(r"#![^\n]*\b(?:zsh|fish|t?csh)\b", text.chars):
        return []
    code = Code(text)
    for node in code.errors():
        place = text.place(code.start(node)) or source.span()
        snippet = code.slice(node).display.strip().split("\n")[0][:40]
        return [
            Unreadable(place, f"no valid bash: {snippet!r}" if snippet else "no valid bash: something is missing here")
        ]
    return []


class _Reader:
    """Finds the files that a script names."""

    def __init__(self, files: Files | None, source: Source) -> None:
        self.files = files
        self.source = source

    def __call__(self, name: Text, state: State) -> Text | None:
        own = state.files.get(name.display) or state.files.get(name.display.removeprefix("./"))
        if own is not None:
            return own
        path = None if self.files is None else locate(self.files, name, self.source.real, state.directory)
        if path is None or self.files is None:
            return None
        shown = self.files.shown(path)
        try:
            return of_source(Source(shown, path, decode(self.files.content(path), shown)))
        except Unreadable:
            return None


def locate(files: Files, name: Text, script: str, directory: Text | None = None) -> str | None:
    """The file of the project that a script names, or None.

    The folder in which a script is started stands in no file: the name is tried from the working folder, when the
    script has gone to one, from the script's own folder and every folder above it (a name may begin with folders that
    lead back into the project), and from the project's root.
    """
    tail = name.slice(name.chars.rfind(MARK) + 1)
    text = tail.chars
    if not text or "\0" in text or len(text) > 1_000 or (not tail.known and not text):  # noqa: PLR2004 - longer than any path
        return None
    if tail is not name:
        # "$ROOT/conf/ds.json": what follows the unknown part is looked for.
        if not text.startswith("/") or not text.strip("/"):
            return None
        text = text.strip("/")
    if os.path.isabs(text):
        return _file(files, text)
    folders = [] if directory is None or not directory.known else [directory.chars]
    folder = os.path.dirname(script)
    while True:
        folders.append(folder)
        above = os.path.dirname(folder)
        if folder == above:
            break
        folder = above
    for base in (*folders, files.root):
        found = _file(files, os.path.join(base, text))
        if found is not None:
            return found
    return None


def _within(files: Files, folder: str) -> bool:
    real = os.path.realpath(folder)
    return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in files.roots)


def _file(files: Files, path: str) -> str | None:
    path = os.path.normpath(path)
    # Most names are none of a file: where a link leads is asked for those that are.
    return path if os.path.isfile(path) and _within(files, path) else None


def nowhere() -> Span:
    """A place for text that stands in no file."""
    return Span("<script>", 1, 1, 1, 1)
