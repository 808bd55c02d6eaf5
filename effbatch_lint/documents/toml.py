"""TOML text -> nodes: ``tomllib`` gives the values, a scan of the text gives the places.

tomllib keeps no positions. The scan follows table headers and ``key = value`` lines, which is where every training
config in TOML keeps its numbers; a key that stands inside an inline table is found at that table's line.
"""

from __future__ import annotations

import re
import tomllib

from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.source import Source, Span, Unreadable

_HEADER = re.compile(r"^[ \t]*(\[\[?)[ \t]*([^\[\]\n]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$")
_PAIR = re.compile(r"""^[ \t]*((?:"[^"\n]*"|'[^'\n]*'|[\w.-]|[ \t]*\.[ \t]*)+?)[ \t]*=[ \t]*(.*)$""")
_PART = re.compile(r"""[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([\w-]+))[ \t]*\.?""")
_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")


def parse(source: Source) -> list[Node]:
    """The document as one mapping.

    Raises:
        Unreadable: a syntax error (duplicate keys are one in TOML) at its place.
    """
    try:
        data = tomllib.loads(source.text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line, column = (int(at[1]), int(at[2])) if at else (1, 1)
        reason = _AT_LINE.sub("", str(error)).strip()
        raise Unreadable(source.span(line, column), f"not valid TOML: {reason}") from None
    except RecursionError:
        raise Unreadable(source.span(), "nested deeper than the limit of Python's TOML reader") from None
    except ValueError as error:  # an integer of thousands of digits
        raise Unreadable(source.span(), f"not valid TOML: {error}") from None
    return [_mapping(data, (), _places(source), source)]


_Place = tuple[Span, Span]  # the key, the value


def _places(source: Source) -> dict[tuple[str, ...], _Place]:
    """Where each key path stands; array-of-tables elements are numbered."""
    places: dict[tuple[str, ...], _Place] = {}
    table: tuple[str, ...] = ()
    counts: dict[tuple[str, ...], int] = {}
    quotes = ""
    for number, line in enumerate(source.text.replace("\r\n", "\n").split("\n"), 1):
        if quotes:
            if quotes in line:
                quotes = ""
            continue
        header = _HEADER.match(line)
        if header:
            table = _numbered(_parts(header[2]), counts)
            if header[1] == "[[":
                index = counts[table] = counts.get(table, -1) + 1
                table = (*table, str(index))
            span = Span(source.path, number, header.start(2) + 1, number, header.end(2) + 1)
            places.setdefault(table, (span, span))
            continue
        pair = _PAIR.match(line)
        if pair is None:
            continue
        path = (*table, *_parts(pair[1]))
        text = _value_text(pair[2])
        places.setdefault(
            path,
            (
                Span(source.path, number, pair.start(1) + 1, number, pair.end(1) + 1),
                Span(source.path, number, pair.start(2) + 1, number, pair.start(2) + 1 + max(1, len(text))),
            ),
        )
        for mark in ('"""', "'''"):
            if pair[2].count(mark) == 1:
                quotes = mark
    return places


def _numbered(path: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    """A header below an array of tables belongs to that array's newest element: ``[stages.data]``."""
    out: tuple[str, ...] = ()
    for position, part in enumerate(path):
        out = (*out, part)
        if position < len(path) - 1 and out in counts:
            out = (*out, str(counts[out]))
    return out


def _parts(text: str) -> tuple[str, ...]:
    return tuple(next(group for group in match.groups() if group is not None) for match in _PART.finditer(text))


def _value_text(text: str) -> str:
    """The value without a trailing comment."""
    quoted = re.match(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', text)
    return quoted[0] if quoted else text.split("#", 1)[0].rstrip()


def _mapping(
    data: dict[str, object], path: tuple[str, ...], places: dict[tuple[str, ...], _Place], source: Source
) -> Mapping:
    span = places[path][0] if path in places else source.span()

    def load() -> tuple[dict[str, Entry], list[Entry]]:
        entries = {}
        for key, value in data.items():
            below = (*path, key)
            key_span, value_span = places.get(below, (span, span))
            entries[key] = Entry(key, key_span, _node(value, below, value_span, places, source))
        return entries, []

    return Mapping(load, span)


def _node(
    value: object, path: tuple[str, ...], span: Span, places: dict[tuple[str, ...], _Place], source: Source
) -> Node:
    if isinstance(value, dict):
        return _mapping(value, path, places, source)
    if isinstance(value, list):
        return Sequence([_node(item, (*path, str(i)), span, places, source) for i, item in enumerate(value)], span)
    known = value if isinstance(value, (bool, int, float, str)) else str(value)  # dates and times as text
    return Scalar(str(value), span, plain=not isinstance(value, str), value=known)
