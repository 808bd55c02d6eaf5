"""A changed part of a recipe -> the configs that name it.

pre-commit hands over the changed files only. A DeepSpeed JSON, an accelerate file, a base config is no recipe of its own:
the files of the project that may name it are found by their bytes, and read as if they had been given. What they turn out
not to include is dropped again. (A file of a Hydra group is named by nothing but its place: effbatch_lint/trees.py.)
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
    """A config of the project that may include the part."""

    path: str
    part: str


def dependents(parts: Iterable[str], call: Call) -> Iterator[Dependent]:
    """The configs of each part's project that hold its name, or that are composed over further folders."""
    for part in parts:
        name = os.path.basename(part).encode()
        for path in discovery.files_below(root_of(part)):
            if path in call.given or os.path.abspath(path) in call.handed:
                continue
            if discovery.excluded(path, call.settings.folder, call.settings.exclude):
                continue
            data = call.files.peek(path)
            if data is not None and (name in data or _searches(data, call)):
                yield Dependent(os.path.abspath(path), part)


def _searches(data: bytes, call: Call) -> bool:
    """Whether Hydra composes a config from folders beside its own too: what it includes of them it names by no path."""
    return lists_defaults(data) and (b"searchpath" in data or bool(call.settings.search_path))
