"""The search path: config paths -> files, the first folder that has one wins.

A config path ``a/b`` is the file ``a/b.yaml``, a group is a folder. Hydra's own
groups (``hydra/launcher``, ``hydra/job_logging``, ...) and their plugins are never looked for: an option of theirs
that the search path does not hold is an empty config.

Source: hydra/_internal/config_repository.py (1.3).
"""

from __future__ import annotations

import os
from collections.abc import Mapping as AbstractMapping
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.config_file import EMPTY, Loaded, Reader, outside
from effbatch_lint.compose.defaults import Item
from effbatch_lint.source import Unreadable, inside

if TYPE_CHECKING:
    from effbatch_lint.source import Span

# hydra/conf: these stand before every folder of the project, whose files of the same names are never read.
_HYDRAS_OWN = {
    "hydra/env": ("default",),
    "hydra/help": ("default",),
    "hydra/hydra_help": ("default",),
    "hydra/hydra_logging": ("default", "disabled", "hydra_debug", "none"),
    "hydra/job_logging": ("default", "disabled", "none", "stdout"),
    "hydra/output": ("default",),
    "hydra/launcher": ("basic",),
    "hydra/sweeper": ("basic",),
}
# hydra/conf/__init__.py, HydraConf.defaults.
_HYDRA_CONFIG = (
    ("output", "default"), ("launcher", "basic"), ("sweeper", "basic"), ("help", "default"), ("hydra_help", "default"),
    ("hydra_logging", "default"), ("job_logging", "default"), ("callbacks", None), ("env", "default"),
)  # fmt: skip


class Store(NamedTuple):
    """The nodes that the program's Python code puts beside the files (Hydra's ConfigStore), as far as they are known.

    ``more`` says why there may be others; None when there are none.
    """

    nodes: AbstractMapping[str, Loaded] = {}
    more: str | None = None

    def is_group(self, name: str) -> bool:
        """Whether a node lies in the group."""
        return any(path.startswith(f"{name}/") for path in self.nodes)


class Repository:
    """The configs below the folders of the search path."""

    def __init__(
        self,
        reader: Reader,
        folders: tuple[str, ...],
        *,
        store: Store | None = None,
        legacy: bool = False,
    ) -> None:
        self.reader = reader
        self.roots = reader.files.roots
        self.folders = tuple(os.path.realpath(folder) for folder in folders)
        self.legacy = legacy
        self.hidden: list[str] = []
        self._store = store or Store()
        self._loaded: dict[str, Loaded | None] = {}

    def extended(self, folders: tuple[str, ...]) -> Repository:
        """The same with more folders; the primary stays the one that was found without them."""
        repository = Repository(self.reader, folders, store=self._store, legacy=self.legacy)
        repository.hidden = self.hidden
        repository._loaded = {path: loaded for path, loaded in self._loaded.items() if loaded is not None}
        return repository

    def load(self, config_path: str, span: Span | None = None) -> Loaded | None:
        """The config at a path; None when there is none.

        Raises:
            Unreadable: the file lies outside the project, cannot be parsed, or Hydra refuses it (EB902).
        """
        if config_path not in self._loaded:
            self._loaded[config_path] = self._load(config_path, span)
        return self._loaded[config_path]

    def place_of(self, config_path: str) -> Span | None:
        """The beginning of a config, when it can be read."""
        try:
            loaded = self.load(config_path)
        except Unreadable:
            return None
        return None if loaded is None else loaded.span

    def is_group(self, name: str) -> bool:
        """Whether an override of ``name`` is a choice of an option and not a value."""
        if name == "hydra" or name.startswith("hydra/"):
            return True
        if any(os.path.isdir(os.path.join(folder, name)) for folder in self.folders):
            return True
        return self._store.is_group(name)

    def options(self, group: str) -> list[str]:
        """The names of a group's options, sorted."""
        found = set(_HYDRAS_OWN.get(group, ()))
        found.update(path.rpartition("/")[2] for path in self._store.nodes if path.rpartition("/")[0] == group)
        for folder in self.folders:
            path = os.path.realpath(os.path.join(folder, group))
            names = os.listdir(path) if os.path.isdir(path) and inside(path, self.roots) else []
            found.update(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))
        return sorted(found)

    # -- files -----------------------------------------------------------------------------------------------------

    def _load(self, config_path: str, span: Span | None) -> Loaded | None:
        group, _, name = config_path.rpartition("/")
        if name not in _HYDRAS_OWN.get(group, ()):
            endings = (".yaml", ".yml") if self.legacy else (".yaml",)
            file = config_path if config_path.endswith(endings) else f"{config_path}.yaml"
            for folder in self.folders:
                path = os.path.normpath(os.path.join(folder, file))
                if not inside(path, self.roots):
                    raise outside(config_path, span)
                if os.path.isfile(path):
                    loaded = self.reader.read(path, config_path, span, legacy=self.legacy)
                    return loaded._replace(schema=self._store.nodes.get(config_path.removesuffix(".yaml")))
        if config_path == "hydra/config":
            return Loaded(None, EMPTY, tuple(Item(group=group, name=name) for group, name in _HYDRA_CONFIG))
        if group == "hydra" or group.startswith("hydra/"):
            return Loaded(None, EMPTY)
        found = self._store.nodes.get(config_path.removesuffix(".yaml"))
        if found is not None:
            return found
        why = f"it may come from {', '.join(self.hidden)}, which is not read" if self.hidden else self._store.more
        return None if why is None else Loaded(None, EMPTY, unknown=f"there is no file {config_path}.yaml; {why}")
