"""The launch scripts of a project that name a config: whoever changes a config changes the runs of these scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.discovery import files_below
from effbatch_lint.documents.document import kind_of
from effbatch_lint.starters import may_start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.files import Files

# A project with more scripts than that is searched no further: a hook must not read a monorepo.
MOST_SCRIPTS = 2_000
MOST_CONFIGS = 5_000


def scripts_naming(paths: Iterable[str], folder: str, files: Files) -> list[str]:
    """The scripts below ``folder`` that hold the file name of one of the configs, or of a config that names it.

    A config that another one includes or names (a DeepSpeed JSON, a base file) is looked for at one remove.
    """
    given = {os.path.abspath(path) for path in paths}
    names = {os.path.basename(path).encode() for path in given if kind_of(path) not in (None, "shell")}
    if not names:
        return []
    below = files_below(folder)
    configs = [path for path in below if kind_of(path) == "yaml" and os.path.abspath(path) not in given]
    names |= {os.path.basename(path).encode() for path in configs[:MOST_CONFIGS] if _holds(files, path, names)}
    scripts = [path for path in below if kind_of(path) == "shell" and os.path.abspath(path) not in given]
    return [path for path in scripts[:MOST_SCRIPTS] if _holds(files, path, names, starts=True)]


def _holds(files: Files, path: str, names: set[bytes], *, starts: bool = False) -> bool:
    data = files.quietly(path)
    return data is not None and any(name in data for name in names) and (not starts or may_start(data))
