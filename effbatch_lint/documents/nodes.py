"""The tree that every format is read into: mappings, sequences and scalars that know where they stand.

A scalar keeps its text; what the text *means* (``1e-5``, ``010``, ``on``) is decided when it is read, by the dialect
of whoever reads the file (:mod:`effbatch_lint.documents.scalars`). A mapping that came from a parser converts its
entries when they are first asked for: a rule that looks at two keys of a thousand pays for two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from effbatch_lint.source import Span


class Scalar:
    """A leaf. ``plain`` tells an unquoted scalar; ``value`` is set where the format itself typed it (TOML, Python), or
    is the ``Unresolved`` of a word that a launch script leaves open."""

    __slots__ = ("plain", "span", "tag", "text", "value")

    def __init__(
        self, text: str, span: Span | None, *, plain: bool = True, tag: str | None = None, value: object = ...
    ) -> None:
        self.text = text
        self.span = span
        self.plain = plain
        self.tag = tag
        self.value = value

    def __repr__(self) -> str:
        return f"Scalar({self.text!r})"


class Computed(Scalar):
    """A leaf that was put together from several places (``$((NODES * GPUS))``): ``further`` are those after ``span``."""

    __slots__ = ("further",)

    def __init__(self, text: str, span: Span | None, further: tuple[Span, ...]) -> None:
        super().__init__(text, span)
        self.further = further


class Entry:
    """A key with its value. ``previous`` are the entries it replaced, the newest first; ``note`` says how it came in
    when no file did ("--override train.bs=4"). A parser hands value and place over as calls, made when they are asked
    for: of a thousand keys a framework reads a dozen.
    """

    __slots__ = ("_span", "_value", "key", "note", "previous")

    def __init__(
        self,
        key: str,
        span: Span | Callable[[], Span] | None,
        value: Node | Callable[[], Node],
        previous: tuple[Entry, ...] = (),
        note: str | None = None,
    ) -> None:
        self.key = key
        self._span = span
        self._value = value
        self.previous = previous
        self.note = note

    @property
    def value(self) -> Node:
        """What the key holds."""
        if callable(self._value):
            self._value = self._value()
        return self._value

    @property
    def span(self) -> Span | None:
        """Where the key stands."""
        if callable(self._span):
            self._span = self._span()
        return self._span


class Sequence:
    """A list of nodes."""

    __slots__ = ("_items", "_load", "span")

    def __init__(self, items: list[Node] | Callable[[], list[Node]], span: Span | None) -> None:
        self._items: list[Node] | None = None if callable(items) else items
        self._load = items if callable(items) else None
        self.span = span

    @property
    def items(self) -> list[Node]:
        """The elements in order."""
        if self._items is None:
            assert self._load is not None
            self._items, self._load = self._load(), None
        return self._items


class Mapping:
    """Keys with values, in order. ``duplicates`` holds the earlier entries of keys that stand twice: the last counts."""

    __slots__ = ("_duplicates", "_entries", "_load", "span")

    def __init__(
        self, entries: dict[str, Entry] | Callable[[], tuple[dict[str, Entry], list[Entry]]], span: Span | None
    ) -> None:
        self._entries: dict[str, Entry] | None = None if callable(entries) else entries
        self._load = entries if callable(entries) else None
        self._duplicates: list[Entry] = []
        self.span = span

    @property
    def entries(self) -> dict[str, Entry]:
        """The entries that count, by key."""
        if self._entries is None:
            assert self._load is not None
            (self._entries, self._duplicates), self._load = self._load(), None
        return self._entries

    @property
    def duplicates(self) -> list[Entry]:
        """Entries that a later entry of the same mapping and key replaced."""
        _ = self.entries
        return self._duplicates

    def get(self, key: str) -> Node | None:
        """The value of a key, or None."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value


Node: TypeAlias = Scalar | Sequence | Mapping


def entry_at(root: Node, path: str) -> Entry | None:
    """The entry at a dotted path (``trainer.devices``, ``data_stages.0.sequence_length``), or None.

    A key that itself holds dots is found too: the whole rest of the path is tried as one key first.
    """
    node: Node = root
    rest = path
    while True:
        if isinstance(node, Mapping):
            entry = node.entries.get(rest)
            if entry is not None:
                return entry
            head, dot, tail = rest.partition(".")
            entry = node.entries.get(head) if dot else None
            if entry is None:
                return None
            node, rest = entry.value, tail
        elif isinstance(node, Sequence):
            head, dot, tail = rest.partition(".")
            if not head.isdecimal() or int(head[:6]) >= len(node.items):
                return None
            node = node.items[int(head[:6])]
            if not dot:
                return Entry(head, node.span, node)
            rest = tail
        else:
            return None


def leaves(root: Node, prefix: str = "", depth: int = 64) -> Iterator[tuple[str, Entry]]:
    """Every entry below ``root`` with its dotted path, to a bounded depth (an alias may hold itself)."""
    if depth and isinstance(root, Mapping):
        for key, entry in root.entries.items():
            path = f"{prefix}.{key}" if prefix else key
            yield path, entry
            yield from leaves(entry.value, path, depth - 1)
