"""The stages, wired: files -> documents -> configs -> batches -> findings. No policy of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint import project
from effbatch_lint.files import Files
from effbatch_lint.frameworks import table
from effbatch_lint.launch import Launch
from effbatch_lint.recipe import Recipe
from effbatch_lint.source import Unreadable
from effbatch_lint.terms import Origin, Term

if TYPE_CHECKING:
    from collections.abc import Sequence


class Unread(NamedTuple):
    """A file that gave no recipe, and why."""

    path: str
    reason: str


def explain(
    paths: Sequence[str],
    *,
    world_size: int | None = None,
    overrides: Sequence[str] = (),
    framework: str | None = None,
) -> tuple[list[Recipe], list[Unread], list[Unreadable]]:
    """The recipes that the paths describe."""
    files = Files(project.root_of(paths[0]) if paths else ".")
    chosen = table.by_name(framework) if framework else None
    found: list[project.Candidate] = []
    unread: list[Unread] = []
    broken: list[Unreadable] = []
    for path in paths:
        try:
            document = files.document(path)
        except Unreadable as error:
            broken.append(error)
            continue
        configs = project.candidates(files, document, overrides=overrides, framework=chosen, handed=paths)
        found.extend(configs)
        if not configs:
            unread.append(Unread(files.shown(path), "not a training config that is recognised"))
    launch = Launch.nothing()
    if world_size is not None:
        given = Origin(None, "world_size", f"--world-size {world_size}")
        launch = launch._replace(world_size=Term(world_size, "declared", (given,), key="--world-size"))
    recipes: list[Recipe] = []
    for candidate in project.joined(found):
        try:
            batches = tuple(candidate.framework.read(candidate.config, launch))
        except Unreadable as error:
            broken.append(error)
            continue
        recipes.append(Recipe(candidate.config.path, candidate.config, candidate.framework, launch, batches))
    included = {path for recipe in recipes for path in recipe.config.files if path != recipe.path}
    return [recipe for recipe in recipes if recipe.path not in included], unread, broken
