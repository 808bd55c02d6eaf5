"""A changed part of a recipe -> the configs that stand on it.

pre-commit hands over the changed files only. A DeepSpeed JSON, an accelerate file, a base config or an option of a Hydra
group is no recipe of its own: the files of the project that may name it are found by their bytes, and read as if they
had been given. What they turn out not to include is dropped again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint import discovery
from effbatch_lint.compose.marks import lists_defaults
from effbatch_lint.project import root_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.call import Call


class Dependent(NamedTuple):
    """A config of the project that may include the part: as it stands, or by one of the ``choices`` of Hydra's command line."""

    path: str
    part: str
    choices: tuple[str, ...] = ()


def dependents(parts: Iterable[str], call: Call) -> Iterator[Dependent]:
    """The configs of each part's project that hold its name, or in whose tree it is an option."""
    for part in parts:
        name = os.path.basename(part).encode()
        for path in discovery.files_below(root_of(part)):
            if path in call.given or os.path.abspath(path) in call.handed:
                continue
            if discovery.excluded(path, call.settings.folder, call.settings.exclude):
                continue
            data = call.files.peek(path)
            if data is None:
                continue
            if name in data:
                yield Dependent(path, part)
            elif lists_defaults(data) and part.endswith(".yaml"):
                choices = _choices(path, part)
                if choices:
                    yield Dependent(path, part, choices)


def _choices(primary: str, part: str) -> tuple[str, ...]:
    """How the command line of a primary config chooses an option that lies in a group below it."""
    relative = os.path.relpath(os.path.realpath(part), os.path.dirname(os.path.realpath(primary)))
    group, option = os.path.split(relative.removesuffix(".yaml"))
    if not group or group.startswith(os.pardir):
        return ()
    group = group.replace(os.sep, "/")
    return (f"{group}={option}", f"+{group}={option}")
