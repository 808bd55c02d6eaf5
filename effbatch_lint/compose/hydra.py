"""compose: what ``hydra.compose`` gives, without Hydra; every value knows the file and line that set it.

    composition = compose(files, ["conf"], "train", ["data=large", "trainer.devices=8"])
    composition.config.integer("trainer.devices")

Hydra 1.3's rules (``version_base`` 1.2 and 1.3; ``legacy`` for 1.1 and for programs that state none).
Sources: hydra/_internal/config_loader_impl.py, 1.3.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose import defaults_tree, overrides as words, values
from effbatch_lint.compose.interpolation import Interpolations, Unresolvable
from effbatch_lint.compose.layers import Layers
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.compose.repository import Loaded, Repository
from effbatch_lint.compose.sweeps import Choices, Element
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import resolve
from effbatch_lint.source import Span, inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence as AbstractSequence

    from effbatch_lint.compose.defaults_tree import Part
    from effbatch_lint.compose.overrides import Override, Word
    from effbatch_lint.files import Files


class Note(NamedTuple):
    """Something that a person should know and that refuses nothing."""

    span: Span | None
    message: str


class Composition(NamedTuple):
    """A composed primary config.

    Attributes:
        root: the merged tree, without Hydra's own node.
        hydra: what the files and words say of Hydra itself (``hydra.sweeper.params``, ``hydra.mode``).
        parts: the configs that were merged, in order.
        choices: every group choice by its key.
        unknown: packages of which keys may exist that no file holds, and why.
        notes: search path entries that are not read, rules of Hydra 1.4 that are broken.
    """

    root: Mapping
    hydra: Mapping
    parts: tuple[Part, ...]
    choices: dict[str, str | None]
    files: list[str]
    unknown: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()


def compose(
    files: Files,
    folders: AbstractSequence[str],
    primary: str,
    overrides: Iterable[str | Word] = (),
    *,
    store: Callable[[str], Loaded | None] | None = None,
    multirun: bool = False,
    legacy: bool = False,
) -> Composition:
    """Compose the primary config of a search path.

    Args:
        files: reads the files, each once, and nothing outside the project.
        folders: the search path: the program's own config folder, then ``--config-dir``.
        primary: the config's name, with or without ``.yaml``.
        overrides: the words of the command line; ``env:NAME=VALUE`` states an environment variable for ``oc.env``.
        store: the ConfigStore's node at a config path, as far as it is known (compose/config_store.py).
        multirun: ``--multirun``: sweeps and choices that are ``???`` are left out instead of refused.
        legacy: ``version_base`` below 1.2.

    Raises:
        Unreadable: a file cannot be read (EB901), or Hydra would refuse (EB902), at the place and with its reason.
    """
    environment, parsed = _parsed(overrides)
    notes: list[Note] = []
    repository = Repository(files, tuple(folders), store=store, legacy=legacy)
    if not any(os.path.isdir(folder) for folder in repository.folders):
        raise refusal(None, f"Primary config directory not found. Check that the config directory '{folders[0]}' exists")
    repository = _with_search_path(repository, primary, parsed, notes)
    if not multirun:
        _refuse_sweeps(parsed)
    plan = defaults_tree.plan(repository, primary, parsed, environment=environment, multirun=multirun)
    layers = Layers(environment)
    for part in plan.parts:
        _refuse_search_path(part)
        layers.add(part.loaded.root, part.package, part.config_path)
    unknown = tuple((part.package, part.loaded.unknown) for part in plan.parts if part.loaded.unknown is not None)

    def may_exist(key: str) -> str | None:
        return next((why for package, why in unknown if not package or f"{key}.".startswith(f"{package}.")), None)

    values.apply(layers, plan.values, may_exist)
    entries = dict(layers.root.entries)
    hydra = entries.pop("hydra", None)
    read = [part.loaded.path for part in plan.parts if part.loaded.path is not None]
    return Composition(
        root=Mapping(entries, layers.root.span),
        hydra=hydra.value if hydra is not None and isinstance(hydra.value, Mapping) else Mapping({}, None),
        parts=tuple(plan.parts),
        choices=plan.choices,
        files=list(dict.fromkeys(read)),
        unknown=unknown,
        notes=tuple(notes),
    )


def _parsed(given: Iterable[str | Word]) -> tuple[dict[str, str], list[Override]]:
    """The environment that was stated, and the overrides."""
    environment: dict[str, str] = {}
    parsed: list[Override] = []
    for one in given:
        word = words.Word(one) if isinstance(one, str) else one
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
        if not override.sweeps:
            continue
        text = override.word.text
        if isinstance(override.value, Choices) and override.value.simple:
            key, _, value = text.partition("=")
            raise refusal(
                override.word.span,
                f"Ambiguous value for argument '{text}'",
                help=f"as a list: {key}=[{value}]; as text: {key}='{value}'; to sweep over it, add --multirun",
            )
        raise refusal(override.word.span, f"Sweep parameters '{text}' requires --multirun")


# -- the search path ---------------------------------------------------------------------------------------------------


def _with_search_path(
    repository: Repository, primary: str, parsed: list[Override], notes: list[Note]
) -> Repository:
    """The repository with the folders that ``hydra.searchpath`` adds, in the primary or on the command line.

    Only folders of the project are read. ``pkg://`` and ``structured://`` would import code; a config that no folder
    has may then come from there, and is unknown.
    """
    loaded = repository.load(primary)
    if loaded is not None and not isinstance(loaded.root, Mapping):
        raise refusal(loaded.span, f"primary config '{primary}' must be a mapping, and is a list")
    given = next((override for override in parsed if override.choice_key == "hydra.searchpath" and override.action == "change"), None)
    entries: list[tuple[Element, Span | None]]
    if given is not None:
        entries = _listed(given.value, given.word.span)
    elif loaded is not None and isinstance(loaded.root, Mapping):
        entries = _of_primary(loaded.root)
    else:
        entries = []
    folders = list(repository.folders)
    for entry, span in entries:
        if not isinstance(entry, str):
            raise refusal(span, f"hydra.searchpath must be a list of strings. Got: {entry}")
        folder = _folder(repository, entry)
        if folder is not None:
            folders.append(folder)
        else:
            notes.append(Note(span, f"the search path entry {entry} is not a folder of the project, and is not read"))
            repository.hidden.append(entry)
    if len(folders) == len(repository.folders):
        return repository
    extended = repository.extended(tuple(folders))
    return extended


def _listed(value: Element, span: Span | None) -> list[tuple[Element, Span | None]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise refusal(span, f"hydra.searchpath must be a list of strings. Got: {value}")
    return [(one, span) for one in value]


def _of_primary(root: Mapping) -> list[tuple[Element, Span | None]]:
    try:
        entry, path = Interpolations(root).select("hydra.searchpath")
    except Unresolvable:
        return []
    node = entry.value
    if isinstance(node, Scalar) and "${" not in node.text and resolve(node, "omegaconf") is None:
        return []
    if not isinstance(node, Sequence):
        raise refusal(node.span, "hydra.searchpath must be a list of strings")
    found: list[tuple[Element, Span | None]] = []
    for position, item in enumerate(node.items):
        found.append((_text(root, item, (*path, str(position))), item.span))
    return found


def _text(root: Mapping, item: Node, path: tuple[str, ...]) -> Element:
    if not isinstance(item, Scalar):
        return None
    try:
        value = Interpolations(root).scalar(item, path).value
    except Unresolvable:
        return item.text  # an environment variable: no folder of this name exists, and it is reported as not read
    return value if isinstance(value, str) else None


def _folder(repository: Repository, entry: str) -> str | None:
    """The folder of the project that an entry names; a relative one stands below the directory of the run, which is
    the project's root or a folder between it and the configs."""
    scheme, mark, path = entry.partition("://")
    if mark and scheme != "file":
        return None
    path = path if mark else entry
    roots = repository.files.roots
    bases = [repository.files.root]
    above = repository.folders[0]
    while inside(above, roots) and above not in bases:
        above = os.path.dirname(above)
        bases.append(above)
    for base in bases:
        folder = os.path.realpath(os.path.join(base, path))
        if inside(folder, roots) and os.path.isdir(folder):
            return folder
    return None


def _refuse_search_path(part: Part) -> None:
    root = part.loaded.root
    if part.primary or part.config_path == "hydra/config" or not isinstance(root, Mapping):
        return
    node: Node | None = root
    for name in ("hydra.searchpath" if not part.package else "searchpath" if part.package == "hydra" else "").split("."):
        node = node.get(name) if isinstance(node, Mapping) else None
    if node is not None and not (isinstance(node, Scalar) and resolve(node, "omegaconf") is None):
        raise refusal(
            node.span,
            f"In '{part.config_path}': Overriding hydra.searchpath is only supported from the primary config",
        )
