"""A launch line of a Hydra program: its config tree, composed with the words of the line.

The primary config is named on the line (``--config-name``), or by the program's own ``@hydra.main(config_path=...,
config_name=...)``, which is read and never run. Source: hydra/main.py and hydra/_internal/utils.py, 1.3 (a relative
``--config-path`` and the decorator's path start from the program's folder; ``--config-dir`` from the working folder).

A program that is not in the project says nothing of its tree. A primary config of the same call is then taken for it,
when it is the only one of that name (where the line names none: the only one, or the only one with the program's name) and
takes every word of the line.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.companions import Companions
from effbatch_lint.compose.config import Unresolved
from effbatch_lint.compose.marks import is_primary, lists_defaults
from effbatch_lint.compose.overrides import Word
from effbatch_lint.compose.programs import programs
from effbatch_lint.compose.runs import Run, jobs
from effbatch_lint.documents.document import kind_of
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar
from effbatch_lint.documents.shell.script import locate
from effbatch_lint.documents.shell.text import written
from effbatch_lint.launchers import tree
from effbatch_lint.project.launched import laid
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from effbatch_lint.compose.code import Code
    from effbatch_lint.compose.config import Config
    from effbatch_lint.compose.refusal import Note
    from effbatch_lint.files import Files
    from effbatch_lint.project.launched import Launched

_MULTIRUN = ("m", "multirun")
_OWN = ("config-name", "cn", "config-path", "cp", "config-dir", "cd", "config_name", "config_path")


class Composed(NamedTuple):
    """A run: its composed config, the texts of its files, and the files that it names and the project does not hold.
    ``swept`` are the values of a multirun's job, ``notes`` what should be known."""

    config: Config
    texts: tuple[str, ...]
    companions: Companions
    swept: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def runs(line: Launched, overrides: Sequence[str], handed: Sequence[str], code: Code) -> list[Composed]:
    """The run of a launch line whose program is Hydra's, or the jobs of its multirun; none when its tree is not in the
    project.

    Raises:
        Unreadable: Hydra would refuse (EB902), or a file cannot be read.
    """
    named = _primary(line)
    if named is not None:
        return _composed(line, *named, overrides, handed, code)
    named = _handed(line, handed)
    if named is None:
        return []
    try:
        return _composed(line, *named, overrides, handed, code)
    except Unreadable:
        return []  # a word that the tree does not take: the program has another one


def _composed(
    line: Launched, folders: list[str], primary: str, overrides: Sequence[str], handed: Sequence[str], code: Code
) -> list[Composed]:
    def companion(opened: list[str]) -> Companions:
        return Companions(line.project, os.path.join(folders[0], primary), opened, handed, line.find)

    on_line = list(_words(line))
    said = {word.text for word in on_line}  # Hydra refuses a choice that stands twice
    words = [*on_line, *(Word(word, anyway=True) for word in overrides if word not in said)]
    run = Run(code, (*folders, *code.search_path), primary, words, companion)
    multirun = any(argument.name in _MULTIRUN and argument.dashes for argument in line.launch.arguments)
    found = []
    for job in jobs(run, multirun=multirun):
        config = job.composition.config
        companions = config.finder
        assert isinstance(companions, Companions)
        found.append(Composed(*_told(config, line), companions, job.swept, job.notes))
    return found


def _told(config: Config, line: Launched) -> tuple[Config, tuple[str, ...]]:
    """The config with the words whose values are not known laid over it, and the texts of its files."""
    read = list(config.files)
    texts = tuple(document.source.text for document in line.project.parsed_of(read))
    config.files[:] = dict.fromkeys((*line.files, *read))
    unknown = [
        argument for argument in line.launch.arguments if argument.reason is not None and "-" not in argument.dashes
    ]
    config = config.over(laid(config.root, tree.mapping(unknown))) if unknown else config
    whole = next(
        (argument for argument in line.launch.arguments if argument.reason is not None and not argument.name), None
    )
    if whole is not None:
        reason = f"{whole.text}, which may set it, is not known: {whole.reason}"
        config = config.over(_doubted(config.root, line.files, reason)).hiding(reason)
    return config, texts


def _doubted(tree: Mapping, scripts: Sequence[str], reason: str) -> Mapping:
    """The tree under a word that is not known and may hold any overrides: only what the line itself sets is sure."""
    entries = {}
    for name, entry in tree.entries.items():
        value = entry.value
        if isinstance(value, Mapping):
            entries[name] = Entry(name, entry.span, _doubted(value, scripts, reason), entry.previous, entry.note)
        elif isinstance(value, Scalar) and (value.span is None or value.span.path not in scripts):
            hidden = Scalar(value.text, value.span, value=Unresolved(reason))
            entries[name] = Entry(name, entry.span, hidden, entry.previous, entry.note)
        else:
            entries[name] = entry
    return Mapping(entries, tree.span)


def _words(line: Launched) -> Iterator[Word]:
    for argument in line.launch.arguments:
        if argument.name and "-" not in argument.dashes and argument.reason is None:
            span = next((origin.span for origin in argument.origins if origin.span is not None), None)
            yield Word(f"{argument.dashes}{argument.name}={argument.text}", span)


def _primary(line: Launched) -> tuple[list[str], str] | None:
    """The search path and the name of the primary config."""
    given = _given(line)
    program = _program(line)
    main = None if program is None else next(programs(line.project, (program,)), None)
    path = given.get("config-path") or given.get("cp") or given.get("config_path")
    name = _name(given)
    if main is not None:
        name = name or next(iter(main.names), None)
        path = path or main.folder
    extra = given.get("config-dir") or given.get("cd")
    folders = [*_folders(line, program, path), *([] if extra is None else _folders(line, None, extra))]
    if name is None or not folders:
        return None
    held = next((folder for folder in folders if os.path.isfile(os.path.join(folder, _yaml(name)))), None)
    return None if held is None else ([held, *(folder for folder in folders if folder != held)], name)


def _given(line: Launched) -> dict[str, str | None]:
    return {argument.name: argument.text for argument in line.launch.arguments if argument.name in _OWN}


def _name(given: dict[str, str | None]) -> str | None:
    return given.get("config-name") or given.get("cn") or given.get("config_name")


def _handed(line: Launched, handed: Sequence[str]) -> tuple[list[str], str] | None:
    """The primary config among the files of the call, for a program that the project does not hold."""
    if _program(line) is not None:
        return None
    name = _name(_given(line))
    if name is not None:
        end = f"{os.sep}{_yaml(name)}"
        found = [path for path in handed if path.endswith(end)]
        return ([found[0].removesuffix(end)], name) if len(found) == 1 else None
    if not line.launch.arguments:
        return None  # nothing says that it is a program of Hydra's
    primaries = [path for path in handed if kind_of(path) == "yaml" and _is_primary(line.project, path)]
    # A file below another primary's folder is one of its groups, though it has defaults of its own.
    folders = tuple({os.path.join(os.path.dirname(path), "") for path in primaries})
    primaries = [path for path in primaries if not any(_below(path, folder) for folder in folders)]
    if len(primaries) > 1:
        stem = os.path.basename(line.launch.program or "").removesuffix(".py").rpartition(".")[2]
        primaries = [path for path in primaries if os.path.splitext(os.path.basename(path))[0] == stem]
    if len(primaries) != 1:
        return None
    folder, name = os.path.split(primaries[0])
    return [folder], name


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder) and os.path.dirname(path) != os.path.dirname(folder)


def _is_primary(files: Files, path: str) -> bool:
    if not lists_defaults(files.quietly(path) or b""):
        return False
    try:
        return is_primary(files.document(path), ())
    except Unreadable:
        return False  # said where the file itself is read


def _yaml(name: str) -> str:
    return name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"


def _folders(line: Launched, program: str | None, path: str | None) -> list[str]:
    """Where a config folder may lie: from the program's folder, from the script's and those above it."""
    starts = [] if program is None else [os.path.dirname(program)]
    folder = os.path.dirname(line.script.source.real)
    while folder not in starts:
        starts.append(folder)
        folder = os.path.dirname(folder)
    joined = (os.path.normpath(os.path.join(start, path or ".")) for start in starts[: None if path else 1])
    roots = tuple(root.rstrip(os.sep) + os.sep for root in line.project.roots)
    return [found for found in joined if f"{found}{os.sep}".startswith(roots) and os.path.isdir(found)]


def _program(line: Launched) -> str | None:
    name = line.launch.program or ""
    file = name if name.endswith(".py") else f"{name.replace('.', '/')}.py"
    found = locate(line.project, written(file), line.script.source.real, line.launch.directory)
    if found is None and os.path.isabs(file):
        # Where a container holds this very project: "/opt/Project/folder/main.py" is its folder/main.py.
        _, _, *parts = file.split("/")
        tails = (written("/".join(parts[at:])) for at in range(len(parts) - 1))
        found = next((path for tail in tails if (path := locate(line.project, tail, line.script.source.real))), None)
    return found
