"""The stages, wired: paths -> files -> configs -> recipes -> findings. No policy of its own."""

from __future__ import annotations

import gc
import os
import time
from typing import TYPE_CHECKING

from effbatch_lint import discovery
from effbatch_lint.call import Call, Options
from effbatch_lint.compose.code import Code
from effbatch_lint.documents.document import kind_of
from effbatch_lint.files import Files
from effbatch_lint.project.assembly import read_all
from effbatch_lint.project.reading import forced
from effbatch_lint.project.roots import root_of
from effbatch_lint.report.report import Report
from effbatch_lint.rules.table import BY_CODE
from effbatch_lint.settings.place import FILES

if TYPE_CHECKING:
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.settings.records import Settings


def explain(options: Options, settings: Settings) -> Report:
    """The recipes that the paths describe, with every number's origin."""
    started = time.perf_counter()
    with paused_collector():
        read = read_all(_prepared(options, settings))
    return Report(read.recipes, [], read.unread, read.errors, read.files, time.perf_counter() - started)


def check(options: Options, settings: Settings) -> Report:
    """The findings of all rules on the recipes that the paths describe."""
    from effbatch_lint.rules.run import findings  # noqa: PLC0415 - explain needs no rules

    started = time.perf_counter()
    with paused_collector():
        read = read_all(_prepared(options, settings))
        found = findings(read)
    known = [recipe for recipe in read.recipes if recipe.framework is not None]
    return Report(known, found, read.unread, read.errors, read.files, time.perf_counter() - started)


class paused_collector:  # noqa: N801 - used as a function
    """The cyclic garbage collector is off inside the block.

    The nodes of a thousand configs stay alive until the report is written: to walk them over and over, looking for
    garbage that is not there, takes longer than reading them.
    """

    def __enter__(self) -> None:
        self._was = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was:
            gc.enable()


def _prepared(options: Options, settings: Settings) -> Call:
    custom = _custom(settings)
    given = _given(options, settings)
    files = Files(*_roots(options, settings), rules=frozenset(BY_CODE))
    looked_up: list[str] = []
    if options.scripts:
        from effbatch_lint.project.naming import scripts_naming  # noqa: PLC0415 - only the hook for scripts looks for them

        named = scripts_naming([path for path, named in given.items() if named], files.root, files)
        found = (path for path in named if not discovery.excluded(path, settings.folder, settings.exclude))
        looked_up = [path for path in map(os.path.relpath, found) if path not in given]
        given = {**given, **dict.fromkeys(looked_up, False)}
    return Call(
        options,
        settings,
        files,
        forced(options.framework or settings.framework, custom),
        custom,
        given,
        [os.path.abspath(path) for path, named in given.items() if named],
        Code(files, discovery.python_below, dict(settings.resolvers), settings.search_path),
        frozenset(map(files.shown, looked_up)),
    )


def _given(options: Options, settings: Settings) -> dict[str, bool]:
    """Every file to look at, each once however it is spelled or linked to, and whether it was named itself."""
    given: dict[str, tuple[str, bool]] = {}
    for path in options.paths or (settings.folder,):
        if os.path.isdir(path) and kind_of(path) is None:
            for name in discovery.files_below(path):
                # The settings are no training config, and not counted among the files that might have been one.
                if os.path.basename(name) in FILES:
                    continue
                given.setdefault(_real(name), (name, False))
        else:
            first, _ = given.get(_real(path), (path, True))
            given[_real(path)] = (first, True)
    kept = (pair for pair in given.values() if not discovery.excluded(pair[0], settings.folder, settings.exclude))
    return dict(kept)


def _real(path: str) -> str:
    return os.path.realpath(path) if "\0" not in path else path


def _roots(options: Options, settings: Settings) -> list[str]:
    """The folders that may be read: the settings' own, those they name, and the project of each path that is named."""
    folders = dict.fromkeys(path if os.path.isdir(path) else os.path.dirname(path) or "." for path in options.paths)
    named = [root_of(folder) for folder in folders]
    own = [settings.folder] if settings.path is not None or not named else []
    return list(dict.fromkeys((*own, *named, *settings.extra_roots)))


def _custom(settings: Settings) -> list[Framework]:
    if not settings.custom:
        return []
    from effbatch_lint.frameworks.custom import frameworks  # noqa: PLC0415 - only where the settings describe one

    return frameworks(settings.custom)
