"""Configs -> recipes: the world size that holds for each, its launch, its batches and its targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.launch import Launch
from effbatch_lint.recipe import Recipe
from effbatch_lint.terms import Origin, Term

if TYPE_CHECKING:
    from effbatch_lint.call import Call
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.document import Document
    from effbatch_lint.project import Candidate
    from effbatch_lint.settings import RecipeSettings
    from effbatch_lint.targets.declared import Declared


def from_candidate(
    candidate: Candidate, call: Call, described: RecipeSettings | None = None, accelerate: Config | None = None
) -> list[Recipe]:
    """One recipe for each world size that is given for the config; one with an unknown world size when none is.

    The nearest statement holds: the call's own (``--world-size``), the settings' entry for the recipe, the config's
    pragma or ``effbatch:`` node, the settings for the whole project.

    Raises:
        Unreadable: a file that the config names cannot be read.
    """
    config, framework = candidate.config, candidate.framework
    options, settings = call.options, call.settings
    in_file = _declared(config, candidate.document, call)
    chosen = (
        tuple(
            Term(size, "declared", (Origin(None, "--world-size", f"--world-size {size}"),), key="--world-size")
            for size in options.world_sizes
        )
        or (described.world_sizes if described is not None else ())
        or (in_file.world_sizes if in_file is not None else ())
        or settings.world_sizes
        or (Launch.nothing().world_size,)
    )
    targets = (
        *((options.target,) if options.target is not None else ()),
        *(in_file.targets if in_file is not None else ()),
        *((described.targets or settings.targets) if described is not None else settings.targets),
    )
    recipes = []
    for world_size in chosen:
        launch = Launch(world_size, accelerate=accelerate)
        batches = tuple(framework.read(config, launch))
        name = described.name if described is not None else None
        if len(chosen) > 1:
            name = f"{name or config.path} @ {world_size.value}"
        unknown = in_file.unknown if in_file is not None else ()
        missing = tuple(dict.fromkeys(candidate.companions.missing))
        recipes.append(Recipe(config.path, config, framework, launch, batches, targets, name, unknown, missing))
    return recipes


def _declared(config: Config, document: Document, call: Call) -> Declared | None:
    """What the config's own files declare; None, at no cost, for a file that does not hold the word."""
    if "ffbatch" not in document.source.text:
        return None
    from effbatch_lint.targets.declared import declared  # noqa: PLC0415 - most configs declare nothing

    return declared(config, call.files.pragmas(document))
