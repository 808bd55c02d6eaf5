"""What the project's Python code says to Hydra and OmegaConf: programs, resolvers, stored nodes.

The code is read and never run, and only when a tree needs it: a program is looked for near its configs; the whole
project is searched when a resolver is not OmegaConf's own, or when a composition is refused without stored nodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from effbatch_lint.source import inside

if TYPE_CHECKING:
    from collections.abc import Callable

    from effbatch_lint.compose.config_file import Reader
    from effbatch_lint.compose.programs import Program
    from effbatch_lint.compose.repository import Store
    from effbatch_lint.compose.resolvers import Operation
    from effbatch_lint.files import Files

# More than any folder of code holds; a folder of data may hold millions.
MAX_ENTRIES = 2000
# Resolvers of Hydra's own and of old OmegaConf: nothing of the project stands behind them.
_BUILT_IN = ("env", "hydra", "now")


class Code:
    """The Python code of one project.

    Args:
        files: reads it, each file once.
        list_python: the paths of all Python files below a folder, as git knows them; called once, if at all.
        resolvers: operations that the settings give to resolvers, by name.
        search_path: folders in which configs are found as well, after a program's own.
        root: the project's folder; the first that may be read when none is named.
    """

    def __init__(
        self,
        files: Files,
        list_python: Callable[[str], list[str]],
        resolvers: Mapping[str, str] | None = None,
        search_path: tuple[str, ...] = (),
        root: str | None = None,
    ) -> None:
        self.files = files
        self.operations: Mapping[str, Operation] = _Operations(self)
        self.search_path = search_path
        self.resolvers = resolvers or {}
        self._list_python = list_python
        self._root = root or files.root
        self._of: dict[str, Code] = {self._root: self}
        self._paths: list[str] | None = None
        self._reader: Reader | None = None
        self._store: Store | None = None
        self._programs: dict[str, list[Program]] = {}

    def of(self, path: str) -> Code:
        """The code of the project that a file lies in, where several projects are read."""
        root = max((root for root in self.files.roots if inside(path, (root,))), key=len, default=self._root)
        if root not in self._of:
            self._of[root] = Code(self.files, self._list_python, self.resolvers, self.search_path, root)
        return self._of[root]

    @property
    def reader(self) -> Reader:
        """Looks at each config file once for all compositions of the call."""
        if self._reader is None:
            from effbatch_lint.compose.config_file import Reader  # noqa: PLC0415 - few calls compose

            self._reader = Reader(self.files)
        return self._reader

    @property
    def store(self) -> Store:
        """The nodes that any code of the project puts into the ConfigStore."""
        if self._store is None:
            from effbatch_lint.compose.config_store import stored  # noqa: PLC0415 - few projects store nodes

            self._store = stored(self.files, self.paths)
        return self._store

    @property
    def paths(self) -> list[str]:
        """The project's Python files."""
        if self._paths is None:
            self._paths = self._list_python(self._root)
        return self._paths

    def programs(self, folder: str) -> list[Program]:
        """The programs whose config folder this is, among the Python files beside the folder and those above it."""
        if folder not in self._programs:
            from effbatch_lint.compose.programs import programs  # noqa: PLC0415 - few calls compose

            found = programs(self.files, _near(folder, self.files.roots))
            self._programs[folder] = [program for program in found if program.folder == folder]
        return self._programs[folder]

    def legacy(self, folder: str, name: str) -> bool:
        """Whether a program composes this primary config by the rules of Hydra 1.1."""
        of_name = [p for p in self.programs(folder) if any(_bare(one) == _bare(name) for one in p.names)]
        return any(program.legacy for program in of_name or self.programs(folder))


def _bare(name: str) -> str:
    return name.removesuffix(".yaml").removesuffix(".yml")


def _near(folder: str, roots: tuple[str, ...]) -> Iterator[str]:
    """The Python files beside the folder, in the folders next to it (``../conf``), and in each folder above it."""
    at = os.path.dirname(folder) if inside(os.path.dirname(folder), roots) else folder
    places = [folder, *(entry.path for entry in _entries(at) if entry.is_dir(follow_symlinks=False))]
    while inside(at, roots):
        places.append(at)
        at = os.path.dirname(at)
    for place in dict.fromkeys(places):
        yield from (entry.path for entry in _entries(place) if entry.name.endswith(".py"))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What a folder holds, by name; a folder of data, which holds more than code does, is not looked through."""
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, MAX_ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []


class _Operations(Mapping[str, "Operation"]):
    """The resolvers by name; for one that is neither OmegaConf's nor Hydra's, the project's registrations are read."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._all: Mapping[str, Operation] | None = None

    def __getitem__(self, name: str) -> Operation:
        if name.startswith("oc.") or name in _BUILT_IN:
            raise KeyError(name)
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def _known(self) -> Mapping[str, Operation]:
        if self._all is None:
            from effbatch_lint.compose.user_resolvers import registered  # noqa: PLC0415 - few projects have their own

            self._all = registered(self._code.files, self._code.paths, self._code.resolvers)
        return self._all
