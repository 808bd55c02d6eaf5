"""Where the comments of a file are: never inside a quoted string, a block scalar or a here-document.

A scanner per format, by lines or by one regular expression: a comment costs no parser, and a file that does not parse
still has its comments.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.source import Source


class Comment(NamedTuple):
    """A comment, or one line of a ``/* */`` comment.

    Attributes:
        text: what follows the marker, without the blanks around it.
        span: where that text stands.
        code: what stands before the comment on its line; empty for a comment on a line of its own.
    """

    text: str
    span: Span
    code: str


# What is not closed goes on to the end of the file: a pattern that gave up there would try again at every next quote.
_PATTERNS = {
    # The strings of four kinds, or a comment. Unterminated strings are no match, and their quote is passed over.
    "toml": r'"""(?:[^\\]|\\.)*?"""|' r"'''.*?'''|" r'"(?:[^"\\\n]|\\.)*"|' r"'[^'\n]*'|(?P<comment>#[^\n]*)",
    # As DeepSpeed reads it (hjson), see documents/json.py: // within an unquoted address is none, after a number it is.
    "json": r"'''.*?(?:'''|\Z)|"
    r'"(?:[^"\\\n]|\\.)*"?|'
    r"(?<![^\s,:\[{])'(?:[^'\\\n]|\\.)*'?|"
    r"(?P<comment>(?<![^\s,\[\]{}\"'0-9el])(?://[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)))",
    # An escaped character, a string, a here-document, or a comment, which starts a word (so $# and ${#x} are none).
    "shell": r"\\.|'[^']*'|"
    r'"(?:[^"\\]|\\.)*"|'
    r"(?<![\w<)])<<-?[ \t]*(?P<quote>[\"']?)(?P<word>[A-Za-z_]\w*)(?P=quote)[^\n]*(?:\Z|\n.*?(?:^\t*(?P=word)[ \t]*$|\Z))|"
    r"(?<![^\s;&|()])(?P<comment>#[^\n]*)",
}
_HEADING = 4_000  # characters: a longer heading is scanned like any other comment
# The marker of a comment, or the star that a line of a /* */ comment begins with.
_MARKER = re.compile(r"(?:#+|//+|/\*+|[ \t]*\*+(?=[ \t]|$))?[ \t]*")


def comments(source: Source, kind: str) -> list[Comment]:
    """The comments of a file of ``kind`` yaml, toml, json or shell, in order; of several on one line the last."""
    text = source.text
    if "#" not in text and "//" not in text and "/*" not in text:
        return []
    lines: list[int] = []
    last: dict[int, tuple[int, int]] = {}
    for start, end in _yaml(text) if kind == "yaml" else _by_pattern(text, kind):
        if not lines:
            lines = [0, *(match.end() for match in re.finditer("\n", text))]
        last[bisect_right(lines, start)] = (start, end)
    return [_comment(source, number, lines[number - 1], start, end) for number, (start, end) in last.items()]


def _comment(source: Source, number: int, begin: int, start: int, end: int) -> Comment:
    """The comment from ``start`` to ``end`` of the text, on the line that begins at ``begin``."""
    body = source.text[start:end]
    marker = _end(_MARKER, body, 0)
    trimmed = body[marker:].rstrip().removesuffix("*/").rstrip()
    span = source.span(number, start - begin + marker + 1, len(trimmed))
    return Comment(trimmed, span, source.text[begin:start].strip())


def heading(source: Source, kind: str) -> list[Comment]:
    """The comments on lines of their own before the first line of a YAML or TOML file that is none, unscanned."""
    found: list[Comment] = []
    if kind not in ("yaml", "toml"):
        return found
    text_above = source.text if len(source.text) < _HEADING else source.text[:_HEADING].rpartition("\n")[0]
    for number, line in enumerate(text_above.split("\n"), 1):
        stripped = line.strip()
        if stripped and stripped[0] != "#":
            break
        text = stripped.lstrip("#").strip()
        if text:
            column = line.index(text) + 1
            found.append(Comment(text, Span(source.path, number, column, number, column + len(text)), ""))
    return found


def _by_pattern(text: str, kind: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer(_PATTERNS[kind], text, re.DOTALL | re.MULTILINE):
        start, end = match.span("comment")
        while 0 <= start < end:
            stop = text.find("\n", start, end)
            stop = end if stop < 0 else stop
            if text[start:stop].strip():
                yield start, stop
            start = stop + 1


# -- YAML ----------------------------------------------------------------------------------------------------------

_SINGLE_END = re.compile(r"(?:[^']|'')*'")
_DOUBLE_END = re.compile(r'(?:[^"\\]|\\.)*"')
_BLOCK = re.compile(r"[|>][-+]?[1-9]?[-+]?[ \t]*(?=#|$)")
_PROPERTY = re.compile(r"[&!][^\s,\[\]{}]*")
_PLAIN = re.compile(r"(?:[^:#]+|:(?=\S)|(?<=\S)#)*")
_PLAIN_IN_FLOW = re.compile(r"(?:[^:#,\[\]{}]+|:(?=[^\s,\[\]{}])|(?<=[^\s,\[\]{}])#)*")
_AFTER_BLANK = re.compile(r"(?<!\S)#")


class _State:
    """What a line leaves to the next: an open quote, a block scalar, flow collections, a plain scalar."""

    __slots__ = ("block", "depth", "measured", "parent", "plain", "quote")

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.block: int | None = None  # a block scalar holds every line that is indented deeper than this
        self.measured = False  # whether the block scalar's own indentation is known: its first line sets it
        self.parent = -1  # the column of the last key: a value on lines of its own is indented deeper
        self.plain: int | None = None  # a plain scalar may go on in every line that is indented deeper than this


def _yaml(text: str) -> Iterator[tuple[int, int]]:
    state = _State()
    begin = 0
    for raw in text.split("\n"):
        line = raw.rstrip("\r")
        at = _comment_in(line, state)
        if at is not None:
            yield begin + at, begin + len(line)
        begin += len(raw) + 1


def _comment_in(line: str, state: _State) -> int | None:
    """The column at which a comment starts on this line, or None; ``state`` is brought up to the line's end."""
    stripped = line.lstrip(" ")
    if not stripped:
        return None
    at = len(line) - len(stripped)
    if state.block is not None:
        if at > state.block:
            state.block, state.measured = state.block if state.measured else at - 1, True
            return None
        state.block = None
    if at == 0 and line[:3] in ("---", "...") and not line[3:4].strip():
        state.depth, state.plain, state.quote = 0, None, ""
        return _tokens(line, 3, state)
    if state.plain is not None:
        if at > state.plain:
            comment = _AFTER_BLANK.search(line)
            state.plain = None if comment else state.plain
            return comment and comment.start()
        state.plain = None
    if state.quote:
        end = _closing(line, 0, state)
        return None if end is None else _tokens(line, end, state)
    return None if line[0] == "%" else _tokens(line, at, state)


def _closing(line: str, at: int, state: _State) -> int | None:
    """The column past the end of the open quoted scalar; None when it goes on in the next line."""
    match = (_SINGLE_END if state.quote == "'" else _DOUBLE_END).match(line, at)
    if match is None:
        return None
    state.quote = ""
    return match.end()


def _tokens(line: str, at: int, state: _State) -> int | None:
    """Walk the tokens of a line from ``at``, where one may start."""
    length = len(line)
    parent = min(state.parent, at - 1)
    entry = at  # where the first token stands of what may turn out to be a mapping's key
    while at < length:
        character = line[at]
        if character in " \t":
            entry += entry == at
            at += 1
        elif character == "#":
            if at == 0 or line[at - 1] in " \t":
                return at
            at += 1
        elif character in "\"'":
            state.quote = character
            end = _closing(line, at + 1, state)
            if end is None:
                return None
            at = end
        elif character in "[{":
            state.depth += 1
            at += 1
        elif character in "]}":
            state.depth = max(0, state.depth - 1)
            at += 1
        elif character == ":" or (character == "," and state.depth):
            if not state.depth:
                parent = state.parent = entry
            at += 1
        elif character in "-?" and state.depth == 0 and line[at + 1 : at + 2] in (" ", "\t", ""):
            parent, entry = at, at + 1
            at += 1
        elif character in "&!":
            at = _end(_PROPERTY, line, at)
        elif character in "|>" and state.depth == 0 and (header := _BLOCK.match(line, at)):
            digit = header[0].strip(" \t|>+-")
            state.block, state.measured = max(parent, 0) + (int(digit) - 1 if digit else 0), bool(digit)
            return header.end() if line[header.end() :] else None
        else:
            at = max(_end(_PLAIN_IN_FLOW if state.depth else _PLAIN, line, at), at + 1)
            state.plain = parent if at >= length and state.depth == 0 else None
    return None


def _end(pattern: re.Pattern[str], line: str, at: int) -> int:
    match = pattern.match(line, at)
    return at if match is None else match.end()
