"""MaxText's sequences per device: a decimal number, which only becomes whole once it is multiplied by the devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.terms import Term, computed, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


# An exponent of three digits is no batch, and would be computed to its last digit.
_DECIMAL = re.compile(r"[+-]?(?:\d{1,20}\.?\d{0,20}|\.\d{1,20})(?:[eE][+-]?\d{1,2})?")


class Size(NamedTuple):
    """Sequences per device: the exact ``term``, and the ``text`` as it is written."""

    term: Term
    text: str

    def on(self, devices: Term) -> Term:
        """``int(devices x size)``, the product taken in floating point as MaxText takes it: 100 x 0.29 is 28."""
        formula = f"{shown(devices.value)} devices x {self.text}"
        return computed(lambda count, each: int(count * float(each)), formula, devices, self.term)


def size(config: Config, key: str, default: str) -> Size:
    """The number at ``key``; a value that is no number is unknown, with its reason."""
    if not config.has(key):
        term = config.integer(key, default=int(float(default)))
        return Size(term, default)
    term, text = config.integer(key), config.text(key)
    if term.known or text is None:
        return Size(term, shown(term.value))
    if not _DECIMAL.fullmatch(text):
        return Size(unknown(f"{key} is {text[:40]!r}, which is no number", *term.origins, key=key), "?")
    from fractions import Fraction  # noqa: PLC0415 - costs 5 ms at start-up, and most sizes are whole

    return Size(Term(Fraction(text), "read", term.origins, key=key), text)
