"""TOML text -> nodes: ``tomllib`` gives the values, a scan of the tokens gives the places, which tomllib does not keep.

The scan runs over text that tomllib has accepted, and so needs to tell strings from brackets and no more.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import MAX_DIGITS
from effbatch_lint.source import MAX_DEPTH, Source, Span, Unreadable

_AT_LINE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")
_LONG_NUMBER = re.compile(rf"[0-9][0-9_]{{{MAX_DIGITS},}}")
_MAX_BITS = MAX_DIGITS * 4

_SKIPPED = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_STRING = (
    r'"""(?:[^"\\]|\\.|"(?!"")|""(?!"))*"{3,5}' r"|'''(?:[^']|'(?!'')|''(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'"
)  # fmt: skip
_PART = re.compile(rf"({_STRING}|[\w-]+)[ \t]*(\.?)[ \t]*", re.DOTALL)
# A date and a time may be parted by a blank.
_SCALAR = re.compile(rf"{_STRING}|[^\s,\]}}#]+(?: [0-9][^\s,\]}}#]*)?", re.DOTALL)
# tomllib walks a dotted key once for each of its parts: of 100,000 parts it makes minutes.
_DEEP_KEY = re.compile(
    rf"""(?:^|[\[{{,])[ \t]*(?:(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)[ \t]*\.[ \t]*){{{MAX_DEPTH}}}""", re.MULTILINE
)

_Path = tuple[str, ...]
_Place = tuple[Span, Span]  # the key, the value


def parse(source: Source) -> list[Node]:
    """The document as one mapping.

    Raises:
        Unreadable: a syntax error (duplicate keys are one in TOML) or a limit, at its place.
    """
    too_deep = f"nested deeper than the limit of {MAX_DEPTH} levels"
    if source.text.count(".") >= MAX_DEPTH and (found := _DEEP_KEY.search(source.text)):
        raise Unreadable(_Scan(source).span(found.start(), found.end()), too_deep)
    try:
        data = tomllib.loads(source.text)
        places = _Scan(source).places()
    except tomllib.TOMLDecodeError as error:
        raise _refusal(source, str(error)) from None
    except RecursionError:
        raise Unreadable(source.span(), too_deep) from None
    except ValueError:  # Python converts no more than 4,300 digits
        found = _LONG_NUMBER.search(source.text)
        start, length = (found.start(), len(found[0])) if found else (0, 1)
        raise _long(_Scan(source).span(start, start + length), f"{length:,} characters") from None
    deepest = max(places, key=len, default=())
    if len(deepest) > MAX_DEPTH:
        raise Unreadable(places[deepest][0], too_deep)
    return [_mapping(data, (), places, source.span())]


def _refusal(source: Source, message: str) -> Unreadable:
    at = _AT_LINE.search(message)
    if at is not None and at[1] is not None:
        span = source.span(int(at[1]), int(at[2]))
    else:
        lines = source.text.split("\n")
        span = source.span(len(lines), len(lines[-1]) + 1)
    return Unreadable(span, f"not valid TOML: {_AT_LINE.sub('', message)}")


def _long(span: Span, size: str) -> Unreadable:
    return Unreadable(span, f"a number of {size}, over the limit of {MAX_DIGITS:,}")


class _Scan:
    """Walks the text once; elements of arrays are numbered in the paths."""

    def __init__(self, source: Source) -> None:
        self._text = source.text
        self._path = source.path
        self._lines = [0, *(match.end() for match in re.finditer("\n", source.text))]
        self._places: dict[_Path, _Place] = {}
        self._at = 0

    def places(self) -> dict[_Path, _Place]:
        """Where each key path stands: the key (of a table: in its header), and the value."""
        text, table, counts = self._text, _Path(), dict[_Path, int]()
        self._skip()
        while self._at < len(text):
            if text[self._at] != "[":
                self._pair(table)
            else:
                several = text.startswith("[[", self._at)
                self._at += 2 if several else 1
                self._skip()
                table = self._header(counts, several=several)
            self._skip()
        return self._places

    def span(self, start: int, end: int) -> Span:
        """The stretch between two characters of the text."""
        line, last = bisect_right(self._lines, start), bisect_right(self._lines, end)
        return Span(self._path, line, start - self._lines[line - 1] + 1, last, end - self._lines[last - 1] + 1)

    def _header(self, counts: dict[_Path, int], *, several: bool) -> _Path:
        """The path of the table that a header opens: below an array of tables, that of its newest element."""
        table: _Path = ()
        parts = self._key()
        for position, (part, span) in enumerate(parts):
            table = (*table, part)
            self._places.setdefault(table, (span, span))
            if several and position == len(parts) - 1:
                counts[table] = counts.get(table, -1) + 1
            if table in counts:
                table = (*table, str(counts[table]))
                self._places.setdefault(table, (span, span))
        self._at += 2 if several else 1
        return table

    def _pair(self, table: _Path) -> None:
        path = table
        parts = self._key()
        for part, span in parts:
            path = (*path, part)
            self._places.setdefault(path, (span, span))
        self._at += 1  # the equals sign
        self._skip()
        self._places[path] = (parts[-1][1], self._value(path))

    def _key(self) -> list[tuple[str, Span]]:
        """The parts of a dotted key."""
        parts = []
        dot = "."
        while dot:
            match = _PART.match(self._text, self._at)
            assert match is not None
            text, dot = match[1], match[2]
            if text[0] in "\"'":
                text = str(tomllib.loads(f"key = {text}")["key"]) if "\\" in text else text[1:-1]
            parts.append((text, self.span(match.start(1), match.end(1))))
            self._at = match.end()
        return parts

    def _value(self, path: _Path) -> Span:
        start = self._at
        opening = self._text[start]
        if opening not in "[{":
            match = _SCALAR.match(self._text, start)
            assert match is not None
            self._at = match.end()
            return self.span(start, self._at)
        self._at += 1
        self._skip()
        index = 0
        while self._text[self._at] not in "]}":
            if opening == "{":
                self._pair(path)
            else:
                element = (*path, str(index))
                here = self.span(self._at, self._at + 1)
                self._places[element] = (here, here)  # before what is in it, for the depth to be seen
                span = self._value(element)
                self._places[element] = (span, span)
                index += 1
            self._skip()
            if self._text[self._at] == ",":
                self._at += 1
                self._skip()
        self._at += 1
        return self.span(start, self._at)

    def _skip(self) -> None:
        match = _SKIPPED.match(self._text, self._at)
        assert match is not None
        self._at = match.end()


def _mapping(data: dict[str, object], path: _Path, places: dict[_Path, _Place], span: Span) -> Mapping:
    def load() -> tuple[dict[str, Entry], list[Entry]]:
        entries = {}
        for key, value in data.items():
            below = (*path, key)
            key_span, value_span = places.get(below, (span, span))
            entries[key] = Entry(key, key_span, _node(value, below, places, value_span))
        return entries, []

    return Mapping(load, span)


def _node(value: object, path: _Path, places: dict[_Path, _Place], span: Span) -> Node:
    if isinstance(value, dict):
        return _mapping(value, path, places, span)
    if isinstance(value, list):
        elements = ((item, (*path, str(index))) for index, item in enumerate(value))
        nowhere = (span, span)
        return Sequence([_node(item, below, places, places.get(below, nowhere)[1]) for item, below in elements], span)
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise _long(span, f"about {value.bit_length() * 3 // 10:,} digits")
    known = value if isinstance(value, (bool, int, float, str)) else str(value)  # dates and times as text
    return Scalar(str(value), span, plain=not isinstance(value, str), value=known)
