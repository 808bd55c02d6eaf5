"""``[ ... ]``, ``test``, ``[[ ... ]]`` and ``(( ... ))``: true, false, or not known; and what a bare run would find.

Whether a file exists is never known: the files of the training machine are not here.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from effbatch_lint.documents.shell import arithmetic, expansion, words
from effbatch_lint.documents.shell.state import FALSE, TRUE, UNKNOWN, State, Truth
from effbatch_lint.documents.shell.text import EMPTY, Text

_Outcome: TypeAlias = bool | None

_NUMERIC = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
_BINARY = frozenset((*_NUMERIC, "=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef"))
_FILES = frozenset(f"-{letter}" for letter in "abcdefghkprstuwxLNOGS")
# Longer texts and expressions with more repetitions are not tried: a regular expression may take for ever.
_MAX_MATCHED = 200
_MAX_REPEATS = 4


def test(arguments: list[Text]) -> Truth:
    """``test`` and ``[``: words after expansion, the closing bracket left out."""
    if not arguments:
        return FALSE
    parser = _Test(arguments)
    truth = parser.either()
    return truth if parser.at == len(arguments) else UNKNOWN


class _Test:
    """The grammar of ``test``: ``!``, ``-a``, ``-o``, parentheses, unary and binary primaries."""

    def __init__(self, arguments: list[Text]) -> None:
        self.words = arguments
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.words[index].chars if index < len(self.words) else ""

    def either(self) -> Truth:
        truth = self.both()
        while self.peek() == "-o":
            self.at += 1
            truth = any_of(truth, self.both())
        return truth

    def both(self) -> Truth:
        truth = self.primary()
        while self.peek() == "-a":
            self.at += 1
            truth = all_of(truth, self.primary())
        return truth

    def primary(self) -> Truth:
        if self.at >= len(self.words):
            return FALSE
        first = self.words[self.at]
        if self.at + 2 < len(self.words) and self.peek(1) in _BINARY:
            self.at += 3
            return _compared(first, self.words[self.at - 2].chars, self.words[self.at - 1])
        if first.chars == "!" and self.at + 1 < len(self.words):
            self.at += 1
            return self.primary().negated()
        if first.chars == "(":
            self.at += 1
            truth = self.either()
            self.at += 1
            return truth
        if re.fullmatch("-[a-zA-Z]", first.chars) and self.at + 1 < len(self.words):
            self.at += 2
            return _unary(first.chars, self.words[self.at - 1])
        self.at += 1
        return _filled(first)


def _compared(left: Text, operator: str, right: Text) -> Truth:
    if operator in ("-nt", "-ot", "-ef"):
        return UNKNOWN
    known = _compare(left, operator, right) if left.known and right.known else None
    return Truth(known, _compare(left.bare(), operator, right.bare()) if known is None else known)


def _compare(left: Text, operator: str, right: Text) -> bool | None:
    if not left.known or not right.known:
        return None
    if operator in _NUMERIC:
        try:
            first, second = int(left.chars.strip() or "0"), int(right.chars.strip() or "0")
        except ValueError:
            return False
        return _numbers(first, _NUMERIC[operator], second)
    match operator:
        case "=" | "==":
            return left.chars == right.chars
        case "!=":
            return left.chars != right.chars
        case "<":
            return left.chars < right.chars
    return left.chars > right.chars


def _numbers(first: int, operator: str, second: int) -> bool:
    match operator:
        case "==":
            return first == second
        case "!=":
            return first != second
        case "<":
            return first < second
        case "<=":
            return first <= second
        case ">":
            return first > second
    return first >= second


def _unary(operator: str, operand: Text) -> Truth:
    if operator == "-n":
        return _filled(operand)
    if operator == "-z":
        return _filled(operand).negated()
    return UNKNOWN


def _filled(text: Text) -> Truth:
    """Whether a text is not empty."""
    if any(piece.reason is None or piece.filled for piece in text.pieces):
        return Truth(value=True, bare=True, kind="emptiness")
    if not text:
        return Truth(value=False, bare=False, kind="emptiness")
    return Truth(None, False if text.unset else None, "emptiness")


def all_of(left: Truth, right: Truth) -> Truth:
    """Both."""
    value = _and(left.value, right.value)
    kinds = {truth.kind for truth in (left, right) if truth.value is None or value is not None}
    return Truth(value, _and(left.bare, right.bare), kinds.pop() if len(kinds) == 1 else "test")


def any_of(left: Truth, right: Truth) -> Truth:
    """At least one."""
    return all_of(left.negated(), right.negated()).negated()


def _and(left: _Outcome, right: _Outcome) -> _Outcome:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def arithmetic_truth(inner: Text, state: State) -> Truth:
    """``(( ... ))``: true when the value is not 0."""
    bare = arithmetic.evaluate(inner, state, bare=True)
    number = arithmetic.evaluate(inner, state)
    if number.value is not None:
        return Truth.of(number.value != 0)
    return Truth(None, None if bare.value is None else bare.value != 0)


def extended(inner: Text, state: State) -> Truth:
    """``[[ ... ]]``: raw words; nothing is split, the right side of ``==`` is a pattern."""
    parser = _Extended(_tokens(inner), state)
    truth = parser.either()
    return truth if parser.at == len(parser.words) else UNKNOWN


def _tokens(inner: Text) -> list[Text]:
    """The raw words, with parentheses and connectives that touch a word taken off it."""
    out: list[Text] = []
    for word in words.split(inner):
        expression = bool(out) and out[-1].chars == "=~"
        while not expression and word.chars.startswith(("(", "!(")) and len(word) > 1:
            out.append(word.slice(0, 1))
            word = word.slice(1)  # noqa: PLW2901 - the rest of the same word
        closing: list[Text] = []
        while word.chars.endswith(")") and word.chars.count("(") < word.chars.count(")"):
            closing.append(word.slice(len(word) - 1))
            word = word.slice(0, len(word) - 1)  # noqa: PLW2901 - the rest of the same word
        out += [word, *closing] if word else closing
    return out


class _Extended:
    """The grammar of ``[[``: ``||``, ``&&``, ``!``, parentheses, primaries."""

    def __init__(self, raw: list[Text], state: State) -> None:
        self.words = raw
        self.state = state
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.words[index].chars if index < len(self.words) else ""

    def either(self) -> Truth:
        truth = self.both()
        while self.peek() == "||":
            self.at += 1
            truth = any_of(truth, self.both())
        return truth

    def both(self) -> Truth:
        truth = self.primary()
        while self.peek() == "&&":
            self.at += 1
            truth = all_of(truth, self.primary())
        return truth

    def primary(self) -> Truth:
        if self.at >= len(self.words):
            return FALSE
        first = self.peek()
        if first == "!":
            self.at += 1
            return self.primary().negated()
        if first == "(":
            self.at += 1
            truth = self.either()
            self.at += 1
            return truth
        if self.peek(1) in _BINARY:
            self.at += 3
            return self.binary(self.words[self.at - 3], self.words[self.at - 2].chars, self.words[self.at - 1 :][:1])
        if re.fullmatch("-[a-zA-Z]", first) and self.at + 1 < len(self.words):
            self.at += 2
            raw = self.words[self.at - 1]
            if first == "-v":
                return _defined(raw, self.state)
            return UNKNOWN if first in _FILES else _unary(first, expansion.joined(raw, self.state))
        self.at += 1
        return _filled(expansion.joined(self.words[self.at - 1], self.state))

    def binary(self, left_raw: Text, operator: str, right_raws: list[Text]) -> Truth:
        right_raw = right_raws[0] if right_raws else EMPTY
        left = expansion.joined(left_raw, self.state)
        if operator in _NUMERIC:
            return self.numeric(left, _NUMERIC[operator], right_raw)
        if operator == "=~":
            return _expression(left, expansion.pattern(right_raw, self.state))
        if operator in ("==", "=", "!="):
            truth = matched(left, right_raw, self.state)
            return truth.negated() if operator == "!=" else truth
        return _compared(left, operator, expansion.joined(right_raw, self.state))

    def numeric(self, left: Text, operator: str, right_raw: Text) -> Truth:
        right = expansion.joined(right_raw, self.state)
        outcomes: list[bool | None] = []
        for bare in (False, True):
            first = arithmetic.evaluate(left, self.state, bare=bare).value
            second = arithmetic.evaluate(right, self.state, bare=bare).value
            outcomes.append(None if first is None or second is None else _numbers(first, operator, second))
        return Truth(outcomes[0], outcomes[1])


def _defined(raw: Text, state: State) -> Truth:
    name = expansion.joined(raw, state).chars
    if name in state.variables:
        return Truth.of(state.variables[name] is not None)
    return Truth(None, False, "emptiness")


def matched(word: Text, raw_pattern: Text, state: State) -> Truth:
    """Whether a word matches a pattern (``[[ == ]]``, ``case``)."""
    expression = expansion.is_pattern(raw_pattern, state)
    if expression is not None and word.known:
        return Truth.of(expression.fullmatch(word.chars) is not None)
    if raw_pattern.chars == "*":
        return TRUE
    bare_word = word.bare()
    expression = expansion.is_pattern(raw_pattern, state, bare=True)
    if expression is None or not bare_word.known:
        return UNKNOWN
    # A comparison with nothing asks whether the variable is given.
    asks = word.unset and not expression.pattern
    return Truth(None, expression.fullmatch(bare_word.chars) is not None, "emptiness" if asks else "test")


def _expression(text: Text, parts: list[tuple[str, bool]] | None) -> Truth:
    if parts is None:
        return UNKNOWN
    source = "".join(part if special else re.escape(part) for part, special in parts)
    for name, members in (("[[:digit:]]", "[0-9]"), ("[[:space:]]", r"\s"), ("[[:alpha:]]", "[a-zA-Z]")):
        source = source.replace(name, members)
    repeats = len(re.findall(r"[*+{]", source))
    if repeats > _MAX_REPEATS or re.search(r"\)[*+{]", source):
        return UNKNOWN
    try:
        expression = re.compile(source)
    except re.error:
        return UNKNOWN
    outcomes = [
        None if not seen.known or len(seen) > _MAX_MATCHED else expression.search(seen.chars) is not None
        for seen in (text, text.bare())
    ]
    return Truth(outcomes[0], outcomes[1])
