"""compose: what ``hydra.compose`` gives, without Hydra; every value knows the file and line that set it.

    composition = compose(files, ["conf"], "train", ["data=large", "trainer.devices=8"])
    composition.config.integer("trainer.devices")

Hydra 1.3's rules (``version_base`` 1.2 and 1.3; ``legacy`` for 1.1 and for programs that state none).
Source: hydra/_internal/config_loader_impl.py, 1.3.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose import defaults_tree, search_path, values
from effbatch_lint.compose import overrides as words
from effbatch_lint.compose.config_file import Reader
from effbatch_lint.compose.interpolation import Interpolations
from effbatch_lint.compose.layers import Layers
from effbatch_lint.compose.refusal import NOWHERE, Note, refusal
from effbatch_lint.compose.repository import Repository
from effbatch_lint.compose.resolvers import PURE, Operation
from effbatch_lint.compose.sweeps import Choices
from effbatch_lint.compose.view import config_of
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Companion, Config
    from effbatch_lint.compose.defaults_tree import Part
    from effbatch_lint.compose.overrides import Override, Word
    from effbatch_lint.compose.repository import Store
    from effbatch_lint.files import Files


class Composition(NamedTuple):
    """A composed primary config.

    Attributes:
        config: what a framework reads; its files are those that were merged, in that order.
        root: the merged tree as it is written, interpolations unresolved, without Hydra's own node.
        hydra: what the files and words say of Hydra itself (``sweeper.params``, ``mode``).
        parts: the configs that were merged, in order.
        choices: every group choice by its key.
        repository: the search path, with the options of every group.
        notes: what refuses nothing and should be known: search path entries that are not read, rules of Hydra 1.4.
    """

    config: Config
    root: Mapping
    hydra: Mapping
    parts: tuple[Part, ...]
    choices: dict[str, str | None]
    repository: Repository
    notes: tuple[Note, ...] = ()


def compose(
    files: Files,
    folders: AbstractSequence[str],
    primary: str,
    overrides: Iterable[str | Word] = (),
    *,
    reader: Reader | None = None,
    operations: AbstractMapping[str, Operation] = PURE,
    store: Store | None = None,
    multirun: bool = False,
    legacy: bool = False,
    companion: Callable[[list[str]], Companion] | None = None,
) -> Composition:
    """Compose the primary config of a search path.

    Args:
        files: reads the files, each once, and nothing outside the project.
        folders: the search path: the program's own config folder, then ``--config-dir``.
        primary: the config's name, with or without ``.yaml``.
        overrides: the words of the command line; ``env:NAME=VALUE`` states an environment variable for ``oc.env``.
        reader: to be shared by the compositions of one call, so that each config file is looked at once.
        operations: the resolvers that are evaluated, by name.
        store: the ConfigStore's node at a config path, as far as it is known (compose/config_store.py).
        multirun: ``--multirun``: sweeps and choices that are ``???`` are left out instead of refused.
        legacy: ``version_base`` below 1.2.
        companion: makes the finder of files that a key names, given the list to which it adds what it reads.

    Raises:
        Unreadable: a file cannot be read (EB901), or Hydra would refuse (EB902), at the place and with its reason.
    """
    given = [words.Word(word) if isinstance(word, str) else word for word in overrides]
    repository = Repository(reader or Reader(files), tuple(folders), store=store, legacy=legacy)
    try:
        return _composed(repository, primary, given, operations, companion, multirun=multirun)
    except Unreadable as error:
        if error.span != NOWHERE:
            raise
        # An override stands in no file: the primary that it does not fit is the place that a person can open.
        raise refusal(repository.place_of(primary), error.reason, error.help) from None


def _composed(
    repository: Repository,
    primary: str,
    given: list[Word],
    operations: AbstractMapping[str, Operation],
    companion: Callable[[list[str]], Companion] | None,
    *,
    multirun: bool,
) -> Composition:
    environment, parsed = _parsed(given)
    if not any(os.path.isdir(folder) for folder in repository.folders):
        folder = repository.folders[0] if repository.folders else ""
        raise refusal(None, f"Primary config directory not found. Check that the config directory '{folder}' exists")
    repository, notes = search_path.extended(repository, primary, parsed)
    if not multirun:
        _refuse_sweeps(parsed)
    plan = defaults_tree.plan(repository, primary, parsed, environment=environment, multirun=multirun)
    layers = Layers(environment)
    paths = [part.config_path for part in plan.parts]
    repeated = {path for path in paths if paths.count(path) > 1} if len(set(paths)) < len(paths) else set()
    for part in plan.parts:
        search_path.refuse_elsewhere(part)
        for loaded in (part.loaded.schema, part.loaded):
            if loaded is not None:
                layers.add(loaded.root, part.package, part.config_path, again=part.config_path in repeated)
    unseen = tuple(
        (part.package, loaded.unknown)
        for part in plan.parts
        for loaded in (part.loaded.schema, part.loaded)
        if loaded is not None and loaded.unknown is not None
    )
    values.apply(layers, plan.values, unseen)

    entries = dict(layers.root.entries)
    hydra = entries.pop("hydra", None)
    root = Mapping(entries, layers.root.span)
    read = list(dict.fromkeys(part.loaded.path for part in plan.parts if part.loaded.path is not None))
    main = next((part.loaded.path for part in plan.parts if part.primary and part.loaded.path is not None), primary)
    config = config_of(
        Interpolations(root, operations=operations, environment=environment, unseen=unseen),
        main,
        files=read,
        overrides=tuple(word.text for word in given),
        unseen=unseen,
        companion=companion(read) if companion is not None else None,
    )
    own = hydra.value if hydra is not None and isinstance(hydra.value, Mapping) else Mapping({}, None)
    return Composition(config, root, own, tuple(plan.parts), plan.choices, repository, (*notes, *plan.notes))


def _parsed(given: list[Word]) -> tuple[dict[str, str], list[Override]]:
    """The environment that was stated, and the overrides."""
    environment: dict[str, str] = {}
    parsed: list[Override] = []
    for word in given:
        if word.text.startswith("env:"):
            name, _, value = word.text.removeprefix("env:").partition("=")
            environment[name] = value
        elif not word.text.startswith("arg:"):
            try:
                parsed.append(words.parse(word))
            except ValueError as error:
                raise refusal(word.span, str(error)) from None
    return environment, parsed


def _refuse_sweeps(parsed: list[Override]) -> None:
    for override in parsed:
        text = override.word.text
        if isinstance(override.value, Choices) and override.value.simple:
            key, _, value = text.partition("=")
            raise refusal(
                override.word.span,
                f"Ambiguous value for argument '{text}'",
                help=f"as a list: {key}=[{value}]; as text: {key}='{value}'; to sweep over it, add --multirun",
            )
        if override.sweeps:
            raise refusal(override.word.span, f"Sweep parameters '{text}' requires --multirun")
