"""Where the settings are: ``[tool.effbatch-lint]`` in pyproject.toml, or ``effbatch.toml``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.settings.records import Settings, none

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILES = ("effbatch.toml", "pyproject.toml")


def find(start: str) -> str | None:
    """The settings file that governs a folder: the nearest one above it, not past a git repository."""
    folder = os.path.abspath(start)
    while True:
        for name in FILES:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name == "effbatch.toml" or _has_section(path)):
                return path
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def _has_section(path: str) -> bool:
    """Whether a pyproject.toml configures this tool, rather than name it as a dependency; its syntax is read later."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    if b"effbatch" not in data and b"efbatch" not in data:
        return False
    import re  # noqa: PLC0415 - few projects get here

    return re.search(_SECTION, data, re.MULTILINE) is not None


# [tool.effbatch-lint], [[tool.effbatch-lint.recipes]]; below [tool]: effbatch-lint = {...}, effbatch-lint.target = ...; and
# the same under a name that is misspelled (effbatch_lint), which the reader tells.
_SECTION = rb"""^[ \t]*(?:\[{1,2}[ \t]*tool[ \t]*\.[ \t]*|(?:tool[ \t]*\.[ \t]*)?(?=[^\[\]]*=))["']?(?:effbatch-lint|eff?batch[\w-]*)\b"""


def load(path: str) -> Settings:
    """The settings in a file.

    Raises:
        Unreadable: the file cannot be read, or a value is of the wrong kind, at its line.
    """
    from effbatch_lint.settings import reader  # noqa: PLC0415 - a project without settings needs no TOML reader

    return reader.load(path)


def from_python(data: Mapping[str, object], folder: str) -> Settings:
    """The settings from a mapping with the same keys (the Python API).

    Raises:
        Unreadable: a value is of the wrong kind.
    """
    from effbatch_lint.settings import reader  # noqa: PLC0415 - as above

    return reader.from_python(data, folder)


def governing(paths: Sequence[str] = ()) -> Settings:
    """The settings above the working directory; above the first path, when that lies elsewhere; else none."""
    path = find(os.getcwd())
    if path is None and paths:
        first = os.path.abspath(paths[0])
        path = find(first if os.path.isdir(first) else os.path.dirname(first))
    return load(path) if path is not None else none(os.getcwd())
