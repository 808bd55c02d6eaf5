"""Shell arithmetic: ``$(( ))``, ``let``, ``(( ))``, subscripts.

Source: the bash manual, section "Shell Arithmetic": 64-bit integers, C's operators, division that drops the
remainder, variables by bare name. A quotient that lost a remainder says so in its note: that is how an accumulation
of 32 / 3 / 4 becomes 2.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.shell import expansion
from effbatch_lint.documents.shell.state import Array, State
from effbatch_lint.documents.shell.text import MARK, Text, unknowable, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from effbatch_lint.source import Span


class Number(NamedTuple):
    """A value or the reason why there is none, with its places. ``unset``: unknown only because nobody gave it."""

    value: int | None
    spans: tuple[Span, ...] = ()
    reason: str | None = None
    note: str | None = None
    unset: bool = False


_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|[0-9]+#[0-9a-zA-Z@_]+|[0-9]+)|([A-Za-z_]\w*)|"
    r"(\*\*|<<=|>>=|[-+*/%&|^<>=!]=|\+\+|--|&&|\|\||<<|>>|[-+*/%<>!~&|^?:=(),\[\]])|(\S))"
)
# Binary operators by how strongly they bind; the assignments and "?:" bind least and are handled apart.
_BINDING = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="))
MAX_DEPTH = 40
MAX_TOKENS = 2_000


class _Mistake(Exception):
    """The expression is none that bash would evaluate."""


def expand(inner: Text, shown: Text, state: State) -> Text:
    """The text that ``$((inner))`` becomes."""
    number = evaluate(inner, state)
    if number.value is None:
        places = number.spans or shown.spans[:1]
        return unknowable(shown.display, number.reason or "not known", *places, filled=True)
    return written(str(number.value), *(number.spans or shown.spans), note=number.note)


def evaluate(inner: Text, state: State, *, bare: bool = False) -> Number:
    """The value of an expression; ``bare`` takes what nobody gave for 0, as a bare run does."""
    return _evaluate(inner, state, bare=bare, depth=0)


def _evaluate(inner: Text, state: State, *, bare: bool, depth: int) -> Number:
    try:
        text = expansion.within_quotes(inner, state) if re.search(r"[$`\\\"]", inner.chars) else inner
        text = text.bare() if bare else text
        parser = _Parser(text, state, bare=bare, depth=depth)
        return parser.whole() if parser.tokens else Number(0, inner.spans)
    except (_Mistake, RecursionError):
        return Number(None, inner.spans[:1], f"{inner.display.strip()} is no whole-number arithmetic")


class _Parser:
    """A precedence climber over the tokens of one expression."""

    def __init__(self, text: Text, state: State, *, bare: bool, depth: int) -> None:
        self.text = text
        self.state = state
        self.bare = bare
        self.depth = depth
        self.at = 0
        self.tokens = list(_TOKEN.finditer(text.chars.rstrip()))[: MAX_TOKENS + 1]
        if len(self.tokens) > MAX_TOKENS or depth > MAX_DEPTH:
            raise _Mistake

    def peek(self) -> str:
        """The next operator, or an empty string."""
        return (self.tokens[self.at][3] or "") if self.at < len(self.tokens) else ""

    def take(self, operator: str) -> None:
        """Step over an operator that must be there."""
        if self.peek() != operator:
            raise _Mistake
        self.at += 1

    def whole(self) -> Number:
        """The value of all the tokens."""
        number = self.comma()
        if self.at < len(self.tokens):
            raise _Mistake
        return number

    def comma(self) -> Number:
        number = self.ternary()
        while self.peek() == ",":
            self.at += 1
            number = self.ternary()
        return number

    def ternary(self) -> Number:
        condition = self.binary(1)
        if self.peek() != "?":
            return condition
        self.at += 1
        first = self.ternary()
        self.take(":")
        second = self.ternary()
        if condition.value is None:
            return condition
        chosen = first if condition.value else second
        return chosen._replace(spans=(*chosen.spans, *condition.spans))

    def binary(self, least: int) -> Number:
        left = self.unary()
        while (binding := _BINDING.get(self.peek(), 0)) >= least:
            operator = self.peek()
            self.at += 1
            # "**" groups from the right.
            right = self.binary(binding if operator == "**" else binding + 1)
            left = _combined(operator, left, right)
        return left

    def unary(self) -> Number:
        operator = self.peek()
        if operator in ("-", "+", "!", "~"):
            self.at += 1
            operand = self.unary()
            if operand.value is None:
                return operand
            changed = {"-": -operand.value, "+": operand.value, "!": int(not operand.value), "~": ~operand.value}
            return operand._replace(value=changed[operator])
        if operator in ("++", "--"):
            self.at += 1
            return self.variable(before=1 if operator == "++" else -1)
        if operator == "(":
            self.at += 1
            number = self.comma()
            self.take(")")
            return number
        return self.operand()

    def operand(self) -> Number:
        if self.at >= len(self.tokens):
            raise _Mistake
        token = self.tokens[self.at]
        if token[2] is not None:
            return self.variable()
        if token[1] is not None:
            self.at += 1
            digits = self.text.slice(token.start(1), token.end(1))
            return Number(_literal(token[1]), digits.spans, None, digits.note)
        if token[4] == MARK:
            self.at += 1
            piece = self.text.piece_at(token.start(4))
            return Number(None, piece.spans, piece.reason, None, piece.unset)
        raise _Mistake

    def variable(self, *, before: int = 0) -> Number:
        """A variable, with what is done to it: ``x``, ``x[i]``, ``++x``, ``x--``, ``x += 2``."""
        if self.at >= len(self.tokens) or self.tokens[self.at][2] is None:
            raise _Mistake
        name = self.tokens[self.at][2]
        self.at += 1
        index: str | None = None
        if self.peek() == "[":
            self.at += 1
            position = self.comma()
            self.take("]")
            index = None if position.value is None else str(position.value)
            if index is None:
                return position
        number = self.read(name, index)
        operator = self.peek()
        if before:
            return self.write(name, index, _combined("+", number, Number(before)))
        if operator in ("++", "--"):
            self.at += 1
            self.write(name, index, _combined("+", number, Number(1 if operator == "++" else -1)))
            return number
        if operator in _ASSIGNMENTS:
            self.at += 1
            value = self.ternary()
            return self.write(name, index, value if operator == "=" else _combined(operator[:-1], number, value))
        return number

    def read(self, name: str, index: str | None) -> Number:
        """The number that a variable holds; its text may be an expression of its own."""
        held = self.state.value(name)
        if isinstance(held, Array):
            held = held.items.get(index or "0")
        if held is None or not held:
            return Number(0)
        if not held.known:
            held = held.bare() if self.bare else held
            if not held:
                return Number(0)
        text = held.chars.strip()
        if re.fullmatch(r"[0-9]{1,18}", text) and not (text[0] == "0" and len(text) > 1):
            return Number(int(text), held.spans, None, held.note)
        return _evaluate(held, self.state, bare=self.bare, depth=self.depth + 1)

    def write(self, name: str, index: str | None, number: Number) -> Number:
        """Assign; in a bare look at the expression nothing is changed."""
        if self.bare:
            return number
        value = (
            unknowable(f"${name}", number.reason or "not known", *number.spans, unset=number.unset)
            if number.value is None
            else written(str(number.value), *number.spans, note=number.note)
        )
        held = self.state.value(name)
        if isinstance(held, Array):
            held.items[index or "0"] = value
        elif index is not None:
            self.state.assign(name, Array({index: value}))
        else:
            self.state.assign(name, value)
        return number


def _combined(operator: str, left: Number, right: Number) -> Number:
    spans = tuple(dict.fromkeys((*left.spans, *right.spans)))
    blocked = left if left.value is None else right
    if left.value is None or right.value is None:
        unset = all(number.unset or number.value is not None for number in (left, right))
        return Number(None, spans, blocked.reason, None, unset)
    note = left.note or right.note
    if operator in ("/", "%"):
        if right.value == 0:
            return Number(None, spans, f"{left.value} {operator} 0: division by zero")
        quotient = abs(left.value) // abs(right.value) * (1 if (left.value < 0) == (right.value < 0) else -1)
        remainder = left.value - quotient * right.value
        if operator == "%":
            return Number(remainder, spans, None, note)
        if remainder:
            note = f"{left.value} / {right.value} = {quotient}: the remainder {remainder} is dropped"
        return Number(quotient, spans, None, note)
    return Number(_wrapped(_OPERATIONS[operator](left.value, right.value)), spans, None, note)


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise _Mistake
    return pow(base, exponent, 2**64)


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a) or bool(b)),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "**": _power,
}


def _wrapped(value: int) -> int:
    """The value in 64 bits, as the shell keeps it."""
    return (value + 2**63) % 2**64 - 2**63


def _literal(digits: str) -> int:
    try:
        if "#" in digits:
            base, _, text = digits.partition("#")
            return _wrapped(int(text, int(base[:3])))
        if digits[0] == "0" and len(digits) > 1:
            return _wrapped(int(digits, 16 if digits[1] in "xX" else 8))
        return _wrapped(int(digits[:400]))
    except ValueError:
        raise _Mistake from None
