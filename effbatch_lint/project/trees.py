"""Hydra's config trees: a file of a group -> the runs of the tree that include it.

A group's file is no run of its own. It is checked through the primary configs above it: through each as it stands,
through its experiments (files that choose others, or set keys of the whole config), and, where none of these includes
the file, through the choice of the file itself: ``data=large``, or ``+data=large`` where the tree does not know the group.

A run that this tool chooses is one that a person may start, and perhaps nobody does: what Hydra refuses in it is no
fault of the project's, except in an experiment.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint import discovery
from effbatch_lint.compose.marks import is_primary, listed_names, lists_defaults
from effbatch_lint.project.primary import Primary
from effbatch_lint.source import Unreadable, inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.call import Call
    from effbatch_lint.project.candidates import Candidate

# A tree with more files than that is looked through no further; a folder with more is one of plain configs.
MOST_FILES = 5_000
MOST_PRIMARIES = 500
# Experiments that stand on experiments do so a few times over.
MOST_NESTED = 10


class Through(NamedTuple):
    """The runs that include a part, or why there are none: an experiment is refused wherever it is chosen, or a part
    that was named is itself what is refused."""

    runs: list[Candidate]
    refusals: list[Unreadable]


class Trees:
    """The config trees of one call; each run of a tree is composed once, whichever of its files asked for it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._folders: dict[str, _Folder] = {}

    def holds(self, path: str) -> bool:
        """Whether a file lies beside or below a primary config."""
        return next(self._above(path), None) is not None

    def open(self, path: str) -> list[Candidate]:
        """The runs of a primary config that leaves a choice to the command line: one for each option."""
        folder = os.path.dirname(path)
        if folder not in self._folders:
            self._folders[folder] = _Folder(folder, self._call)
        return [run for one in self._folders[folder].primaries if one.path == path for run in one.open()]

    def is_option(self, path: str) -> bool:
        """Whether a file lies in a folder below a primary config, and is none of a program's own."""
        folder = os.path.dirname(path)
        return any(one.folder != folder for one in self._above(path)) and not self._call.code.of(path).programs(folder)

    def through(self, path: str, *, named: bool, whole: bool) -> Through:
        """The runs that include a file of a tree.

        ``named``: the file itself was asked for, so that every run is of interest which it can break; else the runs are
        wanted in which nothing but this file is new. ``whole``: the file is a training config also by itself.
        """
        refusals: list[Unreadable] = []
        for folder in self._above(path):
            found = folder.including(path, named=named, whole=whole)
            if found:
                return Through(found, [])
            if named and not refusals:
                refusals = folder.broken_by(path)
            if not refusals and is_experiment(self._call.files.peek(path) or b""):
                refusals = folder.refusals(path, named=named)
        return Through([], refusals)

    def _above(self, path: str) -> Iterator[_Folder]:
        """The folders above a file that hold other primary configs, the highest first."""
        at = os.path.dirname(path)
        folders = []
        while inside(at, self._call.files.roots):
            folders.append(at)
            at = os.path.dirname(at)
        highest = True
        for at in self._roots(folders) or self._named_roots(path, folders):
            folder = self._folders[at].without(path, experiments=highest)
            if folder.primaries:
                highest = False
                yield folder

    def _named_roots(self, path: str, folders: list[str]) -> list[str]:
        """Above an experiment, the folder of a program whose primary config has no defaults list: ``+experiment=large``."""
        if not is_experiment(self._call.files.peek(path) or b""):
            return []
        for at in folders:
            programs = self._call.code.of(at).programs(at)
            names = dict.fromkeys(f"{os.path.splitext(name)[0]}.yaml" for one in programs for name in one.names)
            paths = [os.path.join(at, name) for name in names]
            found = [Primary(one, self._call) for one in paths if one != path and os.path.isfile(one)]
            if found:
                self._folders[at] = _Folder(at, self._call, found)
                return [at]
        return []

    def _roots(self, folders: list[str]) -> list[str]:
        """Those that hold primary configs, the highest first; below a folder that a program names, only what lies there."""
        for at in folders:
            if at not in self._folders:
                self._folders[at] = _Folder(at, self._call)
        roots = [at for at in folders if self._folders[at].primaries]
        for position, at in enumerate(roots[:-1], 1):
            if self._call.code.of(at).programs(at):
                return roots[position - 1 :: -1]
        return roots[::-1]


class _Folder:
    """The primary configs of one folder: those with a defaults list.

    ``below`` keeps the files in the folders below, once they were asked for, for every view of the folder.
    """

    def __init__(
        self, folder: str, call: Call, primaries: list[Primary] | None = None, below: dict[str, list[str]] | None = None
    ) -> None:
        self.folder = folder
        self._call = call
        self.primaries = list(self._found()) if primaries is None else primaries
        self._below = {} if below is None else below

    def without(self, path: str, *, experiments: bool) -> _Folder:
        """The folder for a file in or below it. Below the tree's own folder, what chooses options is no primary."""
        kept = [
            one
            for one in self.primaries
            if one.path != path and (experiments or not is_experiment(self._data(one.path)))
        ]
        return self if len(kept) == len(self.primaries) else _Folder(self.folder, self._call, kept, self._below)

    def including(self, path: str, *, named: bool, whole: bool) -> list[Candidate]:
        """The runs that include a file; for one that was not named, those in which only it is new."""
        shown = self._call.files.shown(path)
        known = list(self._standing_on(path)) if named else [run for one in self.primaries for run in one.composed]
        found = [run for run in known if shown in run.config.files]
        if found:
            return found if named else []
        data = self._data(path)
        return self._choosing(path) if named or whole or is_experiment(data) or b"effbatch" in data else []

    def broken_by(self, path: str) -> list[Unreadable]:
        """Why a file cannot be a part of any run that includes it: what is wrong stands in the file itself."""
        return [reason for one in self.primaries if (reason := one.broken_by(path)) is not None][:1]

    def refusals(self, path: str, *, named: bool) -> list[Unreadable]:
        """Why Hydra refuses a choice, when every primary refuses it; of a file that was named: and not already as it stands."""
        reasons = [reason for one in self.primaries if (reason := one.refused.get(path)) is not None]
        own = self._call.files.shown(path)
        blamed = [
            reason
            for one, reason in zip(self.primaries, reasons, strict=False)
            if not named or one.stands or reason.span.path == own
        ]
        return blamed[:1] if len(reasons) == len(self.primaries) else []

    def _standing_on(self, path: str) -> Iterator[Candidate]:
        """The primaries as they stand, the experiments, and the options that may list the file among their defaults."""
        own = [run for one in self.primaries for run in one.run(())]
        yield from own
        included = {file for run in own for file in run.config.files}
        # A file that a primary stands on is in every experiment; another one only where something lists it.
        everywhere = self._call.files.shown(path) in included or self._interpolates()
        listing = self._listing(path)
        for option in self._options():
            if self._call.files.shown(option) in included:
                continue
            experiment = is_experiment(self._data(option))
            if option in listing or (experiment and (everywhere or option == path)):
                yield from self._choosing(option)

    def _interpolates(self) -> bool:
        """Whether a choice decides others: ``actor: ${model}_actor``."""
        read = (self._call.files.quietly_parsed(one.path) for one in self.primaries)
        return any("${" in name for document in read if document is not None for name in listed_names(document))

    def _listing(self, path: str) -> set[str]:
        """The options that may have the file among their defaults, or an option that has it among its own."""
        names = {_stem(path)}
        rest = [option for option in self._options() if option != path and lists_defaults(self._data(option))]
        found: set[str] = set()
        for _ in range(MOST_NESTED):
            new = [option for option in rest if self._lists(option, names)]
            if not new:
                break
            found.update(new)
            names.update(map(_stem, new))
            rest = [option for option in rest if option not in found]
        return found

    def _lists(self, option: str, names: set[str]) -> bool:
        """Whether an option may have a config of one of these names among its own defaults."""
        data = self._data(option)
        if b"${" not in data and not any(name.encode() in data for name in names):
            return False
        document = self._call.files.quietly_parsed(option)
        return document is not None and any(one in names or "${" in one for one in listed_names(document))

    def _choosing(self, option: str) -> list[Candidate]:
        """The runs in which an option is chosen: of the primaries that know its group, if any does; of those, the ones
        that a program names, if it names any."""
        asked = [one for one in self.primaries if one.keys(option)] or self.primaries
        if len(asked) > 1:
            programs = self._call.code.of(self.folder).programs(self.folder)
            names = {os.path.splitext(name)[0] for program in programs for name in program.names}
            asked = [one for one in asked if os.path.splitext(os.path.basename(one.path))[0] in names] or asked
        if len(asked) > 1:
            # `longer.yaml`, which lists `train` among its defaults, knows the same groups: they are train's.
            paths = {self._call.files.shown(one.path) for one in asked}
            asked = [one for one in asked if not one.stands_on(paths)] or asked
        return [run for one in asked for run in one.choosing(option)]

    def _options(self) -> list[str]:
        """The files in the folders below."""
        if self.folder not in self._below:
            below = [os.path.abspath(path) for path in discovery.files_below(self.folder) if path.endswith(".yaml")]
            self._below[self.folder] = [path for path in below if os.path.dirname(path) != self.folder][:MOST_FILES]
        return self._below[self.folder]

    def _found(self) -> Iterator[Primary]:
        call = self._call
        names = sorted(name for name in os.listdir(self.folder) if name.endswith((".yaml", ".yml")))
        for name in names if len(names) <= MOST_PRIMARIES else ():
            path = os.path.join(self.folder, name)
            if not os.path.isfile(path):
                continue
            if discovery.excluded(path, call.settings.folder, call.settings.exclude):
                continue
            if lists_defaults(self._data(path)):
                document = call.files.quietly_parsed(path)
                if document is not None and is_primary(document, ()):
                    yield Primary(path, call)

    def _data(self, path: str) -> bytes:
        return self._call.files.peek(path) or b""


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def is_experiment(data: bytes) -> bool:
    """Whether a file of a group says what a whole run is: it sets keys of the whole config, or chooses other options."""
    return b"@package _global_" in data[:512] or (lists_defaults(data) and b"override " in data)
