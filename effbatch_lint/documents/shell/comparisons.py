"""What one test of a condition compares: texts, numbers, patterns, and whether there is anything at all.

Whether a file exists is never known: the files of the training machine are not here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell import expansion, patterns
from effbatch_lint.documents.shell.state import TRUE, UNKNOWN, State, Truth

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.text import Text

NUMERIC = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
BINARY = frozenset((*NUMERIC, "=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef"))
# Longer texts and expressions with more repetitions are not tried: a regular expression may take for ever.
_MAX_MATCHED = 200
_MAX_REPEATS = 4


def compared(left: Text, operator: str, right: Text) -> Truth:
    """Two texts under an operator that both kinds of brackets have."""
    if operator in ("-nt", "-ot", "-ef"):
        return UNKNOWN
    known = _compare(left, operator, right) if left.known and right.known else None
    return Truth(known, _compare(left.bare(), operator, right.bare()) if known is None else known)


def _compare(left: Text, operator: str, right: Text) -> bool | None:
    if not left.known or not right.known:
        return None
    if operator in NUMERIC:
        try:
            first, second = int(left.chars.strip() or "0"), int(right.chars.strip() or "0")
        except ValueError:
            return False
        return numbers(first, NUMERIC[operator], second)
    match operator:
        case "=" | "==":
            return left.chars == right.chars
        case "!=":
            return left.chars != right.chars
        case "<":
            return left.chars < right.chars
    return left.chars > right.chars


def numbers(first: int, operator: str, second: int) -> bool:
    """Two whole numbers under an operator as arithmetic writes it."""
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


def unary(operator: str, operand: Text) -> Truth:
    """``-n`` and ``-z``; what is asked of a file is not known."""
    if operator == "-n":
        return filled(operand)
    if operator == "-z":
        return filled(operand).negated()
    return UNKNOWN


def filled(text: Text) -> Truth:
    """Whether a text is not empty."""
    if any(piece.reason is None or piece.filled for piece in text.pieces):
        return Truth(value=True, bare=True, kind="emptiness")
    if not text:
        return Truth(value=False, bare=False, kind="emptiness")
    return Truth(None, False if text.unset else None, "emptiness")


def matched(word: Text, raw_pattern: Text, state: State) -> Truth:
    """Whether a word matches a pattern (``[[ == ]]``, ``case``)."""
    expression = expansion.is_pattern(raw_pattern, state)
    if expression is not None and len(word) > patterns.longest(expression.pattern):
        return UNKNOWN
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


def searched(text: Text, parts: list[tuple[str, bool]] | None) -> Truth:
    """``=~``: whether an extended regular expression is found in a text."""
    if parts is None:
        return UNKNOWN
    source = "".join(part if special else re.escape(part) for part, special in parts)
    for name, members in patterns.CLASSES.items():
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
