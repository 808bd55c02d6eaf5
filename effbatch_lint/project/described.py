"""The recipes that the settings describe: files that are one run, with what is declared of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.documents.document import kind_of
from effbatch_lint.project import recipes
from effbatch_lint.project.one_run import one_run
from effbatch_lint.project.reading import forced, nothing, read_file
from effbatch_lint.source import Span, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.call import Call, Read
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.recipe import Recipe


def described(call: Call, read: Read) -> list[Recipe]:
    """The recipes that the settings describe, of which a file is among those given."""
    out: list[Recipe] = []
    wanted = {os.path.abspath(path) for path in call.given}
    given = {call.files.shown(path) for path in call.given}
    settings_changed = call.settings.path is not None and os.path.abspath(call.settings.path) in wanted
    for each in call.settings.recipes:
        paths = [os.path.abspath(path) for path in each.files]
        gone = [call.files.shown(path) for path in paths if not os.path.lexists(path)]
        if gone:
            # Whatever else was asked for: a recipe that lost its file is guarded by nobody.
            reason = f"the settings describe a recipe with the file {gone[0]}, which does not exist"
            read.errors.append(Unreadable(each.span or Span(gone[0], 1, 1, 1, 1), reason))
            continue
        asked = settings_changed or bool(wanted.intersection(paths))
        if not asked and not call.handed:
            continue
        changed = call._replace(
            options=call.options._replace(overrides=(*each.overrides, *call.options.overrides)),
            forced=forced(each.framework, call.custom) or call.forced,
            handed=paths,
        )
        try:
            main, accelerate = one_run(_parts(each.files, changed, read if asked else nothing(call)))
            if main is not None:
                found = recipes.from_candidate(main, changed, each, accelerate)
                # A file that was named may be a part which none of the recipe's own files shows: a group's option.
                out += [recipe for recipe in found if asked or given.intersection(recipe.config.files)]
            elif asked:
                reason = "the settings describe a recipe of files that are of no framework that is recognised"
                read.errors.append(Unreadable(each.span or Span(paths[0], 1, 1, 1, 1), reason, code="EB104"))
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
    found = {path: read_file(path, call, read, named=True) for path in files}
    trainer = next((c for parts in found.values() for c in parts if c.framework.role == "trainer"), None)
    if trainer is not None:
        as_trainer = call._replace(forced=trainer.framework)
        for path, parts in found.items():
            if not parts and kind_of(path) == trainer.document.kind:
                found[path] = read_file(path, as_trainer, read, named=True)
    return [candidate for parts in found.values() for candidate in parts]
