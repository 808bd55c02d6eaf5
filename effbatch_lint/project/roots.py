"""The project that a file belongs to."""

from __future__ import annotations

import os


def root_of(path: str) -> str:
    """The project that a path belongs to: the nearest folder above with settings or a git repository.

    Where there is none, the nearest folder above that is called one of configs, since the files in it refer to each
    other (``_BASE_: ../Base.yaml``); else the path's own.
    """
    folder = os.path.abspath(path)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    start = folder
    while True:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in ("effbatch.toml", ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return _folder_of_configs(start) or start
        folder = above


def _folder_of_configs(folder: str) -> str | None:
    while folder != os.path.dirname(folder):
        if os.path.basename(folder) in ("configs", "config", "conf"):
            return folder
        folder = os.path.dirname(folder)
    return None
