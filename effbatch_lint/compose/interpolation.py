"""What an interpolation stands for: a value, a mapping or a list of the tree, and the places that decided it.

OmegaConf's rules: ``${a.b}`` starts at the root, ``${.a}`` at the mapping that holds the text, each further dot one
level up; a whole-value interpolation keeps its type, one inside text gives text; ``???`` and missing keys are errors
when they are read. Nothing is run: a resolver that is not known to be pure makes the value unknown, with its name.

Sources: omegaconf/base.py (_select_impl, _resolve_node_interpolation), omegaconf/resolvers/oc, 2.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as AbstractMapping
from typing import NamedTuple

from effbatch_lint.compose import references, resolvers
from effbatch_lint.compose.config import Place, assumed_at, origin_of
from effbatch_lint.compose.references import Argument, Bare, Call, InQuotes, Literal, Reference, Text
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import Value, resolve
from effbatch_lint.terms import Origin

MISSING = "???"
MAX_STEPS = 1_000

Path = tuple[str, ...]


class Unresolvable(Exception):
    """An interpolation without a value.

    ``absent`` tells a key that does not exist, ``unknown`` a value that only the running program has; without either
    OmegaConf itself fails.
    """

    def __init__(self, reason: str, *, absent: bool = False, unknown: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.absent = absent
        self.unknown = unknown


class Found(NamedTuple):
    """What a text or a key stands for.

    Attributes:
        value: a typed value, or a Mapping or Sequence of the tree.
        origins: the places that decided it, beyond the text itself.
        path: where a Mapping or Sequence really stands.
    """

    value: Value | Mapping | Sequence
    origins: tuple[Origin, ...] = ()
    path: Path = ()


class Interpolations:
    """Resolves the interpolations of one tree. ``root`` may change between calls; nothing is remembered.

    ``assumed`` are numbers that are taken instead of what stands at these places (:meth:`Config.assuming`).
    """

    def __init__(
        self,
        root: Mapping,
        *,
        operations: AbstractMapping[str, resolvers.Operation] = resolvers.PURE,
        environment: AbstractMapping[str, str] | None = None,
        unseen: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.root = root
        self.assumed: AbstractMapping[Place, int] = {}
        self._unseen = unseen
        self._operations = operations
        self._environment = environment or {}
        self._active: list[Path] = []
        self._steps = 0

    def scalar(self, scalar: Scalar, path: Path) -> Found:
        """What the scalar at ``path`` stands for.

        Raises:
            Unresolvable: why it has no value.
        """
        if not self._active:
            self._steps = 0
        assumed = assumed_at(self.assumed, scalar) if self.assumed else None
        if assumed is not None:
            return Found(assumed)
        if scalar.text == MISSING:
            raise Unresolvable(f"{'.'.join(path)} is ???, to be given on the command line")
        if not is_interpolation(scalar):
            return Found(resolve(scalar, "omegaconf"))
        self._steps += 1
        if path in self._active or self._steps > MAX_STEPS or len(self._active) > references.MAX_DEPTH:
            raise Unresolvable("the interpolations refer to each other in a circle, or too many times")
        self._active.append(path)
        try:
            return self._text(_parsed(scalar.text), path)
        except Unresolvable as error:
            # A reference to a missing key is a failure; only the key that was asked for can be absent.
            raise Unresolvable(error.reason, unknown=error.unknown) from None
        finally:
            self._active.pop()

    def select(self, key: str, path: Path = ()) -> tuple[Entry, Path]:
        """The entry at a key, references of mappings on the way followed; the last one as it stands.

        ``key`` is absolute, or starts with dots and is relative to the mapping or list that holds ``path``.

        Raises:
            Unresolvable: there is no such key (``absent``), or a reference on the way has no value.
        """
        at, keys = self._start(key, path)
        node = self._container(at)
        for position, name in enumerate(keys):
            entry = _child(node, name)
            if entry is None:
                self._refuse_unseen(".".join((*at, name)))
                # A word as the index of a list is an error even where oc.select has a default.
                wrong = isinstance(node, Sequence) and not name.lstrip("-").isdecimal()
                raise Unresolvable(f"there is no key {'.'.join((*at, name))}", absent=not wrong)
            here = (*at, name)
            if position == len(keys) - 1:
                return entry, here
            node, at = entry.value, here
            if isinstance(node, Scalar):
                found = self.scalar(node, here) if is_interpolation(node) else Found(None)
                if not isinstance(found.value, (Mapping, Sequence)):
                    raise Unresolvable(
                        f"{'.'.join(here)} is no mapping, and holds no {keys[position + 1]}", absent=True
                    )
                node, at = found.value, found.path
        return Entry("", None, node), at

    def _refuse_unseen(self, key: str) -> None:
        for section, reason in self._unseen:
            if not section or f"{key}.".startswith(f"{section}."):
                raise Unresolvable(f"{key} is in no file: {reason}", unknown=True)

    # -- keys ------------------------------------------------------------------------------------------------------

    def _start(self, key: str, path: Path) -> tuple[Path, list[str]]:
        dots = len(key) - len(key.lstrip("."))
        at: Path = ()
        if dots:
            if dots > len(path):
                raise Unresolvable(f"{key} leads above the root", absent=True)
            at = path[: len(path) - dots]
        rest = key[dots:]
        return at, [first or second for first, second in re.findall(r"([^.\[\]]+)|\[([^\]]*)\]", rest)]

    def _container(self, path: Path) -> Node:
        node: Node = self.root
        for name in path:
            entry = _child(node, name)
            assert entry is not None
            node = entry.value
        return node

    # -- text ------------------------------------------------------------------------------------------------------

    def _text(self, parts: Text, path: Path) -> Found:
        if len(parts) == 1 and not isinstance(parts[0], str):
            return self._interpolation(parts[0], path)
        words: list[str] = []
        origins: tuple[Origin, ...] = ()
        for part in parts:
            if isinstance(part, str):
                words.append(part)
                continue
            found = self._interpolation(part, path)
            if isinstance(found.value, (Mapping, Sequence)):
                raise Unresolvable("a mapping or list stands inside a text", unknown=True)
            words.append(str(found.value))
            origins = _each_once(origins, found.origins)
            if sum(map(len, words)) > references.MAX_LENGTH:
                raise Unresolvable(f"a text of more than {references.MAX_LENGTH:,} characters")
        return Found("".join(words), origins)

    def _interpolation(self, part: Reference | Call, path: Path) -> Found:
        if isinstance(part, Call):
            return self._call(part, path)
        key, origins = self._joined(part.pieces, path)
        found = self._value(key, path)
        if isinstance(found.value, (Mapping, Sequence)) and path[: len(found.path)] == found.path:
            raise Unresolvable(f"{key} is a mapping that holds the interpolation itself")
        return found._replace(origins=_each_once(origins, found.origins))

    def _joined(self, pieces: Text, path: Path) -> tuple[str, tuple[Origin, ...]]:
        """A key or name of which interpolations are a part."""
        words: list[str] = []
        origins: tuple[Origin, ...] = ()
        for piece in pieces:
            if isinstance(piece, str):
                words.append(piece)
                continue
            found = self._interpolation(piece, path)
            if not isinstance(found.value, str):
                raise Unresolvable("a part of a key is no text")
            words.append(found.value)
            origins = _each_once(origins, found.origins)
        return "".join(words), origins

    def _value(self, key: str, path: Path) -> Found:
        entry, at = self.select(key, path)
        own = (origin_of(entry, ".".join(at)),)
        if not isinstance(entry.value, Scalar):
            return Found(entry.value, own, at)
        found = self.scalar(entry.value, at)
        return found._replace(origins=_each_once(own, found.origins))

    # -- resolvers -------------------------------------------------------------------------------------------------

    def _call(self, call: Call, path: Path) -> Found:
        name, origins = self._joined(call.name, path)
        match name:
            case "oc.select":
                return self._select(call.arguments, path)
            case "oc.env":
                return self._environmental(call.arguments, path)
        found = [self._argument(argument, path) for argument in call.arguments]
        origins = _each_once(origins, *(one.origins for one in found))
        values = [one.value for one in found]
        match name, values:
            case "oc.deprecated", [str(key), *_]:
                return self._value(key, path)
            case "oc.decode", [str(text)]:
                decoded = self._decoded(text, path)
                return decoded._replace(origins=_each_once(origins, decoded.origins))
            case "oc.decode", [None]:
                return Found(None, origins)
            case "oc.decode" | "oc.deprecated", _:
                raise Unresolvable(f"{name} takes a text")
        operation = self._operations.get(name)
        if operation is None:
            raise Unresolvable(f"the resolver {name} is known only when the program runs", unknown=True)
        if any(isinstance(value, (Mapping, Sequence)) for value in values):
            raise Unresolvable(f"the resolver {name} is given a mapping or list", unknown=True)
        try:
            return Found(operation(*values), origins)
        except ValueError as error:
            raise Unresolvable(f"the resolver {name} gives no value: {error}") from None

    def _select(self, arguments: tuple[Argument, ...], path: Path) -> Found:
        """``oc.select:key,default``: the default stands in for a missing key and for ???, and not for null."""
        if not 1 <= len(arguments) <= 2:  # noqa: PLR2004 - the key, the default
            raise Unresolvable("oc.select takes a key and a default")
        key, *rest = arguments
        name = self._argument(key, path).value
        if not isinstance(name, str):
            raise Unresolvable("the key of oc.select is no text")
        default: Found | Unresolvable = Found(None)
        if rest:
            try:
                default = self._argument(rest[0], path)
            except Unresolvable as error:
                # OmegaConf reads the default in any case and fails with it; what only the program knows may be fine.
                if not error.unknown:
                    raise
                default = error
        try:
            entry, _ = self.select(name, path)
        except Unresolvable as error:
            if not error.absent:
                raise
        else:
            if not (isinstance(entry.value, Scalar) and entry.value.text == MISSING):
                return self._value(name, path)
        if isinstance(default, Unresolvable):
            raise default
        return default

    def _environmental(self, arguments: tuple[Argument, ...], path: Path) -> Found:
        """``oc.env:NAME,default``: always text. The machine is never asked; the caller may state the variable."""
        name = self._argument(arguments[0], path).value if arguments else None
        given = self._environment.get(str(name))
        if given is not None:
            return Found(given, (Origin(None, f"env:{name}", f"env:{name}={given}"),))
        raise Unresolvable(f"oc.env: the environment variable {name} is known only when the program runs", unknown=True)

    def _decoded(self, text: str, path: Path) -> Found:
        try:
            argument = references.parse_value(text)
        except ValueError as error:
            raise Unresolvable(f"oc.decode cannot read {text!r}: {error}") from None
        return self._argument(argument, path)

    def _argument(self, argument: Argument, path: Path) -> Found:
        match argument:
            case Literal(value=None | bool() | int() | float() | str() as value):
                return Found(value)
            case Bare():
                return self._text(argument.parts, path)
            case InQuotes():
                found = self._text(argument.parts, path)
                if isinstance(found.value, (Mapping, Sequence)):
                    raise Unresolvable("a mapping or list stands inside a text", unknown=True)
                return found._replace(value=str(found.value))
        raise Unresolvable("a list or mapping is given to a resolver", unknown=True)


def _each_once(*several: tuple[Origin, ...]) -> tuple[Origin, ...]:
    if sum(map(len, several)) < 2:  # noqa: PLR2004 - one alone is once already
        return next((origins for origins in several if origins), ())
    return tuple(dict.fromkeys(origin for origins in several for origin in origins))


def is_interpolation(node: Node) -> bool:
    """Whether OmegaConf takes the node for an interpolation (an escaped one counts, since it must be unescaped)."""
    return isinstance(node, Scalar) and "${" in node.text


def _parsed(text: str) -> Text:
    try:
        return references.parse(text)
    except ValueError as error:
        raise Unresolvable(str(error)) from None


def _child(node: Node, name: str) -> Entry | None:
    if isinstance(node, Mapping):
        return node.entries.get(name)
    if isinstance(node, Sequence) and name.isdecimal() and int(name[:9]) < len(node.items):
        return Entry(name, None, node.items[int(name[:9])])
    return None
