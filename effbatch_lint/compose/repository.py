"""The search path: config paths -> files, the first folder that has one wins.

A config path ``a/b`` is the file ``a/b.yaml``, a group is a folder. Files are read through
:class:`~effbatch_lint.files.Files`, which parses each once and refuses what lies outside the project. Hydra's own
groups (``hydra/launcher``, ``hydra/job_logging``, ...) and their plugins are never looked for: an option of theirs
that the search path does not hold is an empty config.

Sources: hydra/_internal/config_repository.py, hydra/plugins/config_source.py,
hydra/_internal/core_plugins/file_config_source.py (1.3).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping as AbstractMapping
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose import references
from effbatch_lint.compose.defaults import Item, items
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import resolve
from effbatch_lint.source import Unreadable, inside

if TYPE_CHECKING:
    from effbatch_lint.documents.document import Document
    from effbatch_lint.files import Files
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
_WORD = r"[a-zA-Z_]\w*"
_ARGUMENT = r"[\w/.+$%*@?|-]+"
_SIMPLE = rf"(?a:\$\{{(?:\.*[$\w]+(?:\.[$\w]+)*|{_WORD}(?:\.{_WORD})*:[ \t]*{_ARGUMENT}(?:[ \t]*,[ \t]*{_ARGUMENT})*[ \t]*)\}})"


class Loaded(NamedTuple):
    """A config of the search path.

    Attributes:
        path: the file as a person sees it; None for a config of Hydra's own and for a node that only the program knows.
        root: its tree without the defaults list.
        items: its defaults list.
        header: the package of its ``# @package`` line, from the root; None without one.
        unknown: why it may hold more than is seen; None for a file.
        schema: the ConfigStore's node of the same name, which a file is merged onto.
    """

    path: str | None
    root: Node
    items: tuple[Item, ...] = ()
    header: str | None = None
    unknown: str | None = None
    span: Span | None = None
    schema: Loaded | None = None


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
        files: Files,
        folders: tuple[str, ...],
        *,
        store: Store | None = None,
        legacy: bool = False,
    ) -> None:
        self.files = files
        self.folders = tuple(os.path.realpath(folder) for folder in folders)
        self.legacy = legacy
        self.hidden: list[str] = []
        self._store = store or Store()
        self._loaded: dict[str, Loaded | None] = {}
        self._real_folders: dict[str, str] = {}

    def extended(self, folders: tuple[str, ...]) -> Repository:
        """The same with more folders; the primary stays the one that was found without them."""
        repository = Repository(self.files, folders, store=self._store, legacy=self.legacy)
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
            names = os.listdir(path) if os.path.isdir(path) and inside(path, self.files.roots) else []
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
                if not inside(path, self.files.roots):
                    raise _outside(config_path, span)
                if os.path.isfile(path):
                    loaded = self._read(path, config_path, span)
                    return loaded._replace(schema=self._store.nodes.get(config_path.removesuffix(".yaml")))
        if config_path == "hydra/config":
            return Loaded(None, _EMPTY, tuple(Item(group=group, name=name) for group, name in _HYDRA_CONFIG))
        if group == "hydra" or group.startswith("hydra/"):
            return Loaded(None, _EMPTY)
        found = self._store.nodes.get(config_path.removesuffix(".yaml"))
        if found is not None:
            return found
        why = f"it may come from {', '.join(self.hidden)}, which is not read" if self.hidden else self._store.more
        return None if why is None else Loaded(None, _EMPTY, unknown=f"there is no file {config_path}.yaml; {why}")

    def _real(self, path: str) -> str:
        """The path without links; a folder is resolved once for all its files."""
        if os.path.islink(path):
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self._real_folders[folder], name)

    def _read(self, path: str, config_path: str, span: Span | None) -> Loaded:
        if not inside(self._real(path), self.files.roots):
            raise _outside(config_path, span)
        document = self.files.document(path)
        start = document.source.span()
        if document.repeated:
            key, place = document.repeated[0]
            raise refusal(place, f"the key {key} stands twice in one mapping, which OmegaConf refuses")
        if len(document.roots) > 1:
            raise refusal(document.roots[1].span or start, "the file holds several YAML documents, and Hydra reads one")
        root = _tree(document)
        _check_interpolations(document, root)
        header = _header(document, legacy=self.legacy)
        if not isinstance(root, Mapping):
            return Loaded(document.source.path, root, (), header, span=start)
        defaults = root.entries.get("defaults")
        if defaults is None:
            return Loaded(document.source.path, root, (), header, span=start)
        rest = Mapping({key: entry for key, entry in root.entries.items() if key != "defaults"}, root.span)
        listed = tuple(items(defaults.value, config_path, legacy=self.legacy))
        return Loaded(document.source.path, rest, listed, header, span=start)


_EMPTY = Mapping({}, None)


def _tree(document: Document) -> Node:
    """The root as OmegaConf takes it: nothing is an empty mapping, a text is a key without a value."""
    root = document.roots[0] if document.roots else _EMPTY
    if not isinstance(root, Scalar):
        return root
    value = resolve(root, "omegaconf")
    if value is None:
        return _EMPTY
    if not isinstance(value, str):
        raise refusal(root.span, f"the file holds {value!r}, which is neither a mapping nor a list")
    return Mapping({value: Entry(value, root.span, Scalar("null", root.span))}, root.span)


def _header(document: Document, *, legacy: bool) -> str | None:
    """``# @package x`` in the lines before anything else; the package is from the root whether it says so or not."""
    package: str | None = None
    for number, line in enumerate(document.source.text[:512].splitlines(), 1):
        text = line.strip()
        if not text:
            continue
        if not re.match(r"#\s*@", text):
            break
        words = text.lstrip("#").split()
        if len(words) != 2:  # noqa: PLR2004 - the key and its value
            raise refusal(document.source.span(number), f"Expected header format: @package NAME, got '{text}'")
        if words[0] == "@package":
            package = words[1]
    if package is None or (legacy and package == "_group_"):
        return None
    if package == "_global_" or package.startswith("_global_."):
        return package
    return f"_global_.{package}"


def _check_interpolations(document: Document, root: Node) -> None:
    """OmegaConf refuses a file in which one interpolation cannot be parsed; nearly all are simple and need no walk."""
    text = document.source.text
    if text.count("${") == len(re.findall(_SIMPLE, text)):
        return
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(entry.value for entry in node.entries.values())
        elif isinstance(node, Sequence):
            stack.extend(node.items)
        elif "${" in node.text:
            try:
                references.parse(node.text)
            except ValueError as error:
                raise refusal(node.span, str(error)) from None


def _outside(config_path: str, span: Span | None) -> Unreadable:
    return refusal(
        span,
        f"'{config_path}' lies outside the project, and is not read",
        help='name its folder in the settings: extra-roots = ["..."]',
    )
