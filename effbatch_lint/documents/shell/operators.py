"""What the operators of ``${X...}`` make of a value: defaults, parts of it, patterns taken off or replaced, other letters.

Source: the bash manual, section "Shell Parameter Expansion". A variable that nobody gave takes the default written for
it, and the default's place is where the value was written; a value that is unknown for another reason stays unknown.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from effbatch_lint.documents.shell import arithmetic, expansion, patterns, words
from effbatch_lint.documents.shell.said import default_in
from effbatch_lint.documents.shell.state import Array, State
from effbatch_lint.documents.shell.text import EMPTY, MARK, Text, unknowable, written

_OPERATOR = re.compile(r":[-=?+]|[-=?+]|:|##?|%%?|//?|\^\^?|,,?|@")
# A value longer than this is no number, and patterns over it cost time.
MAX_PATTERN_TEXT = 10_000
_LINE = 60


class Parameter(NamedTuple):
    """A parameter that operators are applied to: ``shown`` is the whole expansion, ``quoted`` within double quotes."""

    name: str
    subscript: Text | None
    state: State
    shown: Text
    quoted: bool

    def lost(self, text: Text) -> Text:
        """The expansion, unknown because ``text`` is."""
        return unknowable(self.shown.display, text.reason or "", *self.shown.spans[:1], unset=text.unset)

    def refused(self, why: str) -> Text:
        """The expansion, unknown for a reason of its own."""
        return unknowable(self.shown.display, why, *self.shown.spans[:1])


def applied(found: Text | list[Text] | Array, rest: Text, parameter: Parameter) -> Text | list[Text] | Array:
    """The value after what stands behind the name; ``rest`` is that, the operator with its operand."""
    if not rest:
        return found
    operator = _OPERATOR.match(rest.chars)
    if operator is None:
        return parameter.refused(f"{parameter.shown.display} is no expansion that is understood")
    sign, operand = operator[0], rest.slice(operator.end())
    if sign[-1] in "-=?+":
        return _defaulted(found, sign, operand, parameter)
    if sign == ":":
        return _substring(found, operand, parameter)
    if sign == "@":
        return parameter.refused(f"{parameter.shown.display} is another spelling of the value, which is not worked out")
    if isinstance(found, Array):
        return Array({key: _edited(item, sign, operand, parameter) for key, item in found.items.items()})
    if isinstance(found, list):
        return [_edited(item, sign, operand, parameter) for item in found]
    return _edited(found, sign, operand, parameter)


def _defaulted(
    found: Text | list[Text] | Array, sign: str, operand: Text, parameter: Parameter
) -> Text | list[Text] | Array:
    name, state = parameter.name, parameter.state
    texts = [found] if isinstance(found, Text) else list(found.items.values()) if isinstance(found, Array) else found
    empty = all(text.unset or not text for text in texts)
    if not sign.startswith(":") and empty and name in state.variables and parameter.subscript is None:
        # "${X-8}": a variable that is set, though to nothing, keeps it.
        empty = state.variables[name] is None
    if "+" in sign:
        return EMPTY if empty else _operand(operand, parameter)
    if not empty:
        return found
    if "?" in sign:
        return parameter.refused(f"{name} must be given")
    default = _operand(operand, parameter)
    if name not in state.variables:
        shown = parameter.shown.display
        default = default.noted(default_in(shown if len(shown) < _LINE else f"${{{name}{sign}...}}"))
    if "=" in sign and re.fullmatch(r"[A-Za-z_]\w*", name) and parameter.subscript is None:
        state.assign(name, default)
    return default


def _operand(operand: Text, parameter: Parameter) -> Text:
    if parameter.quoted:
        return expansion.within_quotes(operand, parameter.state)
    return expansion.joined(operand, parameter.state)


def _substring(found: Text | list[Text] | Array, operand: Text, parameter: Parameter) -> Text | list[Text] | Array:
    first, _, second = operand.chars.partition(":")
    offset = arithmetic.evaluate(operand.slice(0, len(first)), parameter.state)
    length = arithmetic.evaluate(operand.slice(len(first) + 1), parameter.state) if second else None
    if offset.value is None or (length is not None and length.value is None):
        return parameter.refused(offset.reason or "the length is not known")
    size = None if length is None else length.value
    if isinstance(found, Text):
        return found.slice(*_range(offset.value, size, len(found))) if found.known else parameter.lost(found)
    items = list(found.items.values()) if isinstance(found, Array) else found
    hidden = next((item for item in items if item.chars == MARK), None)
    if hidden is not None:
        return parameter.lost(hidden)
    start = offset.value
    if parameter.name in "@*" and parameter.subscript is None:
        # "${@:1}" begins with $1: element 0 is the script's name.
        items = [written(parameter.state.script), *items] if start == 0 else items
        start -= start > 0
    chosen = items[slice(*_range(start, size, len(items)))]
    return Array.listed(chosen) if isinstance(found, Array) else chosen


def _range(offset: int, length: int | None, size: int) -> tuple[int, int]:
    start = min(max(offset + size, 0) if offset < 0 else offset, size)
    if length is None:
        return start, size
    return start, max(size + length, start) if length < 0 else min(start + length, size)


def _edited(text: Text, sign: str, operand: Text, parameter: Parameter) -> Text:
    if sign[0] in "^,":
        return _recased(text, sign)
    if not text:
        return text
    parts = expansion.pattern(_pattern_of(operand, sign), parameter.state)
    if parts is None or len(text) > MAX_PATTERN_TEXT:
        return parameter.refused("the pattern is not known" if parts is None else "the value is very long")
    if not text.known and not _untouched(text, sign, parts):
        return parameter.lost(text)
    try:
        if sign[0] in "#%":
            expression = patterns.whole(parts)
            # It is tried at each place of the text.
            longest = min(
                patterns.longest(expression.pattern), 1_000 if ".*" in expression.pattern else MAX_PATTERN_TEXT
            )
            return (
                _trimmed(text, sign, expression)
                if len(text) <= longest
                else parameter.refused("the value is very long")
            )
        return _replaced(text, sign, operand, parts, parameter)
    except re.error:
        return parameter.refused("the pattern is not understood")


def _untouched(text: Text, sign: str, parts: list[tuple[str, bool]]) -> bool:
    """Whether the pattern is plain text, which can match the known characters only and never a mark."""
    plain = "".join(part for part, _ in parts)
    special = any(is_special and re.search(r"[*?\[\]@+!(]", part) for part, is_special in parts)
    if special or not plain:
        return False
    # An unknown at the end that the operator looks at may hide a match.
    if sign[0] == "#":
        return not text.chars.startswith(MARK)
    return sign[0] == "%" and not text.chars.endswith(MARK)


def _pattern_of(operand: Text, sign: str) -> Text:
    if sign[0] != "/":
        return operand
    start = 1 if operand.chars[:1] in ("#", "%") else 0
    return operand.slice(start, _slash(operand, start))


def _slash(operand: Text, start: int) -> int:
    """Where the pattern of ``${X/pattern/replacement}`` ends."""
    at = start
    while at < len(operand.chars):
        if operand.chars[at] == "/":
            return at
        at = words.skip(operand.chars, at)
    return len(operand.chars)


def _trimmed(text: Text, sign: str, expression: re.Pattern[str]) -> Text:
    size = len(text)
    if sign[0] == "#":
        lengths = range(size + 1) if sign == "#" else range(size, -1, -1)
        for length in lengths:
            if expression.fullmatch(text.chars, 0, length):
                return text.slice(length)
        return text
    starts = range(size, -1, -1) if sign == "%" else range(size + 1)
    for start in starts:
        if expression.fullmatch(text.chars, start):
            return text.slice(0, start)
    return text


def _replaced(text: Text, sign: str, operand: Text, parts: list[tuple[str, bool]], parameter: Parameter) -> Text:
    anchor = operand.chars[:1] if operand.chars[:1] in ("#", "%") else ""
    replacement = expansion.joined(operand.slice(_slash(operand, len(anchor)) + 1), parameter.state)
    source = patterns.regex(parts)
    if not source or source.count(".*") > 2 or len(text) > patterns.longest(source):  # noqa: PLR2004 - may take very long
        return text if not source else parameter.refused("the pattern is not understood")
    expression = re.compile(("\\A" if anchor == "#" else "") + source + ("\\Z" if anchor == "%" else ""), re.DOTALL)
    out, start = [], 0
    for found in expression.finditer(text.chars):
        if found.end() == found.start():
            continue
        out += [text.slice(start, found.start()), replacement]
        start = found.end()
        if sign == "/":
            break
    return Text.joined([*out, text.slice(start)])


def _recased(text: Text, sign: str) -> Text:
    change = str.upper if sign[0] == "^" else str.lower
    if len(sign) == 2:  # noqa: PLR2004 - "^^" and ",," change every character
        return Text(
            piece if piece.reason is not None else piece._replace(text=change(piece.text)) for piece in text.pieces
        )
    first = text.slice(0, 1)
    return Text(
        (
            *(p if p.reason is not None else p._replace(text=change(p.text)) for p in first.pieces),
            *text.slice(1).pieces,
        )
    )
