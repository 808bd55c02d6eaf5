"""The launch scripts of a project that name a config: whoever changes a config changes the runs of these scripts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from effbatch_lint.compose.marks import lists_defaults
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
    """The scripts below ``folder`` that hold the file name of one of the configs, or of a config that includes it.

    A config that another one includes or names (a DeepSpeed JSON, a base file, an option in Hydra's tree) is looked for
    at one remove. A Hydra config is named by ``--config-name`` without its ending. What a script only seems to name is
    told when it is read.
    """
    given = {os.path.abspath(path) for path in paths}
    changed = [path for path in given if kind_of(path) not in (None, "shell")]
    if not changed:
        return []
    below = files_below(folder)
    configs = [path for path in below if kind_of(path) == "yaml" and os.path.abspath(path) not in given]
    changed_names = _names(changed)
    changed += [path for path in configs[:MOST_CONFIGS] if _includes(files, path, changed_names, changed)]
    named = re.compile(b"|".join((*map(re.escape, sorted(_names(changed))), *_primaries(changed))))
    scripts = [path for path in below if kind_of(path) == "shell" and os.path.abspath(path) not in given]
    return [path for path in scripts[:MOST_SCRIPTS] if _names_one(files, path, named)]


def _names(paths: Iterable[str]) -> set[bytes]:
    return {os.path.basename(path).encode() for path in paths}


def _primaries(paths: Iterable[str]) -> list[bytes]:
    """What names a YAML file as Hydra's primary config."""
    stems = sorted({os.path.splitext(os.path.basename(path))[0] for path in paths if kind_of(path) == "yaml"})
    if not stems:
        return []
    either = b"|".join(re.escape(stem.encode()) for stem in stems)
    return [rb"--(?:config[-_]name|cn)[= \t]+[\"']?(?:[\w./-]+/)?(?:" + either + rb")\b"]


def _includes(files: Files, path: str, names: set[bytes], changed: list[str]) -> bool:
    data = files.quietly(path)
    if data is None:
        return False
    if any(name in data for name in names):
        return True
    tree = os.path.dirname(os.path.abspath(path)) + os.sep
    return lists_defaults(data) and any(part.startswith(tree) for part in changed)


def _names_one(files: Files, path: str, named: re.Pattern[bytes]) -> bool:
    data = files.quietly(path)
    return data is not None and may_start(data) and named.search(data) is not None
