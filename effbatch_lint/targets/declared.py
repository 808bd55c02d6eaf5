"""What a config itself declares: pragma comments, and the node ``effbatch: {target_global_batch: ..., world_size: ...}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from effbatch_lint.documents.document import MARKS
from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence
from effbatch_lint.documents.pragmas import MAX_DECLARED
from effbatch_lint.findings import Misdeclared
from effbatch_lint.nearest import did_you_mean, nearest
from effbatch_lint.targets.quantity import UNITS, parse_quantity, unit_named
from effbatch_lint.targets.target import Target
from effbatch_lint.terms import Origin, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.nodes import Entry
    from effbatch_lint.documents.pragmas import Pragmas

EXAMPLE = "write effbatch: {target_global_batch: 2048, world_size: 64}"
_MAX_DIGITS = 10  # no job has a billion devices
_Read = TypeVar("_Read")
_OWN_KEYS = frozenset(("target_global_batch", "target_tokens"))
NODE_KEYS = ("target_global_batch", "target_tokens", "unit", "world_size", "tolerance")


class Declared(NamedTuple):
    """Targets and world sizes as the config's files declare them; ``unknown`` are words that do not exist (EB905)."""

    targets: tuple[Target, ...] = ()
    world_sizes: tuple[Term, ...] = ()
    unknown: tuple[Misdeclared, ...] = ()


NOTHING = Declared()


def declared(config: Config | None, pragmas: Pragmas) -> Declared:
    """The declarations of a config: those of its pragmas, then those of its ``effbatch:`` node (of a config, if given)."""
    found = _stated(pragmas)
    entry = None if config is None else config.entry("effbatch")
    if config is not None and entry is not None:
        stated = _Node(config).declared if isinstance(entry.value, Mapping) else _no_mapping(entry)
        found = Declared(
            found.targets + stated.targets, found.world_sizes or stated.world_sizes, found.unknown + stated.unknown
        )
    elif config is not None:
        found = found._replace(unknown=(*found.unknown, *_misspelled(config)))
    return found


def _misspelled(config: Config) -> Iterator[Misdeclared]:
    """A node that holds what only this tool reads, under another name."""
    # The name first: to ask for the value of every key takes all of a file apart.
    for key in [key for key in config.root.entries if any(mark in key for mark in MARKS)]:
        node = config.root.entries[key]
        ours = isinstance(node.value, Mapping) and not node.value.entries.keys().isdisjoint(_OWN_KEYS)
        if ours and nearest(key, ("effbatch",), 0.8) is not None:
            yield Misdeclared(node.span, f"{key} is no node of this tool", "did you mean effbatch?")


def _no_mapping(entry: Entry) -> Declared:
    return Declared(unknown=(Misdeclared(entry.span, "effbatch: declares nothing", EXAMPLE),))


def _stated(pragmas: Pragmas) -> Declared:
    targets = tuple(Target(d.quantity, Origin(d.span, "pragma"), "pragma", d.tolerance) for d in pragmas.targets)
    sizes = tuple(
        Term(value, "declared", (Origin(stated.span, "pragma"),), key="world-size")
        for stated in pragmas.world_sizes
        for value in stated.values
    )
    return Declared(targets, sizes)


class _Node:
    """Reads the ``effbatch:`` node of a config."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._unknown: list[Misdeclared] = []
        self._unit = self._word("unit", unit_named, f"one of {', '.join(UNITS)}")
        self._tolerance = self._word("tolerance", _share, 'a share of the target: 0.01 or "1%"') or 0.0

    @property
    def declared(self) -> Declared:
        """All that the node declares, and what of it does not exist or does not read."""
        targets: list[Target] = []
        world_sizes: list[Term] = []
        node = self._config.node("effbatch")
        assert isinstance(node, Mapping)
        for key, entry in node.entries.items():
            if key in ("target_global_batch", "target_tokens"):
                targets += self._target(key, entry)
            elif key == "world_size":
                world_sizes += self._world_sizes(entry)
            elif key not in NODE_KEYS:
                known = f"the keys are {', '.join(NODE_KEYS)}"
                message = f"effbatch.{key} does not exist"
                self._unknown.append(Misdeclared(entry.span, message, did_you_mean(key, NODE_KEYS, known)))
        return Declared(tuple(targets), tuple(world_sizes), tuple(self._unknown))

    def _target(self, key: str, entry: Entry) -> Iterator[Target]:
        unit = "tokens" if key == "target_tokens" else self._unit
        text = self._config.text(f"effbatch.{key}")
        quantity = None if text is None else parse_quantity(text, unit)
        if quantity is None or (unit is not None and quantity.unit != unit):
            kind = f"number of {unit}" if unit else "number: 2048, 2048 sequences, 8M tokens"
            self._unknown.append(Misdeclared(entry.value.span, f"effbatch.{key} is no {kind}"))
        else:
            origin = Origin(entry.value.span, f"effbatch.{key}")
            yield Target(quantity, origin, "config", self._tolerance)

    def _world_sizes(self, entry: Entry) -> Iterator[Term]:
        values = entry.value.items if isinstance(entry.value, Sequence) else [entry.value]
        if len(values) > MAX_DECLARED:
            self._unknown.append(
                Misdeclared(entry.value.span, f"effbatch.world_size: more than {MAX_DECLARED} numbers of devices")
            )
            return
        for value in values:
            text = value.text if isinstance(value, Scalar) else ""
            if text.isdecimal() and len(text) < _MAX_DIGITS and int(text) > 0:
                origin = Origin(value.span, "effbatch.world_size")
                yield Term(int(text), "declared", (origin,), key="effbatch.world_size")
            else:
                told = f"{text[:40]}, " if text else ""
                self._unknown.append(Misdeclared(value.span, f"effbatch.world_size is {told}no number of devices"))

    def _word(self, key: str, read: Callable[[str], _Read | None], wanted: str) -> _Read | None:
        entry = self._config.entry(f"effbatch.{key}")
        if entry is None:
            return None
        text = self._config.text(f"effbatch.{key}")
        found = None if text is None else read(text)
        if found is None:
            self._unknown.append(Misdeclared(entry.value.span, f"effbatch.{key} is not {wanted}"))
        return found


def _share(text: str) -> float | None:
    """``0.01`` or ``1%``."""
    number = text.removesuffix("%").strip()
    if not number.replace(".", "", 1).isdecimal() or len(number) > _MAX_DIGITS:
        return None
    share = float(number) / (100 if text.endswith("%") else 1)
    return share if share < 1 else None
