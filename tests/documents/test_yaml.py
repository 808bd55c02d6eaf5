"""YAML: values as PyYAML's safe loader gives them, places as an editor counts them; with libyaml and without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees import covered, entries, only, plain_value, source

from effbatch_lint.documents import yaml
from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence, entry_at
from effbatch_lint.documents.yaml import MAX_EXPANDED_NODES, parse, parse_and_look
from effbatch_lint.source import MAX_DEPTH, Unreadable

LOADERS = [pytest.param(pyyaml.CSafeLoader, id="libyaml"), pytest.param(pyyaml.SafeLoader, id="pure")]
patient = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=LOADERS)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(yaml, "LOADER", request.param)
    return request.param


def refusal(text: str) -> Unreadable | None:
    try:
        parse(source(text))
    except Unreadable as error:
        return error
    return None


# -- values --------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12) | st.sampled_from(
    ["8", "010", "1e-5", "yes", "null", "~", "1:30", "a: b", "# x", "- a", "<<", "=", "x\ny\n", "  x", "'", '"', "&a", "*a", "!t", "é", "日本"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=4),
    max_leaves=10,
)


@patient
@given(VALUES, st.sampled_from([None, True, False]), st.booleans(), st.sampled_from([None, '"', "'", "|"]))
def test_values_are_those_of_the_safe_loader(
    loader: type,
    value: Any,
    flow: bool | None,  # noqa: FBT001
    unicode: bool,  # noqa: FBT001
    style: str | None,
) -> None:
    shared = [value, value, {"again": value}]
    text = pyyaml.safe_dump(shared, default_flow_style=flow, allow_unicode=unicode, default_style=style)
    roots = parse(source(text))
    assert [plain_value(root, "pyyaml") for root in roots] == list(pyyaml.load_all(text, Loader=loader))


PAIRS = st.tuples(st.sampled_from(["micro", "steps", "length"]), st.integers(0, 9))
MERGES = st.lists(st.sampled_from("xyz"), min_size=1, max_size=2)


@given(st.lists(PAIRS, max_size=3), st.lists(PAIRS, max_size=3), st.lists(PAIRS | MERGES, min_size=1, max_size=6))
def test_merge_keys(
    first: list[tuple[str, int]], second: list[tuple[str, int]], last: list[tuple[str, int] | list[str]]
) -> None:
    """The oracle is the specification, which PyYAML followed up to 6.0.3: of a list the first mapping counts, and the
    mapping's own keys count before all. PyYAML 6.0.4 takes the last of a list, by an accident of object identity.
    """

    def written(items: Iterable[tuple[str, int] | list[str]]) -> str:
        return "".join(
            f"  {item[0]}: {item[1]}\n"
            if isinstance(item, tuple)
            else f"  <<: [{', '.join(f'*{name}' for name in item)}]\n"
            for item in items
        )

    text = f"x: &x\n  k: 0\n{written(first)}y: &y\n  l: 0\n{written(second)}z: &z\n  <<: *x\n  steps: 10\nw:\n{written(last)}"
    x, y = {"k": 0, **dict(first)}, {"l": 0, **dict(second)}
    named = {"x": x, "y": y, "z": {**x, "steps": 10}}
    expected: dict[str, int] = {}
    for item in last:
        if isinstance(item, list):
            for name in reversed(item):
                expected.update(named[name])
    expected.update(dict(item for item in last if isinstance(item, tuple)))
    found = plain_value(only(parse(source(text))), "pyyaml")
    assert found == {**named, "w": expected}
    assert list(found["w"]) == list(expected)


@given(
    st.lists(
        st.sampled_from(
            ["a: ", "b:", "- ", "? ", "? - ", "'", '"', "# c", " ", "x", "8", "\n", "\n  ", "|\n", ">-\n  ", "[", "]", "{", "}", ", ", "&a ", "*a", "!!int ", "!t ",
             "<<: ", "---\n", "...\n", "%YAML 1.1\n", "\t", "é", "\r\n", "\u2028", "\x85", "\x07", "@", "`"]
        ),
        max_size=14,
    ).map("".join)
)  # fmt: skip
def test_any_text_is_read_or_refused_at_a_place(text: str) -> None:
    refused = refusal(text)
    if refused is None:
        for root in parse(source(text)):
            for entry in entries(root):
                assert entry.span is not None
                assert entry.span.line <= text.count("\n") + 1
    else:
        line = text.split("\n")[refused.span.line - 1]
        assert 1 <= refused.span.column <= len(line) + 1
        assert refused.code == "EB901"


@given(st.text(max_size=60))
def test_the_safe_loader_reads_what_is_read(text: str) -> None:
    try:
        pyyaml.compose(text, Loader=pyyaml.CSafeLoader)
    except pyyaml.YAMLError:
        assert refusal(text) is not None


# -- places --------------------------------------------------------------------------------------------------------

CONFIG = """\
# é
é: "日本" # 日本
'two words': 'it''s'
anchored: &x 12
tagged: !!int "8"
both: &y !!str 8
flow: {a: 1, "b" : [x, -0.5]}
empty:
deep:
  - name: 😀
    deeper: {key: value}
? explicit
: 3
"""


@pytest.mark.parametrize("text", [CONFIG, CONFIG.replace("\n", "\r\n")], ids=["LF", "CRLF"])
@pytest.mark.usefixtures("loader")
def test_places(text: str) -> None:
    found = [
        (entry.span.line, covered(text, entry.span), covered(text, entry.value.span))
        for entry in entries(only(parse(source(text))))
        if entry.span is not None and isinstance(entry.value, Scalar)
    ]
    assert found == [
        (2, "é", '"日本"'),
        (3, "'two words'", "'it''s'"),
        (4, "anchored", "12"),
        (5, "tagged", '!!int "8"'),
        (6, "both", "8"),
        (7, "a", "1"),
        (8, "empty", ""),
        (10, "name", "😀"),
        (11, "key", "value"),
        (12, "explicit", "3"),
    ]
    item = entry_at(only(parse(source(text))), "flow.b.1")
    assert item is not None
    assert covered(text, item.value.span) == "-0.5"


@pytest.mark.usefixtures("loader")
def test_a_value_of_several_lines_starts_at_its_mark() -> None:
    root = only(parse(source("a: |\n  x\n  y\nb: one\n  two\nc: 1\n")))
    assert [entry.value.span and tuple(entry.value.span)[1:3] for entry in root.entries.values()] == [
        (1, 4),
        (4, 4),
        (6, 4),
    ]


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
@pytest.mark.usefixtures("loader")
def test_a_line_ends_where_editors_end_it(mark: str) -> None:
    text = f'# x{mark}a: 1\nb: "2{mark}3"\nc: &c 4\nd: [*c, {{e: 5}}]\n'
    root = only(parse(source(text)))
    assert [(entry.key, entry.span and tuple(entry.span)[1:3]) for entry in entries(root)] == [
        ("a", (1, 5)),
        ("b", (2, 1)),
        ("c", (3, 1)),
        ("d", (4, 1)),
        ("e", (4, 10)),
    ]
    refused = refusal(f"# x{mark}a: 1\nb: [\n")
    assert refused is not None
    assert refused.span.line == 3


def test_an_alias_stands_where_its_anchor_does() -> None:
    text = "a: &x 12\nb: *x\n"
    assert covered(text, only(parse(source(text))).entries["b"].value.span) == "12"


# -- documents, merges, duplicates ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("loader")
def test_documents() -> None:
    roots = parse(source("%YAML 1.1\n---\na: 1\n---\n# nothing\n---\n- b\n...\n--- c\n"))
    assert [plain_value(root, "pyyaml") for root in roots] == [{"a": 1}, None, ["b"], "c"]
    assert parse(source("# nothing\n")) == []
    assert parse(source("")) == []


@pytest.mark.usefixtures("loader")
def test_the_last_of_two_equal_keys_counts_and_the_first_is_kept() -> None:
    text = "a: 1\nb: {c: 2, c: 3}\na: 4\na: 5\n"
    roots, look = parse_and_look(source(text))
    root = only(roots)
    assert plain_value(root, "pyyaml") == pyyaml.safe_load(text) == {"a": 5, "b": {"c": 3}}
    assert [covered(text, entry.value.span) for entry in root.duplicates] == ["1", "4"]
    below = root.entries["b"].value
    assert isinstance(below, Mapping)
    assert [covered(text, entry.value.span) for entry in below.duplicates] == ["2"]
    assert sorted((name, span.line) for name, span in look()) == [("a", 3), ("a", 4), ("c", 2)]


def test_a_merged_value_that_is_replaced_is_remembered_and_is_no_duplicate() -> None:
    text = "base: &b {bs: 1}\nrun:\n  <<: *b\n  bs: 2\n"
    run = only(parse(source(text))).entries["run"].value
    assert isinstance(run, Mapping)
    assert covered(text, run.entries["bs"].value.span) == "2"
    assert [covered(text, entry.value.span) for entry in run.entries["bs"].previous] == ["1"]
    assert run.duplicates == []


def test_a_quoted_merge_key_is_a_key() -> None:
    assert plain_value(only(parse(source('a: {"<<": {b: 1}}'))), "pyyaml") == {"a": {"<<": {"b": 1}}}


def test_keys_that_are_no_text() -> None:
    root = only(parse(source("1: a\ntrue: b\n[x]: c\n? {y: 1}\n: d\n")))
    assert list(root.entries) == ["1", "true"]


def test_an_entry_is_found_by_its_path() -> None:
    root = only(parse(source("a: {b: [{c: 1}, 2]}\na.b: 3\n'd.e': {f: 4}\n")))
    assert [
        entry and plain_value(entry.value, "pyyaml")
        for path in ("a.b", "a.b.0.c", "d.e.f", "a.b.2", "a.b.x", "a.c", "", "a.b.0.c.d", "a." + "9" * 5_000)
        for entry in (entry_at(root, path),)
    ] == [3, 1, None, None, None, None, None, None, None]
    nested = only(parse(source("a: {b: [{c: 1}, 2]}\n")))
    assert [
        entry and plain_value(entry.value, "pyyaml")
        for path in ("a.b.0.c", "a.b.1", "a.b.2", "a.b.-1", "a.b")
        for entry in (entry_at(nested, path),)
    ] == [1, 2, None, None, [{"c": 1}, 2]]


# -- refusals and limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("a: 1\n  b: 2\n", (2, 4), "mapping values are not allowed"),
        ("a: 1\né: [1, 2\n", (3, 1), "while parsing a flow sequence"),
        ('a: 1\né: "日本\n', (3, 1), "while scanning a quoted scalar"),
        ("a: *x\n", (1, 4), "undefined alias"),
        ("a:\n\t- b\n", (2, 1), "cannot start any token"),
        ("a: @b\n", (1, 4), "cannot start any token"),
        ("a: 1\né: x\x07\n", (2, 5), "the character U+0007 is not allowed"),
        ("a: \x7f\n", (1, 4), "the character U+007F is not allowed"),
    ],
)
@pytest.mark.usefixtures("loader")
def test_what_is_refused(text: str, place: tuple[int, int], reason: str) -> None:
    refused = refusal(text)
    assert refused is not None
    assert (refused.span.line, refused.span.column) == place
    assert refused.reason.startswith("not valid YAML: ")
    assert reason in refused.reason
    assert not refused.limit


@pytest.mark.usefixtures("loader")
def test_half_a_surrogate_pair_is_refused() -> None:
    refused = refusal("a: \udcff\n")
    assert refused is not None
    assert refused.reason.startswith("not valid YAML: ")


def compact(depth: int) -> str:
    pairs = (depth - 1) // 2
    below = "".join("  " * level + "- a:\n" for level in range(pairs))
    return "a:\n" + below + "  " * pairs + ("  b" if depth % 2 else "- b")


NESTED: dict[str, Callable[[int], str]] = {
    "flow list": lambda depth: "[" * depth + "]" * depth,
    "flow mapping": lambda depth: "{a: " * depth + "}" * depth,
    "list on a line": lambda depth: "- " * depth + "a",
    "key on a line": lambda depth: "? " * depth + "a",
    "indented": lambda depth: "".join(" " * level + "a:\n" for level in range(depth)) + " " * depth + "b",
    "compact": compact,
}


@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.usefixtures("loader")
def test_nesting_has_a_limit(shape: str) -> None:
    make = NESTED[shape]
    assert refusal(make(MAX_DEPTH)) is None
    for depth in (MAX_DEPTH + 1, 400):
        for anchor in ("", "# *\n"):  # a star makes the reader look for aliases
            refused = refusal(anchor + make(depth))
            assert refused is not None
            assert refused.reason == f"nested deeper than the limit of {MAX_DEPTH} levels"
            assert refused.limit


@pytest.mark.parametrize("shape", ["flow list", "flow mapping", "list on a line", "key on a line"])
def test_ten_thousand_levels_are_refused_in_time(shape: str) -> None:
    started = time.process_time()
    refused = refusal(NESTED[shape](10_000))
    assert refused is not None
    assert refused.limit
    assert time.process_time() - started < 2


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.usefixtures("loader")
def test_an_alias_bomb_is_refused() -> None:
    assert refusal(bomb(5, 9)) is None
    for levels in (7, 30, 90):
        refused = refusal(bomb(levels, 9))
        assert refused is not None
        assert f"more than the limit of {MAX_EXPANDED_NODES:,} nodes" in refused.reason
        assert refused.limit


@pytest.mark.parametrize(
    "text", ["a: &x [*x]\n", "a: &x {b: *x}\n", "&x a: {b: 1}\nc: &y\n  d: [1, {e: *y}]\n", "&x [a, *x]\n"]
)
@pytest.mark.usefixtures("loader")
def test_an_alias_that_contains_itself_is_refused(text: str) -> None:
    refused = refusal(text)
    assert refused is not None
    assert refused.reason == "an alias that contains itself"
    assert refused.limit


@pytest.mark.usefixtures("loader")
def test_a_mapping_that_merges_itself_is_refused() -> None:
    refused = refusal("a: &x\n  b: 1\n  <<: *x\n")
    assert refused is not None
    assert refused.reason == "an alias that contains itself"


def test_a_tree_is_converted_only_where_it_is_asked_for() -> None:
    root = only(parse(source("a: {b: [1, 2]}\n")))
    below = root.entries["a"].value
    assert isinstance(below, Mapping)
    assert below._entries is None
    items = below.entries["b"].value
    assert isinstance(items, Sequence)
    assert items._items is None
