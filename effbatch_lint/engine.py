"""The stages, wired: paths -> files -> configs -> recipes -> findings. No policy of its own."""

from __future__ import annotations

import gc
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint import discovery, project, recipes
from effbatch_lint import settings as settings_module
from effbatch_lint.call import Call, Options, Read, Unread
from effbatch_lint.documents.document import kind_of
from effbatch_lint.files import Files
from effbatch_lint.frameworks import table
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.findings import Finding
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.project import Candidate
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.settings import Settings


class Report(NamedTuple):
    """The outcome of a call."""

    recipes: list[Recipe]
    findings: list[Finding]
    unread: list[Unread]
    errors: list[Unreadable]
    files: Files
    seconds: float = 0.0

    @property
    def files_read(self) -> int:
        """How many files were opened."""
        return self.files.read

    def as_dict(self) -> dict[str, object]:
        """The contract's form of the findings."""
        from effbatch_lint.report.json import findings  # noqa: PLC0415 - only JSON output needs it

        return findings(self)


def explain(options: Options, settings: Settings) -> Report:
    """The recipes that the paths describe, with every number's origin."""
    started = time.perf_counter()
    with paused_collector():
        read = _read(_prepared(options, settings))
    return Report(read.recipes, [], read.unread, read.errors, read.files, time.perf_counter() - started)


def check(options: Options, settings: Settings) -> Report:
    """The findings of all rules on the recipes that the paths describe."""
    from effbatch_lint.rules.run import findings  # noqa: PLC0415 - explain needs no rules

    started = time.perf_counter()
    with paused_collector():
        read = _read(_prepared(options, settings))
        found = findings(read)
    return Report(read.recipes, found, read.unread, read.errors, read.files, time.perf_counter() - started)


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
    return Call(
        options,
        settings,
        Files(*_roots(options, settings)),
        _forced(options.framework or settings.framework, custom),
        custom,
        given,
        [os.path.abspath(path) for path, named in given.items() if named],
    )


def _read(call: Call) -> Read:
    read = Read(call.files, call.settings, [], [], [])
    found: list[Candidate] = []
    for path, named in call.given.items():
        try:
            found += _candidates(path, call, read, named=named)
        except Unreadable as error:
            read.errors.append(error)
    described = _described(call, read)
    covered = {path for recipe in described for path in recipe.config.files}
    for candidate in project.joined(found, call.handed):
        if candidate.config.path not in covered:
            try:
                read.recipes.extend(recipes.from_candidate(candidate, call))
            except Unreadable as error:
                read.errors.append(error)
    # A file that another recipe names is a part of that recipe, and none of its own.
    included = {path for recipe in (*described, *read.recipes) for path in recipe.config.files if path != recipe.path}
    read.recipes[:] = [*described, *(recipe for recipe in read.recipes if recipe.path not in included)]
    return read


def _described(call: Call, read: Read) -> list[Recipe]:
    """The recipes that the settings describe, of which a file is among those given."""
    out: list[Recipe] = []
    wanted = {os.path.abspath(path) for path in call.given}
    for described in call.settings.recipes:
        paths = [os.path.abspath(path) for path in described.files]
        if not wanted.intersection(paths):
            continue
        changed = call._replace(
            options=call.options._replace(overrides=(*described.overrides, *call.options.overrides)),
            forced=_forced(described.framework, call.custom) or call.forced,
            handed=paths,
        )
        try:
            found = [
                candidate for path in described.files for candidate in _candidates(path, changed, read, named=True)
            ]
            main, accelerate = project.one_run(found)
            if main is not None:
                out += recipes.from_candidate(main, changed, described, accelerate)
        except Unreadable as error:
            read.errors.append(error)
    return out


def _candidates(path: str, call: Call, read: Read, *, named: bool) -> list[Candidate]:
    """The training configs in one file. A file that no framework's words occur in is not even parsed."""
    files = call.files
    data = files.content(path) if named else files.quietly(path)
    if data is None:
        return []
    if not call.custom and call.forced is None and not table.may_be_training(data):
        if named:
            files.refuse_hostile(path)
        read.unread.append(Unread(files.shown(path), "not a training config: none of the frameworks' keys"))
        return []
    found = project.candidates(
        files,
        files.document(path),
        overrides=call.options.overrides,
        framework=call.forced,
        custom=call.custom,
        handed=call.handed,
    )
    if not found:
        read.unread.append(Unread(files.shown(path), "not a training config that is recognised"))
    return found


def _given(options: Options, settings: Settings) -> dict[str, bool]:
    """Every file to look at, each once, and whether it was named itself."""
    given: dict[str, tuple[str, bool]] = {}
    for path in options.paths or (settings.folder,):
        if os.path.isdir(path) and kind_of(path) is None:
            for name in discovery.files_below(path):
                given.setdefault(os.path.abspath(name), (name, False))
        else:
            first, _ = given.get(os.path.abspath(path), (path, True))
            given[os.path.abspath(path)] = (first, True)
    kept = (pair for pair in given.values() if not discovery.excluded(pair[0], settings.folder, settings.exclude))
    return dict(kept)


def _roots(options: Options, settings: Settings) -> list[str]:
    """The folders that may be read: the settings' own, those they name, and the project of each path that is named."""
    folders = dict.fromkeys(path if os.path.isdir(path) else os.path.dirname(path) or "." for path in options.paths)
    named = [project.root_of(folder) for folder in folders]
    own = [settings.folder] if settings.path is not None or not named else []
    return list(dict.fromkeys((*own, *named, *settings.extra_roots)))


def _custom(settings: Settings) -> list[Framework]:
    if not settings.custom:
        return []
    from effbatch_lint.frameworks.custom import frameworks  # noqa: PLC0415 - only where the settings describe one

    return frameworks(settings.custom)


def _forced(name: str | None, custom: Iterable[Framework]) -> Framework | None:
    if name is None:
        return None
    found = next((framework for framework in custom if framework.name == name), None) or table.by_name(name)
    if found is None:
        raise settings_module.UsageError(f"no framework is called {name!r}: see `effbatch-lint frameworks`")
    return found
