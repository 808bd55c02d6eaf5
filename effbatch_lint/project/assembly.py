"""A call -> its recipes: the runs that its files describe, each once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.call import Read, Unread
from effbatch_lint.compose.refusal import open_choice
from effbatch_lint.project import recipes
from effbatch_lint.project.described import described
from effbatch_lint.project.one_run import joined
from effbatch_lint.project.parts import through
from effbatch_lint.project.reading import is_template, read_file, too_deep
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.call import Call
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.recipe import Recipe


def read_all(call: Call) -> Read:
    """The recipes of a call, with what is wrong with its files and what gave none."""
    read = Read(call.files, call.settings, [], [], [], set(), {call.files.shown(path) for path in call.given})
    found = _found(call, read)
    including = through(found, call, read)
    of_settings = described(call, read)
    runs = joined([*found, *including], call.handed)
    covered = {path for recipe in of_settings for path in recipe.config.files} | read.failed
    # Settings that override a config describe a variant of it: what it declares itself is said of it as it stands.
    varied = {recipe.path for recipe in of_settings if set(recipe.config.overrides).difference(call.options.overrides)}
    for candidate in runs:
        new = {one.source.path for one in candidate.declaring or ()} if candidate.choice else set()
        speaks = candidate.path in varied and not candidate.choice and candidate.document.speaks
        if candidate.path not in covered or not new <= covered or speaks:
            _read(candidate, call, read)
    _each_once(runs, of_settings, read)
    if (including and call.handed) or call.looked_up:
        # What was looked up speaks only where it turned out to include a file that was asked for.
        asked = {call.files.shown(path) for path in call.given if path not in call.looked_up}
        looked_up = {*call.looked_up, *(candidate.config.path for candidate in including)}
        read.recipes[:] = [r for r in read.recipes if r.path not in looked_up or asked.intersection(r.config.files)]
    return read


def _found(call: Call, read: Read) -> list[Candidate]:
    """What each file gives by itself."""
    found: list[Candidate] = []
    for path, named in call.given.items():
        try:
            found += read_file(path, call, read, named=named)
        except RecursionError:
            read.errors.append(too_deep(path, call))
        except Unreadable as error:
            if is_template(path, call.files):
                read.unread.append(Unread(call.files.shown(path), f"a template, not a config yet: {error.reason}"))
            elif error.code == "EB902" and open_choice(error) is not None:
                # A command line makes the choice; the runs with each of the options are looked at in its stead.
                read.unread.append(Unread(call.files.shown(path), error.reason))
            elif named or error.code != "EB902" or _is_started(path, call):
                read.errors.append(error)
                read.failed.add(call.files.shown(path))
            else:
                # A defaults list that does not resolve from the file's own folder may be a part of a larger tree.
                read.unread.append(Unread(call.files.shown(path), error.reason, refused=True))
    return found


def _is_started(path: str, call: Call) -> bool:
    """Whether a program of the project names a config as its primary: what Hydra refuses in it, it refuses for good."""
    folder, name = os.path.split(os.path.realpath(path))
    named = {one for program in call.code.of(folder).programs(folder) for one in program.names}
    return name.rpartition(".")[0] in {one.removesuffix(".yaml").removesuffix(".yml") for one in named}


def _read(candidate: Candidate, call: Call, read: Read) -> None:
    """The recipes of a run, or why there are none."""
    try:
        read.recipes.extend(recipes.from_candidate(candidate, call))
    except RecursionError:
        read.errors.append(too_deep(candidate.config.path, call))
    except Unreadable as error:
        read.errors.append(error)
        read.failed.add(candidate.path)


def _each_once(runs: list[Candidate], of_settings: list[Recipe], read: Read) -> None:
    """Keep one recipe of each run, and none of a file that is only a part of another's."""
    # Jobs of a sweep that differ in nothing which decides the batch are one recipe.
    paths = [recipe.path for recipe in read.recipes]
    if len(set(paths)) < len(paths):
        read.recipes[:] = {_answer(recipe): recipe for recipe in reversed(read.recipes)}.values()
        read.recipes.reverse()
    # A file that another recipe names is a part of that recipe, and none of its own.
    included = {path for recipe in (*of_settings, *read.recipes) for path in recipe.config.files if path != recipe.path}
    # A config that another one stands on is a recipe all the same; a part that another one names is none.
    included -= {base for candidate in runs for base in candidate.bases}
    read.recipes[:] = [
        *of_settings,
        *(r for r in read.recipes if r.path not in included or _is_new(r, read.recipes) or _guards(r, read.recipes)),
    ]
    read.unread[:] = [unread for unread in dict.fromkeys(read.unread) if unread.path not in included]


def _answer(recipe: Recipe) -> object:
    """What tells one of several runs of a file from the others: its name, its targets and its numbers."""
    if recipe.name is None and not recipe.batches:
        return id(recipe)
    parts = () if recipe.name is not None else (recipe.lines, *recipe.config.files)
    return recipe.path, recipe.name, recipe.targets, *parts, *(str(batch.as_dict()) for batch in recipe.batches)


def _is_new(recipe: Recipe, recipes: Iterable[Recipe]) -> bool:
    """Whether a run of Hydra's holds files that no other recipe which includes its primary holds."""
    others = [other for other in recipes if other.path != recipe.path and recipe.path in other.config.files]
    return recipe.name is not None and not any(
        set(other.config.files).issuperset(recipe.config.files) for other in others
    )


def _guards(recipe: Recipe, recipes: Iterable[Recipe]) -> bool:
    """Whether a run declares what is held against no run that includes it: a script that launches a tree of Hydra's
    makes choices of its own, and what the primary declares is said of the primary as it stands."""
    targets = set(recipe.targets)
    others = (other for other in recipes if other.path != recipe.path and recipe.path in other.config.files)
    return bool(targets) and not any(targets.issubset(other.targets) for other in others)
