"""Numbers as people declare them: ``2048``, ``2,048``, ``8M``, ``8.4M tokens``, ``64k``, ``4 Mi``.

A declared number is compared at its own precision: ``8M`` stands for 7.5M to 8.5M, ``8.4M`` for 8.35M to 8.45M, ``1M``
for 0.95M to 1.5M, and ``2048`` for 2,048 only. People also say 16M for 16,777,216, so that the binary multiple meets a rounded number too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.terms import Number

UNITS = (
    "sequences", "samples", "pairs", "completions", "prompts", "images", "utterances", "tokens", "seconds", "bins",
)  # fmt: skip
"""What a batch may be counted in: the units of :class:`~effbatch_lint.batch.Batch`."""

NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)(?:\.[0-9]+)?"
"""A number's digits: plain, in groups of three by commas, or with underscores."""
SUFFIX = r"[kKmMgGtT]i|[kKmMbBgGtT]"
"""What multiplies a number: decimal K, M, B (G and T beside them), binary with an i."""

_POWERS = {"k": 1, "m": 2, "b": 3, "g": 3, "t": 4}
# No batch has thirty digits; without a limit a hostile file makes Python convert millions of them.
_MAX_DIGITS = 30
_QUANTITY = re.compile(rf"\s*({NUMBER})\s?({SUFFIX})?(?:\s*\b([A-Za-z]+))?\s*")


class Quantity(NamedTuple):
    """A declared number with its precision.

    Attributes:
        value: the number itself (8,000,000 for ``8M``), cut to a whole one.
        text: as it is written, without the unit.
        unit: ``sequences``, ``tokens``, ...; None when the declaration names none.
        bounds: the least and the greatest number that meet it, as numerators over ``scale``.
        scale: the denominator of the bounds.
        binary: the binary multiple that meets it too (16,777,216 for ``16M``), over ``scale``.
    """

    value: int
    text: str
    unit: str | None
    bounds: tuple[int, int]
    scale: int = 1
    binary: int | None = None

    @property
    def words(self) -> str:
        """The number with its unit: ``8.4M tokens``."""
        return f"{self.text} {self.unit}" if self.unit else self.text

    def meets(self, number: Number) -> bool:
        """Whether a computed number is the declared one, at the declaration's own precision."""
        scaled = number * self.scale
        return self.bounds[0] <= scaled <= self.bounds[1] or scaled == self.binary

    def meets_multiple(self, of: Number) -> bool:
        """Whether ``of``, or a whole multiple of it, meets the declaration."""
        if of <= 0:
            return False
        step = of * self.scale
        largest = self.bounds[1] // step * step
        return largest >= max(self.bounds[0], step) or (self.binary is not None and self.binary % step == 0)

    def widened(self, percent: int) -> Quantity:
        """The same number, met by every number within so many percent of it."""
        room = self.value * self.scale * percent
        middle = self.value * self.scale * 100
        return self._replace(
            bounds=(min(self.bounds[0] * 100, middle - room), max(self.bounds[1] * 100, middle + room)),
            scale=self.scale * 100,
            binary=None if self.binary is None else self.binary * 100,
        )


def parse_quantity(text: str, unit: str | None = None) -> Quantity | None:
    """The quantity in the whole of ``text``; ``unit`` is taken where the text names none.

    None when it is no number of one at least, or when the word after it is no unit.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or len(match[1]) > _MAX_DIGITS:
        return None
    digits, suffix, word = match.groups()
    named = unit if word is None else unit_named(word)
    if word is not None and named is None:
        return None
    whole, _, decimals = digits.replace(",", "").replace("_", "").partition(".")
    significand = int(whole + decimals)
    power = _POWERS[suffix[0].lower()] if suffix else 0
    is_binary = suffix is not None and suffix.endswith("i")
    numerator = significand * (1024 if is_binary else 1000) ** power
    scale = 10 ** len(decimals)
    if numerator < scale:
        return None
    # A number without a suffix is exact; so is 64 Ki, for who writes the i counts in powers of two.
    rounded = suffix is not None and not (is_binary and numerator % scale == 0)
    half = numerator // significand if rounded else 0  # half a unit of the last digit, over twice the scale
    # Below a power of ten the digits are a decade finer: 0.5M is written 0.5M or 500k, never 1M.
    below = half // 10 if str(significand).rstrip("0") == "1" else half
    binary = significand * 1024**power * 2 if rounded and not is_binary else None
    return Quantity(
        numerator // scale,
        digits + (suffix or ""),
        named,
        (numerator * 2 - below, numerator * 2 + half),
        scale * 2,
        binary,
    )


def unit_named(word: str) -> str | None:
    """The unit that a word names, singular or plural; None for any other word."""
    lower = word.lower()
    return next((unit for unit in UNITS if lower in (unit, unit[:-1])), None)
