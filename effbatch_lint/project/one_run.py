"""Candidates -> runs: which configs belong to one run, and how its files lie over each other."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.compose.merge import layered, override, stacked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.compose.config import Config
    from effbatch_lint.project.candidates import Candidate


def joined(found: list[Candidate], named: Iterable[str]) -> list[Candidate]:
    """Configs named together that their framework merges into one run (``-d configs 125M.yml local_setup.yml``)."""
    together = {os.path.abspath(path) for path in named}
    groups: dict[str, list[Candidate]] = {}
    for candidate in found:
        alone = candidate.launched is None and len(candidate.document.mappings) == 1
        mergeable = candidate.framework.merges is not None and alone
        if mergeable and candidate.document.source.real in together:
            groups.setdefault(candidate.framework.name, []).append(candidate)
    runs = []
    for group in groups.values():
        one = group[0].framework.merges
        if len(group) > 1 and one is not None and one([part.document.mappings[0] for part in group]):
            runs.append(group)
    parts = {id(candidate) for group in runs for candidate in group}
    return [*(candidate for candidate in found if id(candidate) not in parts), *map(merged, runs)]


def one_run(found: list[Candidate]) -> tuple[Candidate | None, Config | None]:
    """Configs that the settings say are one run: the trainer's own, laid over each other, and the launcher's file.

    An engine's file (DeepSpeed JSON) beside a trainer that names none is read as the one it names. A launch script that
    starts them has put them together itself.
    """
    started = next((candidate for candidate in found if candidate.launched is not None), None)
    if started is not None:
        return started, None
    trainers = [candidate for candidate in found if candidate.framework.role == "trainer"]
    launcher = next((candidate for candidate in found if candidate.framework.role == "launcher"), None)
    engine = next((candidate for candidate in found if candidate.framework.role == "engine"), None)
    if not trainers:
        return (engine or launcher), (launcher.config if launcher is not None and engine is not None else None)
    main = merged(trainers) if len(trainers) > 1 else trainers[0]
    if launcher is not None:
        main.config.files.extend(launcher.config.files)
        main = main._replace(parts=(*main.parts, launcher.document))
    if engine is not None and not main.config.has("deepspeed"):
        root = override(main.config.root, f"deepspeed={engine.document.source.real}", note="files of the recipe")
        main = main._replace(config=main.config.over(root))
    return main, launcher.config if launcher is not None else None


def merged(run: list[Candidate]) -> Candidate:
    """The files of one run as one config, in their order; overrides lie over all of them, once."""
    first = run[0]
    trees = [part.document.mappings[0] for part in run]
    root = stacked(trees) if first.framework.merges is not None else layered(trees)
    if first.launched is not None:
        root = first.launched.over(root)
    for word in first.config.overrides:
        if not word.startswith(("env:", "arg:")):
            root = override(root, word)
    first.config.files.extend(path for part in run[1:] for path in part.config.files)
    parts = tuple(part.document for part in run[1:] if part.document is not first.document)
    return first._replace(config=first.config.over(root), parts=parts)
