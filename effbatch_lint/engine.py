"""The stages, wired: paths -> files -> configs -> recipes -> findings. No policy of its own."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint import discovery, project, recipes
from effbatch_lint import settings as settings_module
from effbatch_lint.compose.bases import names_bases
from effbatch_lint.documents.document import kind_of
from effbatch_lint.files import Files
from effbatch_lint.frameworks import table
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from effbatch_lint.findings import Finding
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.project import Candidate
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.settings import Settings
    from effbatch_lint.targets.target import Target


class Options(NamedTuple):
    """What a call asks for. ``framework`` forces one; ``target`` is declared by the call itself."""

    paths: tuple[str, ...] = ()
    world_sizes: tuple[int, ...] = ()
    overrides: tuple[str, ...] = ()
    target: Target | None = None
    framework: str | None = None


class Unread(NamedTuple):
    """A file that gave no recipe, and why."""

    path: str
    reason: str

    def as_dict(self) -> dict[str, object]:
        """The contract's form."""
        return {"path": self.path, "reason": self.reason}


class Read(NamedTuple):
    """What the files of a call hold: recipes, what could not be read, and the files themselves."""

    files: Files
    settings: Settings
    candidates: list[Candidate]
    recipes: list[Recipe]
    unread: list[Unread]
    errors: list[Unreadable]


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
    read = _read(options, settings)
    return Report(read.recipes, [], read.unread, read.errors, read.files, time.perf_counter() - started)


def check(options: Options, settings: Settings) -> Report:
    """The findings of all rules on the recipes that the paths describe."""
    from effbatch_lint.rules.run import findings  # noqa: PLC0415 - explain needs no rules

    started = time.perf_counter()
    read = _read(options, settings)
    found = findings(read)
    return Report(read.recipes, found, read.unread, read.errors, read.files, time.perf_counter() - started)


def _read(options: Options, settings: Settings) -> Read:
    custom = _custom(settings)
    files = Files(_root(options, settings), settings.extra_roots)
    read = Read(files, settings, [], [], [], [])
    forced = _forced(options.framework or settings.framework, custom)
    given = _given(options, settings)
    for path, explicit in given.items():
        try:
            found = _candidates(path, read, options, forced, custom, list(given), explicit=explicit)
        except Unreadable as error:
            read.errors.append(error)
            continue
        read.candidates.extend(found)
    joined = project.joined(read.candidates, [path for path, explicit in given.items() if explicit])
    read.candidates[:] = joined
    described = _described(read, options, forced, custom, given)
    covered = {path for recipe in described for path in recipe.config.files}
    for candidate in joined:
        if candidate.config.path in covered:
            continue
        read.recipes.extend(_recipes(read, candidate, options))
    included = {path for recipe in (*described, *read.recipes) for path in recipe.config.files if path != recipe.path}
    # A config that another one stands on is a recipe all the same; a part that another one names is none.
    included -= {base for candidate in joined for base in candidate.bases}
    read.recipes[:] = [*described, *(recipe for recipe in read.recipes if recipe.path not in included)]
    return read


def _recipes(read: Read, candidate: Candidate, options: Options) -> list[Recipe]:
    try:
        return recipes.from_candidate(candidate, read.settings, world_sizes=options.world_sizes, target=options.target)
    except Unreadable as error:
        read.errors.append(error)
        return []


def _described(
    read: Read, options: Options, forced: Framework | None, custom: list[Framework], given: dict[str, bool]
) -> list[Recipe]:
    """The recipes that the settings describe, of which a file is among those given."""
    out: list[Recipe] = []
    wanted = {os.path.abspath(path) for path in given}
    for described in read.settings.recipes:
        if not wanted & {os.path.abspath(path) for path in described.files}:
            continue
        framework = _forced(described.framework, custom) or forced
        changed = options._replace(overrides=(*described.overrides, *options.overrides))
        try:
            found = [
                candidate
                for path in described.files
                for candidate in _candidates(
                    path, read, changed, framework, custom, list(described.files), explicit=True
                )
            ]
            main, accelerate = project.one_run(found)
            if main is not None:
                out += recipes.from_candidate(
                    main, read.settings, described=described, world_sizes=options.world_sizes,
                    target=options.target, accelerate=accelerate,
                )  # fmt: skip
        except Unreadable as error:
            read.errors.append(error)
    return out


def _candidates(
    path: str,
    read: Read,
    options: Options,
    forced: Framework | None,
    custom: list[Framework],
    handed: Sequence[str],
    *,
    explicit: bool,
) -> list[Candidate]:
    """The training configs in one file. A file that no framework's words occur in is not even parsed."""
    shown = read.files.shown(path)
    if kind_of(path) is None and not explicit:
        return []
    data = read.files.content(path) if explicit else read.files.quietly(path)
    if data is None:
        return []
    if not custom and forced is None and not table.may_be_training(data) and not names_bases(data):
        if explicit:
            read.files.refuse_hostile(path)
        read.unread.append(Unread(shown, "not a training config: none of the frameworks' keys"))
        return []
    document = read.files.document(path)
    found = project.candidates(
        read.files, document, overrides=options.overrides, framework=forced, custom=custom, handed=handed
    )
    if not found:
        read.unread.append(Unread(shown, "not a training config that is recognised"))
    return found


def _given(options: Options, settings: Settings) -> dict[str, bool]:
    """Every file to look at, each once, and whether it was named itself."""
    given: dict[str, bool] = {}
    for path in options.paths or (settings.folder,):
        if os.path.isdir(path) and kind_of(path) is None:
            below = discovery.files_below(path)
            kept = (name for name in below if not discovery.excluded(name, settings.folder, settings.exclude))
            given.update((name, False) for name in kept if name not in given)
        elif not discovery.excluded(path, settings.folder, settings.exclude):
            given[path] = True
    return given


def _root(options: Options, settings: Settings) -> str:
    if settings.path is not None:
        return settings.folder
    return project.root_of(options.paths[0]) if options.paths else settings.folder


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
