"""TOML: the values are tomllib's own; each key and each value is found where it stands, whatever way it is written."""

from __future__ import annotations

import json
import random
import time
import tomllib
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import covered, entries, only, plain_value, source

from effbatch_lint.documents.nodes import Mapping, Node, Scalar, Sequence, entry_at
from effbatch_lint.documents.toml import parse
from effbatch_lint.source import MAX_DEPTH, Span, Unreadable

# -- generated documents -------------------------------------------------------------------------------------------

KEYS = st.sampled_from(["a", "b-c", "d_1", "0", "é x", "a.b", "", '"', "# n", "[x]", "'"])
LEAVES = (
    st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False)
    | st.dates().map(str).map(date.fromisoformat)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=10)
    | st.sampled_from(["# x", "a = 1", "[t]", '"', "'", '""', "\\", "x\ny = 2\n", '"""', "'''", "a]", "b}"])
)
TABLES = st.recursive(
    st.dictionaries(KEYS, LEAVES, max_size=4),
    lambda below: st.dictionaries(KEYS, LEAVES | below | st.lists(LEAVES | below, max_size=3), max_size=4),
    max_leaves=12,
)


def basic(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def escaped(text: str) -> str:
    return "".join(char if char.isascii() else f"\\U{ord(char):08X}" for char in basic(text))


class Writer:
    """Writes a table in one of the ways that TOML has for it, by chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def blank(self) -> str:
        return self.chance.choice(["", " ", "\t", "  "])

    def lines(self) -> str:
        return self.chance.choice(["", " ", "\n", "\r\n  ", " # x = [1\n", "\n# ]\n"])

    def key(self, text: str) -> str:
        if text.replace("-", "").replace("_", "").isalnum() and text.isascii() and self.chance.random() < 0.7:
            return text
        return f"'{text}'" if "'" not in text and self.chance.random() < 0.5 else basic(text)

    def string(self, text: str) -> str:
        ways = [basic(text), escaped(text)]
        if "'" not in text and text.isprintable():
            ways.append(f"'{text}'")
        if not text.startswith("\n"):
            if "'''" not in text and all(char.isprintable() or char == "\n" for char in text):
                ways.append(f"'''{text}'''")
            ways.append(f'"""{basic(text)[1:-1]}"""'.replace("\\n", "\n" if "\\" not in text else "\\n"))
        return self.chance.choice(ways)

    def value(self, value: Any) -> str:
        if isinstance(value, dict):
            pairs = [self.pair(key, below) for key, below in value.items()]
            return "{" + self.blank() + f"{self.blank()},{self.blank()}".join(pairs) + self.blank() + "}"
        if isinstance(value, list):
            items = [self.lines() + self.value(item) + self.lines() for item in value]
            return "[" + ",".join(items) + (self.chance.choice(["", ","]) if items else "") + self.lines() + "]"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, int) and value >= 0 and self.chance.random() < 0.3:
            return hex(value)
        return str(value)

    def pair(self, key: str, value: Any) -> str:
        if isinstance(value, dict) and len(value) == 1 and self.chance.random() < 0.5:
            below = self.pair(*next(iter(value.items())))
            return f"{self.key(key)}{self.blank()}.{self.blank()}{below}"
        return f"{self.key(key)}{self.blank()}={self.blank()}{self.value(value)}"

    def table(self, table: dict[str, Any], path: tuple[str, ...] = ()) -> str:
        out, later = "", []
        for key, value in table.items():
            several = isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
            if (isinstance(value, dict) or several) and self.chance.random() < 0.6:
                later.append((key, value))
            else:
                out += f"{self.blank()}{self.pair(key, value)}{self.chance.choice(['', ' # y = 1'])}\n"
        for key, value in later:
            dotted = f"{self.blank()}.{self.blank()}".join(self.key(part) for part in (*path, key))
            opening, closing = ("[[", "]]") if isinstance(value, list) else ("[", "]")
            for item in value if isinstance(value, list) else [value]:
                out += f"{opening}{self.blank()}{dotted}{self.blank()}{closing}{self.lines() or chr(10)}"
                out += ("" if out.endswith(("\n", "  ")) else "\n") + self.table(item, (*path, key))
        return out


def text_at(text: str, span: Span | None) -> str:
    assert span is not None
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return text[starts[span.line - 1] + span.column - 1 : starts[span.end_line - 1] + span.end_column - 1]


@given(TABLES, st.randoms(use_true_random=False))
def test_values_and_places(table: dict[str, Any], chance: random.Random) -> None:
    text = Writer(chance).table(table)
    expected = tomllib.loads(text)
    root = only(parse(source(text)))
    assert plain_value(root, "pyyaml") == as_text(expected)
    for entry in entries(root):
        written = text_at(text, entry.span)
        assert entry.key == (tomllib.loads(f"x = {written}")["x"] if written[0] in "\"'" else written)
        check_value(text, entry.value)


def check_value(text: str, node: Node) -> None:
    if isinstance(node, Scalar):
        assert as_text(tomllib.loads(f"x = {text_at(text, node.span)}")["x"]) == node.value
    elif isinstance(node, Sequence):
        for item in node.items:
            check_value(text, item)


def as_text(value: Any) -> Any:
    """Dates and times as text."""
    if isinstance(value, dict):
        return {key: as_text(below) for key, below in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else str(value)


@given(
    st.lists(
        st.sampled_from(
            ["a", "b", ".", "=", "1", '"', "'", '"""', "'''", "[", "]", "[[", "]]", "{", "}", ",", "\n", " ", "# c", "\\", "é", "\r\n"]
        ),
        max_size=20,
    ).map("".join)
)  # fmt: skip
def test_any_text_is_read_or_refused_at_a_place(text: str) -> None:
    try:
        expected: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(Unreadable) as refused:
            parse(source(text))
        assert refused.value.reason.startswith("not valid TOML: ")
        lines = text.split("\n")
        assert 1 <= refused.value.span.line <= len(lines)
        assert 1 <= refused.value.span.column <= len(lines[refused.value.span.line - 1]) + 1
    else:
        assert plain_value(only(parse(source(text))), "pyyaml") == expected


# -- places, written out -------------------------------------------------------------------------------------------

CONFIG = """\
title = "é" # x = 1
a.b."c d" = 1
"quoted.key" = 0x10
text = '''
[no.table]
x = 1
'''
[training]
batch = 8  # effbatch
list = [ # [
  1,
  {k = 2, l = {m = 3}},
]
[training . "deep é"]
when = 1979-05-27 07:32:00
[[stages]]
n = 1
[stages.data]
m = 2
[[stages]]
n = 3
[stages.data]
m = 4
[[stages.data.parts]]
p = 5
"""


@pytest.mark.parametrize("text", [CONFIG, CONFIG.replace("\n", "\r\n")], ids=["LF", "CRLF"])
def test_places(text: str) -> None:
    root = only(parse(source(text)))
    found = [
        (entry.span.line, covered(text, entry.span), covered(text, entry.value.span))
        for entry in entries(root)
        if entry.span is not None and isinstance(entry.value, Scalar) and entry.key != "text"
    ]
    assert found == [
        (1, "title", '"é"'),
        (2, '"c d"', "1"),
        (3, '"quoted.key"', "0x10"),
        (9, "batch", "8"),
        (12, "k", "2"),
        (12, "m", "3"),
        (15, "when", "1979-05-27 07:32:00"),
        (17, "n", "1"),
        (19, "m", "2"),
        (21, "n", "3"),
        (23, "m", "4"),
        (25, "p", "5"),
    ]
    tables = {path: entry_at(root, path) for path in ("training", "training.deep é", "stages", "stages.1", "a.b")}
    assert {path: entry and entry.span and (entry.span.line, covered(text, entry.span)) for path, entry in tables.items()} == {
        "training": (8, "training"),
        "training.deep é": (14, '"deep é"'),
        "stages": (16, "stages"),
        "stages.1": (20, "stages"),
        "a.b": (2, "b"),
    }  # fmt: skip
    item = entry_at(root, "training.list.0")
    assert item is not None
    assert covered(text, item.value.span) == "1"


def test_a_comment_with_quotes_hides_nothing() -> None:
    text = "a = 1 # \"\"\"\nb = 2 # '''\nc = 3\n"
    assert [entry.span and entry.span.line for entry in entries(only(parse(source(text))))] == [1, 2, 3]


def test_the_value_of_a_scalar_is_tomls_own() -> None:
    values = plain_value(
        only(parse(source("a = 010\n".replace("010", "1_000") + "b = 'true'\nc = true\nd = 1e3\n"))), "pyyaml"
    )
    assert values == {"a": 1000, "b": "true", "c": True, "d": 1000.0}


def test_an_empty_document() -> None:
    for text in ("", "\n", "# x\n"):
        root = parse(source(text))
        assert len(root) == 1
        assert isinstance(root[0], Mapping)
        assert root[0].entries == {}


# -- refusals and limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("a = 1\nb = \n", (2, 5), "Invalid value"),
        ("a = 1\na = 2\n", (2, 6), "Cannot overwrite a value"),
        ("[t]\n[t]\n", (2, 3), "Cannot declare"),
        ("é = 1\n", (1, 1), "Invalid statement"),
        ("a = [1,\n", (2, 1), "Invalid value"),
        ('a = "\n', (1, 6), "Illegal character"),
    ],
)
def test_what_is_refused(text: str, place: tuple[int, int], reason: str) -> None:
    with pytest.raises(Unreadable) as refused:
        parse(source(text))
    assert (refused.value.span.line, refused.value.span.column) == place
    assert refused.value.reason.startswith(f"not valid TOML: {reason}")
    assert "at line" not in refused.value.reason


@pytest.mark.parametrize(
    ("text", "place", "size"),
    [
        (f"a = 1\nb = {'9' * 5_000}\n", (2, 5), "5,000 characters"),
        (f"a = [1, {'1_' * 3_000}1]\n", (1, 9), "about 2,989 digits"),
        (f"a = 0x{'f' * 5_000}\n", (1, 5), "about 6,000 digits"),
    ],
)
def test_a_number_of_absurd_length_is_refused_at_its_place(text: str, place: tuple[int, int], size: str) -> None:
    with pytest.raises(Unreadable) as refused:
        plain_value(only(parse(source(text))), "pyyaml")
    assert (refused.value.span.line, refused.value.span.column) == place
    assert refused.value.reason == f"a number of {size}, over the limit of 100"


@pytest.mark.parametrize(
    "make",
    [
        lambda depth: "a = " + "[" * depth + "]" * depth,
        lambda depth: "a = " + "{b = " * depth + "1" + "}" * depth,
        lambda depth: ".".join("a" * depth) + " = 1",
        lambda depth: "[" + ".".join("a" * depth) + "]",
        lambda depth: "a = {b=1," + " . ".join(["''"] * depth) + "=2}",
    ],
    ids=["lists", "inline tables", "dotted", "header", "dotted inside"],
)
def test_nesting_has_a_limit(make: Any) -> None:
    parse(source(make(MAX_DEPTH - 2)))
    for depth in (MAX_DEPTH + 2, 300, 3_000, 10_000, 200_000):
        started = time.process_time()
        with pytest.raises(Unreadable) as refused:
            parse(source(make(depth)))
        assert refused.value.reason == f"nested deeper than the limit of {MAX_DEPTH} levels"
        assert refused.value.limit
        assert time.process_time() - started < 2
