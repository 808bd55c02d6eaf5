"""``[ ... ]``, ``test``, ``[[ ... ]]`` and ``(( ... ))``: true, false, or not known; and what a bare run would find."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from effbatch_lint.documents.shell import arithmetic, comparisons, expansion, words
from effbatch_lint.documents.shell.comparisons import BINARY, NUMERIC
from effbatch_lint.documents.shell.state import FALSE, UNKNOWN, State, Truth

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.text import Text

_Outcome: TypeAlias = bool | None


def test(arguments: list[Text]) -> Truth:
    """``test`` and ``[``: words after expansion, the closing bracket left out."""
    return _Words(arguments).whole() if arguments else FALSE


def extended(inner: Text, state: State) -> Truth:
    """``[[ ... ]]``: raw words; nothing is split, the right side of ``==`` is a pattern."""
    return _RawWords(_tokens(inner), state).whole()


def arithmetic_truth(inner: Text, state: State) -> Truth:
    """``(( ... ))``: true when the value is not 0."""
    bare = arithmetic.evaluate(inner, state, bare=True)
    number = arithmetic.evaluate(inner, state)
    if number.value is not None:
        return Truth.of(number.value != 0)
    return Truth(None, None if bare.value is None else bare.value != 0)


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


class _Words:
    """The grammar of both kinds of brackets: alternatives, conjunctions, ``!``, parentheses, tests of one or two words."""

    alternative, conjunction = "-o", "-a"

    def __init__(self, found: list[Text]) -> None:
        self.words = found
        self.at = 0

    def whole(self) -> Truth:
        """What all the words come to; not known when some are left over."""
        truth = self.either()
        return truth if self.at == len(self.words) else UNKNOWN

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.words[index].chars if index < len(self.words) else ""

    def either(self) -> Truth:
        truth = self.both()
        while self.peek() == self.alternative:
            self.at += 1
            truth = any_of(truth, self.both())
        return truth

    def both(self) -> Truth:
        truth = self.primary()
        while self.peek() == self.conjunction:
            self.at += 1
            truth = all_of(truth, self.primary())
        return truth

    def primary(self) -> Truth:
        if self.at >= len(self.words):
            return FALSE
        first = self.words[self.at]
        # `[ ! = x ]` compares: an operator in the middle is looked for first.
        if self.at + 2 < len(self.words) and self.peek(1) in BINARY:
            self.at += 3
            return self.binary(first, self.words[self.at - 2].chars, self.words[self.at - 1])
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
            return self.unary(first.chars, self.words[self.at - 1])
        self.at += 1
        return self.filled(first)

    def filled(self, word: Text) -> Truth:
        return comparisons.filled(word)

    def unary(self, operator: str, word: Text) -> Truth:
        return comparisons.unary(operator, word)

    def binary(self, left: Text, operator: str, right: Text) -> Truth:
        return comparisons.compared(left, operator, right)


class _RawWords(_Words):
    """``[[``: the same grammar over words that are expanded only now."""

    alternative, conjunction = "||", "&&"

    def __init__(self, raw: list[Text], state: State) -> None:
        super().__init__(raw)
        self.state = state

    def filled(self, word: Text) -> Truth:
        return comparisons.filled(expansion.joined(word, self.state))

    def unary(self, operator: str, word: Text) -> Truth:
        held = expansion.joined(word, self.state)
        return _defined(held.chars, self.state) if operator == "-v" else comparisons.unary(operator, held)

    def binary(self, left: Text, operator: str, right: Text) -> Truth:
        held = expansion.joined(left, self.state)
        if operator == "=~":
            return comparisons.searched(held, expansion.pattern(right, self.state))
        if operator in ("==", "=", "!="):
            truth = comparisons.matched(held, right, self.state)
            return truth.negated() if operator == "!=" else truth
        other = expansion.joined(right, self.state)
        if operator in NUMERIC:
            sign = NUMERIC[operator]
            return Truth(self.numbers(held, sign, other), self.numbers(held, sign, other, bare=True))
        return comparisons.compared(held, operator, other)

    def numbers(self, left: Text, operator: str, right: Text, *, bare: bool = False) -> _Outcome:
        """The operands of ``-eq`` and the others are arithmetic here."""
        first = arithmetic.evaluate(left, self.state, bare=bare).value
        second = arithmetic.evaluate(right, self.state, bare=bare).value
        return None if first is None or second is None else comparisons.numbers(first, operator, second)


def _defined(name: str, state: State) -> Truth:
    if name in state.variables:
        return Truth.of(state.variables[name] is not None)
    return Truth(None, False, "emptiness")


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
