"""A composed configuration: dotted keys -> values, each with the places that decided it.

This is what a framework reads. It hides whether the value came from one file, a merge of several, a Hydra tree or
the command line; asking for a number gives a :class:`~effbatch_lint.terms.Term` that remembers.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AbstractMapping
from typing import TypeAlias

from effbatch_lint.documents.nodes import Computed, Entry, Mapping, Node, Scalar, Sequence, entry_at
from effbatch_lint.documents.scalars import MAX_DIGITS, Dialect, Value, resolve
from effbatch_lint.source import MAX_DEPTH, Span, Unreadable
from effbatch_lint.terms import Origin, Term, unknown


class Unresolved:
    """A value that is there and cannot be known: an interpolation, a resolver, a shell variable; ``reason`` says which."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


Resolver = Callable[["Config", Scalar, str], "tuple[Value | Unresolved, tuple[Origin, ...]]"]
"""Gives a scalar that holds an interpolation its value and the further places that decided it."""

Companion = Callable[[str, str], "Config | None"]
"""Finds and reads the file that a key names: ``(key, name) -> Config``, or None when the project has no such file."""

Place: TypeAlias = "Span | int"
"""Where a number stands, for :meth:`Config.assuming`: a span, or the node itself (its ``id``) when it has none of its own."""


def assumed_at(assumed: AbstractMapping[Place, int], scalar: Scalar) -> int | None:
    """The number that is taken instead of a scalar."""
    found = assumed.get(id(scalar))
    return assumed.get(scalar.span) if found is None and scalar.span is not None else found


class Config:
    """One run's configuration.

    Attributes:
        root: the merged tree.
        path: the file that a person would name for it.
        dialect: how unquoted scalars are typed.
        files: every file that took part, in order of reading.
        overrides: the ``KEY=VALUE`` words that were applied, in order.
        unseen: sections (dotted, empty for the root) that hold more than the files show, each with the reason: a
            configuration that only the running program has. A key that is absent there is unknown, and no default.
        assumed: numbers that are taken instead of what stands at these places (:func:`assumed_at`).
    """

    __slots__ = (
        "_companion", "_resolver", "assumed", "dialect", "files", "overrides", "path", "prefix", "root", "unseen",
    )  # fmt: skip

    def __init__(
        self,
        root: Mapping,
        path: str,
        dialect: Dialect = "pyyaml",
        *,
        files: list[str] | None = None,
        overrides: tuple[str, ...] = (),
        resolver: Resolver | None = None,
        companion: Companion | None = None,
        prefix: str = "",
        unseen: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.root = root
        self.path = path
        self.dialect: Dialect = dialect
        self.files = [path] if files is None else files
        self.overrides = overrides
        self.prefix = prefix
        self.unseen = unseen
        self._resolver = resolver
        self._companion = companion
        self.assumed: AbstractMapping[Place, int] = {}

    def assuming(self, values: AbstractMapping[Place, int]) -> Config:
        """The same configuration and companions as if these numbers stood at these places: to try what a change gives."""
        changed = self._like(self.root, self.prefix, self.dialect)
        changed.assumed = values
        return changed

    def with_dialect(self, dialect: Dialect) -> Config:
        """The same configuration, its scalars typed as another loader would."""
        return self._like(self.root, self.prefix, dialect)

    def section(self, key: str) -> Config | None:
        """The mapping at ``key`` as a configuration of its own; its origins keep the whole key."""
        node = self.node(key)
        return self._like(node, f"{self.prefix}{key}.", self.dialect) if isinstance(node, Mapping) else None

    def over(self, root: Mapping, prefix: str = "") -> Config:
        """The same files, read through another tree (flags normalised to one spelling, a section unwrapped)."""
        return self._like(root, prefix, self.dialect)

    def hiding(self, reason: str) -> Config:
        """The same configuration, of which the files show a part only: a key that is absent is unknown, and no default."""
        hidden = self._like(self.root, self.prefix, self.dialect)
        hidden.unseen = (*self.unseen, ("", reason))
        return hidden

    def of_line(self) -> Config:
        """The same, of a program that takes nothing but its line: what is absent there has the program's default.

        A file that a word names is then no config of the run, whether the project holds it or not.
        """
        found = self._like(self.root, self.prefix, self.dialect)
        found.unseen = ()
        return found

    @property
    def finder(self) -> Companion | None:
        """What finds the files that a key names; the same for every view of the configuration."""
        return self._companion

    def resolved_by(self, resolver: Resolver) -> Config:
        """The same configuration, its references given values by ``resolver``."""
        return self._like(self.root, self.prefix, self.dialect, resolver)

    def _like(self, root: Mapping, prefix: str, dialect: Dialect, resolver: Resolver | None = None) -> Config:
        like = Config(
            root, self.path, dialect, files=self.files, overrides=self.overrides,
            resolver=resolver or self._resolver, companion=self._companion, prefix=prefix, unseen=self.unseen,
        )  # fmt: skip
        like.assumed = self.assumed
        return like

    # -- presence ----------------------------------------------------------------------------------------------

    def entry(self, *keys: str) -> Entry | None:
        """The entry of the first of ``keys`` that is present."""
        for key in keys:
            entry = entry_at(self.root, key)
            if entry is not None:
                return entry
        return None

    def node(self, key: str) -> Node | None:
        """The node at a dotted key, or None."""
        entry = entry_at(self.root, key)
        return None if entry is None else entry.value

    def has(self, *keys: str) -> bool:
        """Whether any of the keys is present with a value that is not null."""
        return any(
            entry is not None and not (isinstance(entry.value, Scalar) and self._typed(entry.value, key)[0] is None)
            for key in keys
            for entry in (entry_at(self.root, key),)
        )

    def count(self, *keys: str) -> int:
        """How many of the keys are present."""
        return sum(entry_at(self.root, key) is not None for key in keys)

    def present(self, *keys: str) -> str | None:
        """The first of the keys that is present with a value, for a message that names it."""
        return next((key for key in keys if self.has(key)), None)

    # -- values ------------------------------------------------------------------------------------------------

    def value(self, *keys: str) -> Value | Unresolved:
        """The typed scalar of the first present key; None when absent, null, or no scalar."""
        for key in keys:
            entry = entry_at(self.root, key)
            if entry is not None:
                return self._typed(entry.value, key)[0] if isinstance(entry.value, Scalar) else None
        hidden = self._hidden(keys)
        return None if hidden is None else Unresolved(hidden)

    def text(self, *keys: str) -> str | None:
        """The value as text, when it is known and not null."""
        value = self.value(*keys)
        return None if value is None or isinstance(value, Unresolved) else str(value)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """A switch: true, or absent with that default. Text such as "true" counts, as argument parsers take it."""
        value = self.value(key)
        if isinstance(value, str):
            return value.strip().lower() in ("true", "yes", "on", "1")
        return default if value is None or isinstance(value, Unresolved) else bool(value)

    def items(self, key: str) -> list[Node]:
        """The elements of the list at ``key``; empty when there is none."""
        node = self.node(key)
        return node.items if isinstance(node, Sequence) else []

    def integer(self, *keys: str, default: int | None = None, text_allowed: bool = True) -> Term:
        """The whole number at the first of ``keys`` that holds a value.

        With none present: the framework's default, or unknown. Text that spells a whole number counts where the
        framework's parser converts it (``text_allowed``), as does a float without a fraction.

        Returns:
            a Term whose ``key`` is the spelling found (the first, when none is).
        """
        for key in keys:
            entry = entry_at(self.root, key)
            if entry is None:
                continue
            term = self._integer(entry, key, text_allowed=text_allowed)
            if term is not None:
                return term
        hidden = self._hidden(keys)
        if hidden is not None:
            return unknown(hidden, key=keys[0])
        if default is not None:
            return Term(default, "default", (), None, None, keys[0])
        return unknown(f"{self.prefix}{keys[0]} is not set", key=keys[0])

    def origin(self, key: str) -> Origin | None:
        """Where the value at ``key`` was set and what it overrode."""
        entry = entry_at(self.root, key)
        return None if entry is None else origin_of(entry, self.prefix + key)

    def place(self, key: str) -> Term:
        """Where a value that is no number stands, for a message: an unknown whose reason is the value as written."""
        entry = entry_at(self.root, key)
        if entry is None or not isinstance(entry.value, Scalar):
            return unknown(key, key=key)
        return unknown(f"{key}: {_quoted(entry.value)}", origin_of(entry, self.prefix + key), key=key)

    def companion(self, key: str) -> Config | None:
        """The configuration in the file that ``key`` names (``deepspeed: ds.json``), or the mapping written in place.

        The file becomes part of this run. None when the key is absent, or the file is not in the project.
        """
        entry = self.entry(key)
        if entry is None:
            return None
        if isinstance(entry.value, Mapping):
            return self.section(key)
        name = self.text(key)
        if isinstance(entry.value, Scalar) and isinstance(entry.value.value, Unresolved):
            name = entry.value.text  # a launch script may write the file under the very words that it names it by
        if not name or self._companion is None:
            return None
        try:
            found = self._companion(key, name)
            return found.assuming(self.assumed) if found is not None and self.assumed else found
        except Unreadable as error:
            # References that form a cycle: it starts at this key.
            raise error.at(entry.value.span) if error.code == "EB902" and entry.value.span else error from None

    def _hidden(self, keys: tuple[str, ...]) -> str | None:
        """Why one of the absent keys may be set where no file shows it; None when none can be."""
        for section, reason in self.unseen:
            for key in keys:
                if not section or f"{self.prefix}{key}".startswith(f"{section}."):
                    return f"{self.prefix}{key} is in no file: {reason}"
        return None

    def _integer(self, entry: Entry, key: str, *, text_allowed: bool) -> Term | None:
        origin = origin_of(entry, self.prefix + key)
        if not isinstance(entry.value, Scalar):
            return unknown(f"{origin.key} is no number", origin, key=key)
        value, further = self._typed(entry.value, key)
        origins = (origin, *further)
        if value is None:
            return None
        if isinstance(value, Unresolved):
            return unknown(value.reason, *origins, key=key)
        if value == "???":
            return unknown(f"{origin.key} is ???, a value that must be given at start", *origins, key=key)
        if isinstance(value, str) and text_allowed:
            digits = value.strip().replace("_", "")
            if digits[digits[:1] in ("+", "-") :].isdecimal() and len(digits) < 20:  # noqa: PLR2004 - no batch has twenty digits
                value = int(digits)
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return unknown(f"{origin.key} is {_quoted(entry.value)}, which is no whole number", *origins, key=key)
        return Term(value, "read", origins, None, None, key)

    def _typed(self, scalar: Scalar, key: str) -> tuple[Value | Unresolved, tuple[Origin, ...]]:
        assumed = assumed_at(self.assumed, scalar) if self.assumed else None
        if assumed is not None:
            return assumed, ()
        if isinstance(scalar.value, Unresolved):
            return scalar.value, ()  # a launch script's word that is not known says why itself
        if self._resolver is not None:
            return self._resolver(self, scalar, self.prefix + key)
        if "${" in scalar.text:
            text = scalar.text if len(scalar.text) <= 80 else f"{scalar.text[:80]}..."  # noqa: PLR2004 - a line's worth
            return Unresolved(f"{self.prefix}{key} is {text}, which is not resolved"), ()
        further = scalar.further if isinstance(scalar, Computed) else ()
        return resolve(scalar, self.dialect), tuple(Origin(span, self.prefix + key) for span in further)


def origin_of(entry: Entry, key: str) -> Origin:
    """The origin of an entry: its value's place, the key as it is spelled there, and the entries it replaced."""
    section, dot, _ = key.rpartition(".")
    spelled = key if key.endswith(entry.key) else f"{section}{dot}{entry.key}"
    return Origin(entry.value.span, spelled, entry.note, tuple(origin_of(previous, key) for previous in entry.previous))


def from_mapping(data: AbstractMapping[str, object], path: str = "<config>") -> Config:
    """A configuration from a Python mapping (``verify`` in a training script): values typed, no places.

    Raises:
        Unreadable: nesting or a number over the limit; a mapping that contains itself is nested without end.
    """
    root = _python_node(data, path, 0)
    assert isinstance(root, Mapping)
    return Config(root, path, files=[])


def _python_node(value: object, path: str, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise Unreadable(Span(path, 1, 1, 1, 1), f"nested deeper than the limit of {MAX_DEPTH} levels")
    if isinstance(value, AbstractMapping):
        below = {str(key): _python_node(item, path, depth + 1) for key, item in value.items()}
        return Mapping({key: Entry(key, None, node) for key, node in below.items()}, None)
    if isinstance(value, (list, tuple)):
        return Sequence([_python_node(item, path, depth + 1) for item in value], None)
    if isinstance(value, int) and value.bit_length() > MAX_DIGITS * 4:
        reason = f"a number of about {value.bit_length() * 3 // 10:,} digits, over the limit of {MAX_DIGITS:,}"
        raise Unreadable(Span(path, 1, 1, 1, 1), reason)
    known = value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
    return Scalar(str(value), None, plain=not isinstance(value, str), value=known)


def _quoted(scalar: Scalar) -> str:
    return scalar.text if scalar.plain and len(scalar.text) <= 40 else repr(scalar.text[:40])  # noqa: PLR2004 - a line's worth
