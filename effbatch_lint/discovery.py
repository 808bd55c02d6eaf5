"""Folders -> files: everything below that git does not ignore and the settings do not exclude."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from effbatch_lint.documents.document import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Never a team's own configs, and often tens of thousands of files; only looked at where git does not decide.
SKIPPED = frozenset((".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".tox", ".nox"))


def files_below(folder: str) -> list[str]:
    """The readable files below a folder, in order: as git lists them in a repository, else by walking."""
    return _below(folder, lambda name: kind_of(name) is not None)


def python_below(folder: str) -> list[str]:
    """The Python files below a folder, in order."""
    return _below(folder, lambda name: name.endswith(".py"))


def _below(folder: str, wanted: Callable[[str], bool]) -> list[str]:
    listed = _git(folder)
    # Git knows files that were deleted and not committed yet.
    paths = _walk(folder) if listed is None else (os.path.join(folder, name) for name in listed)
    return sorted(path for path in paths if wanted(path) and os.path.isfile(path))


def excluded(path: str, folder: str, patterns: tuple[str, ...]) -> bool:
    """Whether a path matches one of the settings' globs, which are relative to the settings' folder.

    A pattern names a file (``old/*.yaml``), or a folder with all below it (``third_party``, ``third_party/**``).
    """
    if not patterns:
        return False
    relative = os.path.relpath(os.path.abspath(path), folder).replace(os.sep, "/")
    return any(matches(relative, pattern) for pattern in patterns)


def matches(relative: str, pattern: str) -> bool:
    """Whether a relative path matches one glob; ``*`` crosses folders, as in git's and ruff's settings."""
    pattern = pattern.removeprefix("./").strip("/").removeprefix("**/").replace("/**/", "/*")
    folder = pattern.removesuffix("/**")
    return any(fnmatchcase(relative, glob) for glob in (pattern, f"*/{pattern}", f"{folder}/*", f"*/{folder}/*"))


def _git(folder: str) -> Iterable[str] | None:
    """The names below a folder that git knows or does not ignore; None outside a repository."""
    import subprocess  # noqa: PLC0415 - 9 ms that a hook run, which names its files, does not need

    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],  # noqa: S607 - git is the user's own
            cwd=folder,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    if done.returncode != 0:
        return None
    return dict.fromkeys(done.stdout.decode("utf-8", "surrogateescape").split("\0"))


def _walk(folder: str) -> list[str]:
    """The paths of all files below a folder, of those that are not skipped."""
    found: list[str] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        found.extend(os.path.join(parent, name) for name in names)
    return found
