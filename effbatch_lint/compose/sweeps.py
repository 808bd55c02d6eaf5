"""What an override can hold beside one value: sweeps over several, and text that was quoted.

Values are Python's own (None, bool, int, float, str, list, dict). :func:`text_of` writes one back as an override's
right-hand side, because Hydra's basic sweeper composes each job from words that it writes and parses anew.

Source: hydra/core/override_parser/types.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Self, TypeAlias


class Quoted(str):
    """Text that stood in quotes: it stays text when it is written and parsed again, whatever it spells."""

    __slots__ = ("mark",)
    mark: str

    def __new__(cls, text: str, mark: str = "'") -> Self:
        """The text, with the quotation mark that stood around it."""
        self = super().__new__(cls, text)
        self.mark = mark
        return self


class Choices(NamedTuple):
    """``a,b,c`` (simple) or ``choice(a,b,c)``."""

    values: list[Element]
    simple: bool = False
    shuffled: bool = False


class Steps(NamedTuple):
    """``range(start, stop, step)``, the stop left out."""

    start: float
    stop: float
    step: float = 1
    shuffled: bool = False

    @property
    def length(self) -> int:
        """How many numbers there are."""
        if all(isinstance(number, int) for number in (self.start, self.stop, self.step)):
            return len(range(int(self.start), int(self.stop), int(self.step) or 1))
        from decimal import Decimal  # noqa: PLC0415 - ranges over fractions are rare

        whole, rest = divmod(Decimal(self.stop) - Decimal(self.start), Decimal(self.step) or 1)
        return max(0, int(whole) + (rest != 0))

    def numbers(self) -> Iterator[float]:
        """The numbers; whole ones as int, others stepped as decimals (0.1 + 0.2 is 0.3)."""
        if all(isinstance(number, int) for number in (self.start, self.stop, self.step)):
            yield from range(int(self.start), int(self.stop), int(self.step))
            return
        from decimal import Decimal  # noqa: PLC0415 - ranges over fractions are rare

        number, stop, step = Decimal(self.start), Decimal(self.stop), Decimal(self.step)
        if step == 0:
            raise ValueError(f"Invalid range values (start:{number}, stop:{stop}, step:{step})")
        while number < stop if step > 0 else number > stop:
            yield float(number)
            number += step


class Interval(NamedTuple):
    """``interval(start, end)``: any number between; only sweepers that sample accept it."""

    start: float
    end: float


class Glob(NamedTuple):
    """``glob(include, exclude)``: the options of a config group whose names match."""

    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()

    def among(self, names: list[str]) -> list[str]:
        """The names that match."""
        from fnmatch import fnmatch  # noqa: PLC0415 - a glob sweep is rare

        return [
            name
            for name in names
            if any(fnmatch(name, shape) for shape in self.include)
            and not any(fnmatch(name, shape) for shape in self.exclude)
        ]


Sweep: TypeAlias = Choices | Steps | Interval | Glob
Element: TypeAlias = "bool | int | float | str | list[Element] | dict[Element, Element] | Sweep | None"

SWEEPS = (Choices, Steps, Interval, Glob)

_SPECIAL = re.compile(r"[\\()\[\]{}:=, \t]")


def text_of(value: Element) -> str:
    """The value as it is written in an override.

    Raises:
        ValueError: a sweep inside a list or dict, which has no spelling.
    """
    if value is None:
        return "null"
    if isinstance(value, Quoted):
        return _in_quotes(value, value.mark)
    if isinstance(value, str):
        return _SPECIAL.sub(lambda found: "\\" + found[0], value)
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{text_of(key)}:{text_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, SWEEPS):
        raise ValueError("a sweep inside a list or dict")  # noqa: TRY004 - refused for its value, as by the grammar
    return str(value)


def _in_quotes(text: str, mark: str) -> str:
    """Backslashes count only before a quotation mark, the closing one included."""
    escaped = re.sub(r"(\\*)" + mark, lambda found: found[1] * 2 + "\\" + mark, text)
    tail = len(escaped) - len(escaped.rstrip("\\"))
    return mark + escaped + "\\" * tail + mark
