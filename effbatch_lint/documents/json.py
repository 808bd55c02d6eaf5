"""JSON text -> nodes with their places, by one regular expression per token.

DeepSpeed reads its JSON with hjson, so comments, trailing commas, missing commas at a line's end, single quotes and
unquoted words are met in real files, and read. Not by the YAML composer: JSON allows keys of any length, tabs and a
colon on the next line, none of which YAML does, and ``&``, ``*`` and ``!`` mean nothing in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.source import MAX_DEPTH, Span, Unreadable

if TYPE_CHECKING:
    from effbatch_lint.source import Source

_SKIPPED = re.compile(r"(?:[ \t\r\n]+|(?P<comment>//[^\n]*|#[^\n]*|/\*.*?\*/))*", re.DOTALL)
_SKIPPABLE = frozenset(" \t\r\n#/")
_QUOTED = re.compile(r"'''.*?'''" r'|"(?:[^"\\\n]|\\.)*"' r"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_KEY = re.compile(r"[^\s{}\[\],:\"'#/][^\s{}\[\],:\"]*")
# An unquoted value may hold blanks and colons (a path, an address); a comment after it needs a blank before, but for
# a comment after a number or a constant. A placeholder that envsubst fills in (${name}) may be all of it or a part.
_WORD = re.compile(
    r"(?:-?[0-9][0-9.eE+-]*|true|false|null)(?=[ \t]*(?:[,\]}#\r\n]|//|/\*|\Z))|"
    r"(?:\$\{\w+\}|[^\s{}\[\],:\"'#])(?:\$\{\w+\}|(?![ \t](?:#|//|/\*))[^,\]}\"\r\n])*"
)


def parse(source: Source) -> tuple[list[Node], bool]:
    """The document (none in an empty file), and whether it holds comments, which strict JSON forbids.

    Raises:
        Unreadable: text that is neither JSON nor hjson-like, or nesting over the limit, at its place.
    """
    reader = _Reader(source)
    reader.skip()
    if reader.at == len(source.text):
        return [], reader.commented
    root = reader.value(0)
    reader.skip()
    if reader.at < len(source.text):
        raise reader.wrong("text after the end of the document")
    return [root], reader.commented


class _Reader:
    """Recursive descent; ``at`` is the next character."""

    def __init__(self, source: Source) -> None:
        self.at = 0
        self.commented = False
        self._text = source.text
        self._path = source.path
        self._lines = [0, *(match.end() for match in re.finditer("\n", source.text))]

    def skip(self) -> int:
        """Pass over blanks and comments; where they started."""
        start = self.at
        if self._text[start : start + 1] in _SKIPPABLE:
            match = _SKIPPED.match(self._text, start)
            assert match is not None
            self.at = match.end()
            self.commented = self.commented or match["comment"] is not None
        return start

    def wrong(self, reason: str) -> Unreadable:
        """The error at the next character."""
        return Unreadable(self._span(self.at, self.at + 1), f"not valid JSON: {reason}")

    def value(self, depth: int) -> Node:
        """The value that starts here."""
        opening = self._text[self.at : self.at + 1]
        if opening in ("{", "["):
            if depth >= MAX_DEPTH:
                raise Unreadable(
                    self._span(self.at, self.at + 1), f"nested deeper than the limit of {MAX_DEPTH} levels"
                )
            return self._mapping(depth) if opening == "{" else self._sequence(depth)
        return self._scalar(_WORD, "a value")

    def _mapping(self, depth: int) -> Mapping:
        start, entries, duplicates = self.at, dict[str, Entry](), list[Entry]()
        self.at += 1
        while not self._closed("}"):
            name = self._scalar(_KEY, "a key")
            self.skip()
            if self._text[self.at : self.at + 1] != ":":
                raise self.wrong(f"expected ':' after the key {name.text[:40]!r}")
            self.at += 1
            self.skip()
            entry = Entry(name.text, name.span, self.value(depth + 1))
            if name.text in entries:
                duplicates.append(entries[name.text])
            entries[name.text] = entry
            self._separator("}")
        return Mapping(lambda: (entries, duplicates), self._span(start, self.at))

    def _sequence(self, depth: int) -> Sequence:
        start, items = self.at, list[Node]()
        self.at += 1
        while not self._closed("]"):
            items.append(self.value(depth + 1))
            self._separator("]")
        return Sequence(items, self._span(start, self.at))

    def _closed(self, closing: str) -> bool:
        self.skip()
        if self._text[self.at : self.at + 1] != closing:
            return False
        self.at += 1
        return True

    def _separator(self, closing: str) -> None:
        """A comma, a line's end, or (not passed over) the closing bracket."""
        start = self.skip()
        following = self._text[self.at : self.at + 1]
        if following == ",":
            self.at += 1
        elif following != closing and "\n" not in self._text[start : self.at]:
            raise self.wrong(f"expected ',' or '{closing}'")
        elif not following:
            raise self.wrong(f"expected '{closing}', and the file ends")

    def _scalar(self, unquoted: re.Pattern[str], what: str) -> Scalar:
        quoted = _QUOTED.match(self._text, self.at)
        match = quoted or unquoted.match(self._text, self.at)
        if match is None:
            found = self._text[self.at : self.at + 1]
            if found in ("'", '"'):
                raise self.wrong("a string that does not end on its line")
            raise self.wrong(f"expected {what}, found {found!r}" if found else f"expected {what}, and the file ends")
        self.at = match.end()
        text = match[0].rstrip(" \t") if quoted is None else _unquoted(match[0])
        end = match.start() + len(text) if quoted is None else match.end()
        return Scalar(text, self._span(match.start(), end), plain=quoted is None)

    def _span(self, start: int, end: int) -> Span:
        lines = self._lines
        first = last = bisect_right(lines, start)
        if first < len(lines) and end >= lines[first]:
            last = bisect_right(lines, end)
        return Span(self._path, first, start - lines[first - 1] + 1, last, end - lines[last - 1] + 1)


def _unquoted(text: str) -> str:
    if text.startswith("'''"):
        return text[3:-3]
    if "\\" not in text:
        return text[1:-1]
    from json import loads  # noqa: PLC0415 - few strings of a config hold an escape

    try:
        return str(loads(f'"{text[1:-1]}"', strict=False))
    except ValueError:  # an escape that JSON does not have
        return text[1:-1]
