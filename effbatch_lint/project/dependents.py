"""A changed part of a recipe -> the configs that name it.

pre-commit hands over the changed files only. A DeepSpeed JSON, an accelerate file, a base config is no recipe of its own:
the files of the project that may name it are found by their bytes, and read as if they had been given. What they turn out
not to include is dropped again. (A file of a Hydra group is named by nothing but its place: effbatch_lint/project/trees.py.)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint import discovery
from effbatch_lint.compose.marks import lists_defaults
from effbatch_lint.project.roots import root_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.call import Call


class Dependent(NamedTuple):
    """A config of the project that may include the parts."""

    path: str
    parts: tuple[str, ...]


def dependents(parts: Iterable[str], call: Call) -> Iterator[Dependent]:
    """The configs of each part's project that hold its name, or that are composed over further folders.

    A hook may hand over many parts: each file of the project is looked through once for all of them.
    """
    projects: dict[str, dict[str, bytes]] = {}
    for part in parts:
        projects.setdefault(root_of(part), {})[part] = os.path.basename(part).encode()
    for root, names in projects.items():
        for path in discovery.files_below(root):
            if path in call.given or os.path.abspath(path) in call.handed:
                continue
            if discovery.excluded(path, call.settings.folder, call.settings.exclude):
                continue
            data = call.files.peek(path)
            if data is None:
                continue
            searches = _searches(data, call)
            including = tuple(part for part, name in names.items() if searches or name in data)
            if including:
                yield Dependent(os.path.abspath(path), including)


def _searches(data: bytes, call: Call) -> bool:
    """Whether Hydra composes a config from folders beside its own too: what it includes of them it names by no path."""
    return lists_defaults(data) and (b"searchpath" in data or bool(call.settings.search_path))
