"""``hydra.searchpath``: the folders that the primary config or the command line adds to the search path.

Only folders of the project are read. ``pkg://`` and ``structured://`` would import code, a folder outside is not read:
a config that no other folder has may then come from there, and is unknown.

Source: hydra/_internal/config_loader_impl.py (_process_config_searchpath, _load_single_config, 1.3).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.compose.interpolation import Interpolations, Unresolvable
from effbatch_lint.compose.refusal import Note, refusal
from effbatch_lint.documents.nodes import Mapping, Node, Scalar, Sequence
from effbatch_lint.source import inside

if TYPE_CHECKING:
    from effbatch_lint.compose.defaults_tree import Part
    from effbatch_lint.compose.overrides import Override
    from effbatch_lint.compose.repository import Repository
    from effbatch_lint.compose.sweeps import Element
    from effbatch_lint.source import Span


def extended(repository: Repository, primary: str, parsed: list[Override]) -> tuple[Repository, tuple[Note, ...]]:
    """The repository with those folders, and a note for each entry that is not read.

    Raises:
        Unreadable: EB902, what is no list of texts.
    """
    loaded = repository.load(primary)
    if loaded is not None and not isinstance(loaded.root, Mapping):
        raise refusal(loaded.span, f"primary config '{primary}' must be a mapping, and is a list")
    given = next((override for override in parsed if override.full_key == "hydra.searchpath"), None)
    entries = _of_primary(loaded.root) if loaded is not None and isinstance(loaded.root, Mapping) else []
    if given is not None:
        entries = _listed(given.value, given.word.span)
    folders = list(repository.folders)
    notes: list[Note] = []
    for entry, span in entries:
        if not isinstance(entry, str):
            raise refusal(span, f"hydra.searchpath must be a list of strings. Got: {entry}")
        folder = _folder(repository, entry)
        if folder is not None:
            folders.append(folder)
        else:
            notes.append(Note(span, f"the search path entry {entry} is not a folder of the project, and is not read"))
            repository.hidden.append(entry)
    if len(folders) > len(repository.folders):
        repository = repository.extended(tuple(folders))
    return repository, tuple(notes)


def _listed(value: Element, span: Span | None) -> list[tuple[Element, Span | None]]:
    if not isinstance(value, list):
        raise refusal(span, f"hydra.searchpath must be a list of strings. Got: {value}")
    return [(one, span) for one in value]


def _of_primary(root: Mapping) -> list[tuple[Element, Span | None]]:
    try:
        entry, path = Interpolations(root).select("hydra.searchpath")
    except Unresolvable:
        return []
    node = entry.value
    if not isinstance(node, Sequence):
        raise refusal(node.span, "hydra.searchpath must be a list of strings")
    found: list[tuple[Element, Span | None]] = []
    for position, item in enumerate(node.items):
        found.append((_text(root, item, (*path, str(position))), item.span))
    return found


def _text(root: Mapping, item: Node, path: tuple[str, ...]) -> Element:
    if not isinstance(item, Scalar):
        return None
    try:
        value = Interpolations(root).scalar(item, path).value
    except Unresolvable:
        return item.text  # an environment variable: no folder of this name exists, and it is reported as not read
    return value if isinstance(value, str) else None


def _folder(repository: Repository, entry: str) -> str | None:
    """The folder of the project that an entry names; a relative one stands below the directory of the run, which is
    the project's root or a folder between it and the configs."""
    scheme, mark, path = entry.partition("://")
    if mark and scheme != "file":
        return None
    path = path if mark else entry
    roots = repository.roots
    bases = list(roots)
    above = repository.folders[0]
    while inside(above, roots) and above not in bases:
        above = os.path.dirname(above)
        bases.append(above)
    for base in bases:
        folder = os.path.realpath(os.path.join(base, path))
        if inside(folder, roots) and os.path.isdir(folder):
            return folder
    return None


def refuse_elsewhere(part: Part) -> None:
    """Only the primary and the command line may set the search path.

    Raises:
        Unreadable: EB902, another file sets it.
    """
    if part.primary or part.config_path == "hydra/config" or not isinstance(part.loaded.root, Mapping):
        return
    keys = {"": ("hydra", "searchpath"), "hydra": ("searchpath",)}.get(part.package, ())
    node: Node | None = part.loaded.root if keys else None
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    if node is not None:
        raise refusal(
            node.span,
            f"In '{part.config_path}': Overriding hydra.searchpath is only supported from the primary config",
        )
