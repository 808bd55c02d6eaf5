"""Terms: whole numbers that know how they came about, and the algebra of what is not known.

Every number of a batch is a :class:`Term`. It has a value or a reason why there is none, the places it was read
from, and the formula that joined them. One object feeds the number, ``explain``, the carets of a message and the
diagnosis. An unknown is contagious and keeps its reason; nothing here ever turns an unknown into 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

    from effbatch_lint.source import Span

Number: TypeAlias = "int | Fraction"
How: TypeAlias = Literal["read", "default", "derived", "declared", "assumed", "unknown"]


class Origin(NamedTuple):
    """A place that decided a number. ``previous`` are the places it overrode, the newest first.

    ``span`` is None for what no file holds: a command-line override, ``--world-size``; ``note`` then says which.
    """

    span: Span | None
    key: str | None = None
    note: str | None = None
    previous: tuple[Origin, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The contract's form of an origin."""
        span = self.span
        return {
            "path": span and span.path,
            "line": span and span.line,
            "column": span and span.column,
            "key": self.key,
            "note": self.note,
        }


class Term(NamedTuple):
    """A number with its provenance. ``key`` is the framework's own name for it; ``reason`` says why it is unknown."""

    value: Number | None
    how: How
    origins: tuple[Origin, ...] = ()
    formula: str | None = None
    reason: str | None = None
    key: str | None = None

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return self.value is not None

    @property
    def spans(self) -> tuple[Span, ...]:
        """The places in files that decided this number, in order, each once."""
        return tuple(dict.fromkeys(origin.span for origin in self.origins if origin.span is not None))

    @property
    def written(self) -> str | None:
        """The key as it is spelled where the number stands; the framework's own name for it where that is no key."""
        spelled = self.origins[0].key if self.how == "read" and self.origins else None
        return spelled or self.key

    def named(self, key: str) -> Term:
        """The same term under another name."""
        return self._replace(key=key)

    def because(self, formula: str) -> Term:
        """The same term with the formula that a person reads."""
        return self._replace(formula=formula)

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a term."""
        return {
            "value": number(self.value),
            "how": self.how,
            "formula": self.formula,
            "reason": self.reason,
            "key": self.key,
            "origins": [origin.as_dict() for origin in self.origins],
        }


def number(value: Number | None) -> int | float | None:
    """A JSON number: a fraction that is whole as an int, any other as a float."""
    if value is None or isinstance(value, int):
        return value
    return int(value) if value.denominator == 1 else float(value)


_LONGEST = 10_000  # bits


def shown(value: Number | None) -> str:
    """The number as a person reads it: ``8,388,608``, ``1/4``, ``?``."""
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        return "a number of thousands of digits"  # Python itself refuses to write more than 4,300
    return "?" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def counted(value: Number | None, unit: str) -> str:
    """The number with its unit: ``2,048 sequences``, ``1 sequence``."""
    return f"{shown(value)} {unit.removesuffix('s') if value == 1 else unit}"


def near(value: Number | None, of: Number | None) -> str:
    """The multiples of ``of`` next to a number, for an advice: ``96 or 128``; one of them where the other is zero."""
    if value is None or not of:
        return "?"
    below = value // of * of
    return " or ".join(shown(multiple) for multiple in (below, below + of) if multiple > 0)


def unknown(reason: str, *origins: Origin, key: str | None = None) -> Term:
    """A number that cannot be known, and why."""
    return Term(None, "unknown", origins, None, reason, key)


def default(value: int, key: str) -> Term:
    """A number that the framework itself takes when the key is absent."""
    return Term(value, "default", (), None, None, key)


ONE = Term(1, "default")

# No batch has two dozen digits; Python refuses to print more than 4,300.
_TOO_LARGE = 10**100


def product(*terms: Term) -> Term:
    """The product; unknown as soon as one factor is, also beside a zero."""
    return _joined(terms, " x ", _multiply)


def total(*terms: Term) -> Term:
    """The sum."""
    return _joined(terms, " + ", _add)


def exact(dividend: Term, divisor: Term) -> Term:
    """The quotient, which must be whole: with a remainder it is unknown, and the reason says so."""
    return _divided(dividend, divisor, "exact")


def floor(dividend: Term, divisor: Term) -> Term:
    """The quotient rounded down, as the framework's ``//`` does."""
    return _divided(dividend, divisor, "floor")


def ceil(dividend: Term, divisor: Term) -> Term:
    """The quotient rounded up."""
    return _divided(dividend, divisor, "ceil")


def ratio(dividend: Term, divisor: Term) -> Term:
    """The quotient as an exact fraction, for the frameworks that accept one."""
    return _divided(dividend, divisor, "ratio")


def derived(value: Number, formula: str, *terms: Term) -> Term:
    """A number that a framework computes by a rule of its own from ``terms``: unknown when one of them is."""
    blocked = first_unknown(terms)
    if blocked is not None:
        return unknown(blocked.reason or "unknown", *origins_of(terms))
    return _result(value, origins_of(terms), formula)


def computed(rule: Callable[..., Number], formula: str, *terms: Term) -> Term:
    """``rule`` applied to the terms' values; not called when one of them is unknown."""
    values = [term.value for term in terms]
    if None in values:
        return derived(0, formula, *terms)
    return derived(rule(*values), formula, *terms)


def first_unknown(terms: Iterable[Term]) -> Term | None:
    """The first of the terms that has no number."""
    return next((term for term in terms if term.value is None), None)


def origins_of(terms: Iterable[Term]) -> tuple[Origin, ...]:
    """The origins of several terms, each once."""
    return tuple(dict.fromkeys(origin for term in terms for origin in term.origins))


def _multiply(values: Iterable[Number]) -> Number:
    result: Number = 1
    for value in values:
        result = result * value
    return _whole(result)


def _add(values: Iterable[Number]) -> Number:
    return _whole(sum(values))


def _joined(terms: tuple[Term, ...], sign: str, rule: Callable[[Iterable[Number]], Number]) -> Term:
    blocked = first_unknown(terms)
    origins = origins_of(terms)
    if blocked is not None:
        return unknown(blocked.reason or "unknown", *origins)
    values = [term.value for term in terms if term.value is not None]
    return _result(rule(values), origins, sign.join(shown(value) for value in values))


def _divided(dividend: Term, divisor: Term, rounding: Literal["exact", "floor", "ceil", "ratio"]) -> Term:
    blocked = first_unknown((dividend, divisor))
    origins = origins_of((dividend, divisor))
    if blocked is not None:
        return unknown(blocked.reason or "unknown", *origins)
    above, below = dividend.value, divisor.value
    assert above is not None
    assert below is not None
    formula = f"{shown(above)} / {shown(below)}"
    if below == 0:
        return unknown(f"{formula}: division by zero", *origins)
    if rounding == "ratio":
        from fractions import Fraction  # noqa: PLC0415 - costs 5 ms at start-up, and few frameworks divide so

        return _result(_whole(Fraction(above) / Fraction(below)), origins, formula)
    quotient, remainder = divmod(above, below)
    if remainder and rounding == "exact":
        return unknown(f"{formula} is not a whole number", *origins)
    if remainder and rounding == "ceil":
        quotient += 1
    if remainder:
        formula += " rounded down" if rounding == "floor" else " rounded up"
    return _result(quotient, origins, formula)


def _result(value: Number, origins: tuple[Origin, ...], formula: str) -> Term:
    if abs(value.numerator) >= _TOO_LARGE or value.denominator >= _TOO_LARGE:
        return unknown("a number of more than 100 digits", *origins)
    return Term(value, "derived", origins, formula)


def _whole(value: Number) -> Number:
    return value if isinstance(value, int) or value.denominator != 1 else int(value)
