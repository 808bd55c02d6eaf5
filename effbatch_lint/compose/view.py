"""A composed tree as a :class:`Config`: interpolations resolve when a value is asked for, and their places are kept.

A value that came through an interpolation has the origin of what it resolved to and of the interpolation itself, also
where a whole section is one (``critic: ${actor}``): such a section is seen through, so that ``critic.lr`` is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose import references
from effbatch_lint.compose.config import Companion, Config, Unresolved, origin_of
from effbatch_lint.compose.interpolation import MISSING, Interpolations, Path, Unresolvable, is_interpolation
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import Value, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

    from effbatch_lint.compose.resolvers import Operation
    from effbatch_lint.terms import Origin

# Sections that refer to each other may be seen through for ever; a reader that walks the tree must come to an end.
MAX_LINKS = 10_000


def config_of(
    interpolations: Interpolations,
    path: str,
    *,
    files: list[str],
    overrides: tuple[str, ...] = (),
    unseen: tuple[tuple[str, str], ...] = (),
    companion: Companion | None = None,
) -> Config:
    """The configuration in the tree of ``interpolations``."""
    view = _View(interpolations)
    return Config(
        view.root, path, "omegaconf", files=files, overrides=overrides, resolver=view.value, companion=companion,
        unseen=unseen,
    )  # fmt: skip


def seen_through(
    config: Config, tree: Mapping, environment: AbstractMapping[str, str], operations: AbstractMapping[str, Operation]
) -> Config:
    """A plain file's configuration with its references resolved in ``tree``, which is its root and perhaps more."""
    view = _View(Interpolations(tree, operations=operations, environment=environment))
    own = config.root

    def load() -> tuple[dict[str, Entry], list[Entry]]:
        return {key: entry for key, entry in view.root.entries.items() if key in own.entries}, own.duplicates

    return config.resolved_by(view.value).over(Mapping(load, own.span))


class _View:
    """Resolves and sees through the references of one tree."""

    def __init__(self, interpolations: Interpolations) -> None:
        self._interpolations = interpolations
        self._links = 0
        self.root = self._mapping(interpolations.root, ())

    def value(self, config: Config, scalar: Scalar, key: str) -> tuple[Value | Unresolved, tuple[Origin, ...]]:
        """The value of the scalar at ``key``, and the places beside its own that decided it."""
        self._interpolations.assumed = config.assumed
        path, through = self._located(scalar, key)
        if scalar.text == MISSING:
            return Unresolved(f"{key} is ???, and has to be given on the command line"), through
        if not is_interpolation(scalar):
            return resolve(scalar, "omegaconf"), through
        try:
            found = self._interpolations.scalar(scalar, path)
        except Unresolvable as error:
            return Unresolved(f"{key} is {_shortened(scalar.text)}: {error.reason}"), through
        if isinstance(found.value, (Mapping, Sequence)):
            return Unresolved(f"{key} is {_shortened(scalar.text)}, which is no single value"), through
        return found.value, (*through, *found.origins)

    def _located(self, scalar: Scalar, key: str) -> tuple[Path, tuple[Origin, ...]]:
        """Where the scalar that was found under ``key`` really stands, and the references that led there."""
        node: Node = self._interpolations.root
        path: Path = ()
        through: tuple[Origin, ...] = ()
        rest = key
        while rest:
            name, entry = _step(node, rest)
            if entry is None:
                return tuple(key.split(".")), ()
            rest = rest[len(name) + 1 :]
            path, node = (*path, name), entry.value
            if rest and isinstance(node, Scalar):
                through += (origin_of(entry, ".".join(path)),)
                target = self._target(node, path)
                if target is None:
                    return tuple(key.split(".")), ()
                node, path = target
        return (path, through) if node is scalar else (tuple(key.split(".")), ())

    def _target(self, scalar: Scalar, path: Path) -> tuple[Node, Path] | None:
        """The section that a scalar refers to, and where it stands."""
        if not is_interpolation(scalar):
            return None
        try:
            if len(references.parse(scalar.text)) > 1:
                return None  # text around it: never a section
        except ValueError:
            return None
        try:
            found = self._interpolations.scalar(scalar, path)
        except Unresolvable:
            return None
        return (found.value, found.path) if isinstance(found.value, (Mapping, Sequence)) else None

    # -- the tree as it is seen --------------------------------------------------------------------------------------

    def _mapping(self, mapping: Mapping, path: Path) -> Mapping:
        def load() -> tuple[dict[str, Entry], list[Entry]]:
            return {key: self._entry(entry, (*path, key)) for key, entry in mapping.entries.items()}, []

        return Mapping(load, mapping.span)

    def _sequence(self, sequence: Sequence, path: Path) -> Sequence:
        return Sequence(
            lambda: [self._node(item, (*path, str(position))) for position, item in enumerate(sequence.items)],
            sequence.span,
        )

    def _entry(self, entry: Entry, path: Path) -> Entry:
        value = self._node(entry.value, path)
        return entry if value is entry.value else Entry(entry.key, entry.span, value, entry.previous, entry.note)

    def _node(self, node: Node, path: Path) -> Node:
        if isinstance(node, Scalar):
            if not node.text.startswith("${") or self._links > MAX_LINKS:
                return node
            target = self._target(node, path)
            if target is None:
                return node
            self._links += 1
            node, path = target
        if isinstance(node, Mapping):
            return self._mapping(node, path)
        return self._sequence(node, path) if isinstance(node, Sequence) else node


def _step(node: Node, rest: str) -> tuple[str, Entry | None]:
    """One key down, as entry_at takes it: the whole rest first, since a key may hold dots."""
    head = rest.partition(".")[0]
    if isinstance(node, Mapping):
        entry = node.entries.get(rest)
        return (rest, entry) if entry is not None else (head, node.entries.get(head))
    if isinstance(node, Sequence) and head.isdecimal() and int(head[:6]) < len(node.items):
        return head, Entry(head, None, node.items[int(head[:6])])
    return head, None


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004 - a line's worth
