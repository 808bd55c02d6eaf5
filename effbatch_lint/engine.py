"""The stages, wired: paths -> files -> configs -> recipes -> findings. No policy of its own."""

from __future__ import annotations

import gc
import os
import time
from typing import TYPE_CHECKING

from effbatch_lint import discovery, project, recipes
from effbatch_lint import settings as settings_module
from effbatch_lint.call import Call, Options, Read, Unread
from effbatch_lint.compose.bases import names_bases
from effbatch_lint.compose.code import Code
from effbatch_lint.compose.marks import lists_defaults
from effbatch_lint.documents.document import kind_of
from effbatch_lint.files import Files
from effbatch_lint.frameworks import table
from effbatch_lint.report.report import Report
from effbatch_lint.rules.table import BY_CODE
from effbatch_lint.source import MAX_PARSED, Span, Unreadable
from effbatch_lint.starters import may_be_manifest, may_start
from effbatch_lint.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.dependents import Dependent
    from effbatch_lint.documents.document import Document
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.project import Candidate
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.settings import Settings


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
        from effbatch_lint.naming import scripts_naming  # noqa: PLC0415 - only the hook for scripts looks for them

        named = scripts_naming([path for path, named in given.items() if named], files.root, files)
        found = (path for path in named if not discovery.excluded(path, settings.folder, settings.exclude))
        looked_up = [path for path in map(os.path.relpath, found) if path not in given]
        given = {**given, **dict.fromkeys(looked_up, False)}
    return Call(
        options,
        settings,
        files,
        _forced(options.framework or settings.framework, custom),
        custom,
        given,
        [os.path.abspath(path) for path, named in given.items() if named],
        Code(files, discovery.python_below, dict(settings.resolvers), settings.search_path),
        frozenset(map(files.shown, looked_up)),
    )


def _read(call: Call) -> Read:
    given = {call.files.shown(path) for path in call.given}
    read = Read(call.files, call.settings, [], [], [], set(), given)
    found: list[Candidate] = []
    for path, named in call.given.items():
        try:
            found += _candidates(path, call, read, named=named)
        except RecursionError:
            read.errors.append(_too_deep(path, call))
        except Unreadable as error:
            if _is_template(path, call.files):
                read.unread.append(Unread(call.files.shown(path), f"a template, not a config yet: {error.reason}"))
            elif named or error.code != "EB902":
                read.errors.append(error)
            else:
                # A defaults list that does not resolve from the file's own folder may be a part of a larger tree.
                read.unread.append(Unread(call.files.shown(path), error.reason))
    through = _through(found, call, read)
    found += through
    described = _described(call, read)
    covered = {path for recipe in described for path in recipe.config.files} | read.failed
    joined = project.joined(found, call.handed)
    for candidate in joined:
        new = {one.source.path for one in candidate.declaring or ()} if candidate.choice else set()
        if candidate.path not in covered or not new <= covered:
            try:
                read.recipes.extend(recipes.from_candidate(candidate, call))
            except RecursionError:
                read.errors.append(_too_deep(candidate.config.path, call))
            except Unreadable as error:
                read.errors.append(error)
                read.failed.add(candidate.path)
    # Jobs of a sweep that differ in nothing which decides the batch are one recipe.
    read.recipes[:] = {_answer(recipe): recipe for recipe in reversed(read.recipes)}.values()
    read.recipes.reverse()
    # A file that another recipe names is a part of that recipe, and none of its own.
    included = {path for recipe in (*described, *read.recipes) for path in recipe.config.files if path != recipe.path}
    # A config that another one stands on is a recipe all the same; a part that another one names is none.
    included -= {base for candidate in joined for base in candidate.bases}
    read.recipes[:] = [*described, *(r for r in read.recipes if r.path not in included or _is_new(r, read.recipes))]
    if (through and call.handed) or call.looked_up:
        # What was looked up speaks only where it turned out to include a file that was asked for.
        asked = {call.files.shown(path) for path in call.given if path not in call.looked_up}
        looked_up = {*call.looked_up, *(candidate.config.path for candidate in through)}
        read.recipes[:] = [r for r in read.recipes if r.path not in looked_up or asked.intersection(r.config.files)]
    read.unread[:] = [unread for unread in dict.fromkeys(read.unread) if unread.path not in included]
    return read


def _answer(recipe: Recipe) -> object:
    """What tells one of several runs of a file from the others: its name, its targets and its numbers."""
    if recipe.name is None:
        return id(recipe)
    return recipe.path, recipe.name, recipe.targets, *(str(batch.as_dict()) for batch in recipe.batches)


def _is_new(recipe: Recipe, recipes: Iterable[Recipe]) -> bool:
    """Whether a run of Hydra's holds files that no other recipe which includes its primary holds."""
    others = [other for other in recipes if other.path != recipe.path and recipe.path in other.config.files]
    return recipe.name is not None and not any(
        set(other.config.files).issuperset(recipe.config.files) for other in others
    )


def _too_deep(path: str, call: Call) -> Unreadable:
    at = Span(call.files.shown(path), 1, 1, 1, 1)
    return Unreadable(at, "its parts lie within each other deeper than the limit")


def _is_template(path: str, files: Files) -> bool:
    """Whether a file that does not parse is the source of one that will: a Helm chart, a Jinja template; or JSON lines."""
    data = files.peek(path) or b""
    return b"effbatch" not in data and (b"{{" in data or b"{%" in data or b"}\n{" in data)


def _through(found: list[Candidate], call: Call, read: Read) -> list[Candidate]:
    """The runs that include a file which is only a part of theirs."""
    whole = {c.document.source.real for c in found if c.framework.role == "trainer" and not c.document.is_part}
    whole |= {c.launched.script.source.real for c in found if c.launched is not None}
    trees = Trees(call)
    out: dict[int, Candidate] = {}
    for path, named in call.given.items():
        if kind_of(path) != "yaml" or not os.path.isfile(path):
            continue
        real = os.path.realpath(path)
        if trees.holds(real):
            through = trees.through(real, named=named, whole=real in whole)
            out.update((id(run), run) for run in through.runs)
            read.errors.extend(through.refusals)
    parts = [path for path in call.handed if path not in whole and kind_of(path) and os.path.isfile(path)]
    if parts:
        from effbatch_lint.dependents import dependents  # noqa: PLC0415 - most calls name whole recipes

        for dependent in dependents(parts, call):
            out.update((id(run), run) for run in _naming(dependent, trees, call, read))
    return list(out.values())


def _naming(dependent: Dependent, trees: Trees, call: Call, read: Read) -> list[Candidate]:
    """The runs of a config that may name a part; of a file of a tree, those of the tree.

    Whether the part is named for good shows when the batch is read, and the file is opened.
    """
    if kind_of(dependent.path) == "yaml" and trees.holds(dependent.path):
        through = trees.through(dependent.path, named=True, whole=False).runs
        if through:
            return through
    try:
        return _candidates(dependent.path, call, _nothing(call), named=False)
    except Unreadable as error:
        if error.span.path == call.files.shown(dependent.part):
            read.errors.append(error)
        return []


def _nothing(call: Call) -> Read:
    """For files that are only looked at: what is wrong with them is nobody's question."""
    return Read(call.files, call.settings, [], [], [], set(), set())


def _described(call: Call, read: Read) -> list[Recipe]:
    """The recipes that the settings describe, of which a file is among those given."""
    out: list[Recipe] = []
    wanted = {os.path.abspath(path) for path in call.given}
    given = {call.files.shown(path) for path in call.given}
    settings_changed = call.settings.path is not None and os.path.abspath(call.settings.path) in wanted
    for described in call.settings.recipes:
        paths = [os.path.abspath(path) for path in described.files]
        gone = [call.files.shown(path) for path in paths if not os.path.lexists(path)]
        if gone:
            # Whatever else was asked for: a recipe that lost its file is guarded by nobody.
            reason = f"the settings describe a recipe with the file {gone[0]}, which does not exist"
            read.errors.append(Unreadable(described.span or Span(gone[0], 1, 1, 1, 1), reason))
            continue
        asked = settings_changed or bool(wanted.intersection(paths))
        if not asked and not call.handed:
            continue
        changed = call._replace(
            options=call.options._replace(overrides=(*described.overrides, *call.options.overrides)),
            forced=_forced(described.framework, call.custom) or call.forced,
            handed=paths,
        )
        try:
            main, accelerate = project.one_run(_parts(described.files, changed, read if asked else _nothing(call)))
            if main is not None:
                found = recipes.from_candidate(main, changed, described, accelerate)
                # A file that was named may be a part which none of the recipe's own files shows: a group's option.
                out += [recipe for recipe in found if asked or given.intersection(recipe.config.files)]
            elif asked:
                reason = "the settings describe a recipe of files that are of no framework that is recognised"
                read.errors.append(Unreadable(described.span or Span(paths[0], 1, 1, 1, 1), reason, code="EB104"))
        except Unreadable as error:
            if not asked:
                continue
            missing = not os.path.lexists(error.span.path)
            named = f"{call.settings.path or 'the settings'} names it among the files of a recipe"
            read.errors.append(error.advised(named) if missing else error)
            read.failed.update(call.files.shown(path) for path in paths)
    return out


def _parts(files: Iterable[str], call: Call, read: Read) -> list[Candidate]:
    """The configs of one run, in the order of its files.

    A part may hold none of the framework's words (a file of overrides): that it belongs is then the settings' word.
    """
    found = {path: _candidates(path, call, read, named=True) for path in files}
    trainer = next((c for parts in found.values() for c in parts if c.framework.role == "trainer"), None)
    if trainer is not None:
        as_trainer = call._replace(forced=trainer.framework)
        for path, parts in found.items():
            if not parts and kind_of(path) == trainer.document.kind:
                found[path] = _candidates(path, as_trainer, read, named=True)
    return [candidate for parts in found.values() for candidate in parts]


def _candidates(path: str, call: Call, read: Read, *, named: bool) -> list[Candidate]:
    """The training configs in one file. A file that no framework's words occur in is not even parsed."""
    files = call.files
    data = files.content(path) if named else files.quietly(path)
    if data is None:
        return []
    kind = kind_of(path)
    if kind == "shell" and not may_start(data):
        read.unread.append(Unread(files.shown(path), "starts no training: none of the launchers' names"))
        return []
    if len(data) > MAX_PARSED and kind == "json" and b"effbatch" not in data:
        read.unread.append(Unread(files.shown(path), f"{len(data):,} bytes: a vocabulary or a data set, no config"))
        return []
    starts = kind == "shell" or (kind == "yaml" and may_be_manifest(data))
    known = starts or call.custom or call.forced is not None or table.may_be_training(data)
    if not known and not names_bases(data) and not lists_defaults(data):
        if named:
            files.refuse_hostile(path)
        read.unread.append(Unread(files.shown(path), "not a training config: none of the frameworks' keys"))
        return []
    document = files.document(path)
    if kind == "shell":
        return _started(document, call, read)
    found = project.candidates(document, call)
    read.errors.extend(candidate.refusal for candidate in found if candidate.refusal is not None)
    if not found and starts:
        found = _started(document, call, read)
    elif not found:
        read.unread.append(Unread(files.shown(path), "not a training config that is recognised"))
    return found


def _started(document: Document, call: Call, read: Read) -> list[Candidate]:
    from effbatch_lint import scripts  # noqa: PLC0415 - the reading of scripts costs what ten configs cost

    return scripts.candidates(document, call, read)


def _given(options: Options, settings: Settings) -> dict[str, bool]:
    """Every file to look at, each once however it is spelled or linked to, and whether it was named itself."""
    given: dict[str, tuple[str, bool]] = {}
    for path in options.paths or (settings.folder,):
        if os.path.isdir(path) and kind_of(path) is None:
            for name in discovery.files_below(path):
                # The settings are no training config, and not counted among the files that might have been one.
                if os.path.basename(name) in settings_module.FILES:
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
