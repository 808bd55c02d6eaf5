"""Configs -> recipes: the world size that holds for each, its launch, its batches and its targets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.launch import Launch
from effbatch_lint.project.world_sizes import world_sizes
from effbatch_lint.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.batch import Batch
    from effbatch_lint.call import Call
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.document import Document
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.project.launched import Launched
    from effbatch_lint.settings.records import RecipeSettings
    from effbatch_lint.targets.declared import Declared
    from effbatch_lint.terms import Term


def from_candidate(
    candidate: Candidate, call: Call, described: RecipeSettings | None = None, accelerate: Config | None = None
) -> list[Recipe]:
    """One recipe for each world size that is given for the config; one with an unknown world size when none is.

    The nearest statement holds: the call's own (``--world-size``), the settings' entry for the recipe, the config's
    pragma or ``effbatch:`` node, the launch line, the settings for the whole project.

    Raises:
        Unreadable: a file that the config names cannot be read.
    """
    found = _recipes(candidate, call, described, accelerate, [])
    # Which files a config names is known only when its batch was read; few of them declare anything.
    companions = candidate.companions.documents
    speaking = [each for each in companions if each.speaks and each is not candidate.document]
    return _recipes(candidate, call, described, accelerate, speaking) if speaking else found


def _recipes(
    candidate: Candidate,
    call: Call,
    described: RecipeSettings | None,
    accelerate: Config | None,
    companions: Sequence[Document],
) -> list[Recipe]:
    options, settings = call.options, call.settings
    in_file = _in_files(candidate, call, companions)
    declared = (described.world_sizes if described is not None else ()) or (
        in_file.world_sizes if in_file is not None else ()
    )
    chosen, contradicted = world_sizes(options.world_sizes, declared, candidate, settings.world_sizes)
    # Settings that override a config describe a variant of it: what the file declares is said of the file as it stands.
    variant = described is not None and bool(described.overrides and described.targets)
    targets = (
        *((options.target,) if options.target is not None else ()),
        *(in_file.targets if in_file is not None and not variant else ()),
        *((described.targets or settings.targets) if described is not None else settings.targets),
    )
    unknown = in_file.unknown if in_file is not None else ()
    runner_up = candidate.runner_up.name if candidate.runner_up is not None else None
    recipes = []
    for world_size in chosen:
        run = candidate if candidate.launched is None else _on_devices(candidate, world_size)
        launch = _launch(run)
        started = launch._replace(world_size=world_size, accelerate=accelerate or launch.accelerate)
        batches = _batches(run, started, chosen, contradicted)
        name = described.name if described is not None else _name(run, batches)
        others = tuple(other for other in chosen if other is not world_size)
        if others:
            name = f"{name or run.path} @ {world_size.value}"
        missing = tuple(dict.fromkeys(run.companions.missing))
        recipes.append(
            Recipe(
                run.path, run.config, run.framework, started, batches, targets, name, unknown, missing, run.notes,
                _remarking(run), runner_up, run.lines, others,
            )
        )  # fmt: skip
        for other in (launch.accelerate, launch.settings):
            if other is not None:
                # Read only now: the launch file's own companion (a DeepSpeed JSON) is among them.
                run.config.files.extend(path for path in other.files if path not in run.config.files)
    return recipes


def _on_devices(candidate: Candidate, size: Term) -> Candidate:
    from effbatch_lint.project.on_devices import on_devices  # noqa: PLC0415 - only a script leaves its devices open

    return on_devices(candidate, size)


def _launch(run: Candidate) -> Launch:
    return run.launched.launch if run.launched is not None else Launch.nothing()


def _batches(run: Candidate, started: Launch, chosen: tuple[Term, ...], contradicted: Term | None) -> tuple[Batch, ...]:
    """The framework's batches, with what the launch line, or the launch file beside the config, adds to the first."""
    batches = tuple(run.framework.read(run.config, started))
    if not batches:
        return batches
    if run.launched is not None:
        first = _checked(batches[0], run.launched, contradicted)
        file = started.accelerate if started.launcher == "accelerate" and started.nodes.value != 1 else None
        if file is not None and run.framework.role != "launcher":
            first = _whole(first, file)
        return (first, *batches[1:])
    file = run.config if run.framework.role == "launcher" else started.accelerate
    return batches if file is None else (_beside(batches[0], file, chosen), *batches[1:])


def _name(candidate: Candidate, batches: tuple[Batch, ...]) -> str | None:
    """What tells the run from others of its file: what was chosen, and of a sweep the values that decide its batch."""
    if not candidate.swept:
        return f"{candidate.name or candidate.path} with {candidate.choice}" if candidate.choice else candidate.name
    origins = [origin for batch in batches for term in batch.terms().values() for origin in term.origins]
    keys = {origin.key for origin in origins}
    folders = {os.path.dirname(origin.span.path) for origin in origins if origin.span is not None}
    swept = []
    for word in candidate.swept:
        key = word.partition("=")[0].lstrip("+~")
        group = os.path.join(os.path.dirname(candidate.path), key.partition("@")[0])
        if key in keys or (key in candidate.choices and any(f"{one}/".startswith(f"{group}/") for one in folders)):
            swept.append(word)
    told = " ".join((*swept, candidate.choice)).strip()
    return f"{candidate.name or candidate.path} with {told}" if told else candidate.name


def _remarking(candidate: Candidate) -> tuple[str, ...]:
    """A comment speaks of the run as its file stands; of one that this tool chose, the comments of what is new in it."""
    files = candidate.config.files
    if not candidate.choice or candidate.declaring is None:
        return tuple(files)
    new = {document.source.path for document in candidate.declaring}
    return tuple(path for path in files if path in new)


def _in_files(candidate: Candidate, call: Call, companions: Sequence[Document]) -> Declared | None:
    """What the files of a run declare, the first that states a world size before the others: the launch script, what a
    choice of Hydra's brings in, the config itself, the parts it is composed of, and the files that it names."""
    script = () if candidate.launched is None else (candidate.launched.script,)
    own = (candidate.document,) if candidate.declaring is None else candidate.declaring
    declaring: tuple[Document, ...] = (*script, *own, *candidate.parts, *companions)
    others: tuple[Document, ...] = ()
    if candidate.declaring is not None:
        others = call.files.parsed_of(candidate.config.files)
    found: Declared | None = None
    scripted = any(candidate.document.source.real == one.source.real for one in script)
    of_run = {document.source.real for document in _nearest(declaring, script, candidate, call)}
    of_config = {document.source.real for document in (*script, *own)}
    for real, document in {one.source.real: one for one in (*declaring, *others)}.items():
        lines = candidate.lines if document is candidate.document and not scripted else None
        stated = _declared(candidate.config if real in of_config else None, document, call, lines)
        if stated is not None and real not in of_run:
            stated = stated._replace(targets=())
        found = _joined(found, stated)
    return found


def _nearest(
    declaring: tuple[Document, ...], script: tuple[Document, ...], candidate: Candidate, call: Call
) -> tuple[Document, ...]:
    """Those of a run's files whose targets count.

    Words of a command line make another run of a Hydra tree than the one that its primary config declares a target for:
    the script's declaration stands before that of a chosen part, and this before the primary's.
    """
    if candidate.declaring is None or all(word.startswith(("env:", "arg:")) for word in candidate.config.overrides):
        return declaring
    parts = tuple(one for one in declaring if one.source.path != candidate.config.path and one.kind != "shell")
    for level in (script, parts):
        if any((stated := _declared(None, document, call)) is not None and stated.targets for document in level):
            return level
    return declaring


def _joined(first: Declared | None, second: Declared | None) -> Declared | None:
    """What two files of a run declare."""
    if first is None or second is None:
        return first or second
    return second._replace(
        targets=tuple(dict.fromkeys((*first.targets, *second.targets))),
        world_sizes=first.world_sizes or second.world_sizes,
        unknown=tuple(dict.fromkeys((*first.unknown, *second.unknown))),
    )


def _checked(batch: Batch, launched: Launched, stated: Term | None) -> Batch:
    from effbatch_lint.launch_checks import checked  # noqa: PLC0415 - only a script states a launch

    return checked(batch, launched.launch, stated, alone=launched.alone)


def _whole(batch: Batch, file: Config) -> Batch:
    """The batch of a run that accelerate's line starts on machines which its processes may not divide."""
    from effbatch_lint.frameworks.parts.accelerate_launch import left_over  # noqa: PLC0415 - as above

    return batch._replace(problems=(*batch.problems, *left_over(file)))


def _beside(batch: Batch, file: Config, declared: tuple[Term, ...]) -> Batch:
    """The batch of a run whose launch file is at hand; several declared sizes are several jobs, one of them the file's."""
    from effbatch_lint.frameworks.parts.accelerate_launch import other_world  # noqa: PLC0415 - few runs have a launch file

    found = tuple(other_world(file, declared))
    return batch._replace(problems=(*batch.problems, *found)) if found else batch


def _declared(
    config: Config | None, document: Document, call: Call, lines: tuple[int, int] | None = None
) -> Declared | None:
    """What the config's own files declare; None, at no cost, for a file that does not hold the word.

    Args:
        config: the run's, for its ``effbatch:`` node; None for a further file, whose comments alone speak.
        document: the file.
        call: the files.
        lines: those that count, in a file of several documents.
    """
    if not document.speaks:
        return None
    from effbatch_lint.targets.declared import declared  # noqa: PLC0415 - most configs declare nothing

    pragmas = call.files.pragmas(document)
    if lines is not None:
        from effbatch_lint.documents.pragmas import within  # noqa: PLC0415 - as above

        pragmas = within(pragmas, lines)
    return declared(config, pragmas)
