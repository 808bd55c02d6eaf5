"""JSON, and the hjson that DeepSpeed reads: values as the standard library gives them, places to the character."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import covered, entries, only, plain_value, source

from effbatch_lint.documents.json import parse
from effbatch_lint.documents.nodes import Mapping, Scalar, entry_at
from effbatch_lint.source import MAX_DEPTH, Unreadable


def loaded(text: str) -> object:
    roots, _ = parse(source(text))
    assert len(roots) == 1
    return plain_value(roots[0], "json")


def refusal(text: str) -> Unreadable | None:
    try:
        parse(source(text))
    except Unreadable as error:
        return error
    return None


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(allow_nan=False), st.text()),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(st.text(max_size=8), below, max_size=4)),
    max_leaves=12,
)


@given(
    VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]), st.sampled_from([(",", ":"), (", ", ": "), (" ,", "\t:")])
)
def test_values_are_those_of_the_standard_library(
    value: Any,
    ascii_only: bool,  # noqa: FBT001
    indent: int | str | None,
    separators: tuple[str, str],
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    assert loaded(text) == json.loads(text)


@given(
    st.lists(
        st.sampled_from(
            ["{", "}", "[", "]", ",", ":", '"', "'", "\\", "a", "1", "-", ".5", "null", "//", "/*", "*/", "#", "\n", " ", "\t", "é", "'''"]
        ),
        max_size=25,
    ).map("".join)
)  # fmt: skip
def test_any_text_is_read_or_refused_at_a_place(text: str) -> None:
    try:
        strict: object = json.loads(text)
    except ValueError:
        strict = ...
    refused = refusal(text)
    if refused is None:
        assert strict is ... or loaded(text) == strict
    else:
        assert strict is ...
        assert refused.reason.startswith("not valid JSON: ")
        assert 1 <= refused.span.line <= text.count("\n") + 1
        assert 1 <= refused.span.column <= len(text.split("\n")[refused.span.line - 1]) + 1


# -- places --------------------------------------------------------------------------------------------------------

CONFIG = """\
{
\t"é": "日本", "train_batch_size": 32, // x
\t"zero": { "stage":3 ,"ratio" :-0.5 },
  /* a
     b */ "list": [ 1,
       true ]
}
"""


@pytest.mark.parametrize("text", [CONFIG, CONFIG.replace("\n", "\r\n")], ids=["LF", "CRLF"])
def test_places(text: str) -> None:
    roots, commented = parse(source(text))
    root = only(roots)
    assert commented
    found = [
        (entry.span.line, covered(text, entry.span), covered(text, entry.value.span))
        for entry in entries(root)
        if entry.span is not None and isinstance(entry.value, Scalar)
    ]
    assert found == [
        (2, '"é"', '"日本"'),
        (2, '"train_batch_size"', "32"),
        (3, '"stage"', "3"),
        (3, '"ratio"', "-0.5"),
    ]
    zero, second = entry_at(root, "zero"), entry_at(root, "list.1")
    assert zero is not None
    assert covered(text, zero.value.span) == '{ "stage":3 ,"ratio" :-0.5 }'
    assert second is not None
    assert second.value.span is not None
    assert (second.value.span.line, covered(text, second.value.span)) == (6, "true")


def test_the_last_of_two_equal_keys_counts_and_the_first_is_kept() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'
    root = only(parse(source(text))[0])
    assert plain_value(root, "json") == json.loads(text)
    assert [(entry.key, covered(text, entry.value.span)) for entry in root.duplicates] == [("a", "1")]
    assert covered(text, root.entries["a"].value.span) == "3"


# -- what strict JSON allows and YAML does not ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '\t{"a":\t1}\t',
        '{"a"\n:\n1}',
        f'{{"{"k" * 2_000}": 1}}',
        '{"a": "\x7f\u2028\x85"}',
        r'{"a": "\ud83d\ude00", "b": "C:\\ud83d", "c": "\/\b\f\n\r\t\"\u00e9"}',
        r'{"a": "\ud83d"}',
        '{"a":"b","c":[],"d":{},"":""}',
        '{"&a": "*b", "<<": {"c": 1}, "!!int": "%"}',
        '{"a": NaN, "b": [Infinity, -Infinity], "c": 1E400}'.replace("NaN", "1"),
    ],
)
def test_strict_json(text: str) -> None:
    roots, commented = parse(source(text))
    assert plain_value(roots[0], "json") == json.loads(text)
    assert not commented


# -- what hjson allows and strict JSON does not --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "commented"),
    [
        ('{"a": 1} // x', {"a": 1}, True),
        ('# x\n{"a": 1}', {"a": 1}, True),
        ('/* x\n{ */ {"a": /**/ 1}', {"a": 1}, True),
        ('{"a": "http://x # y /* z */"}', {"a": "http://x # y /* z */"}, False),
        ("{'a': 'http://x', 'b': '''two\nlines'''}", {"a": "http://x", "b": "two\nlines"}, False),
        ('{"a": 1,}', {"a": 1}, False),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}, False),
        ('{"a": 1\n "b": 2\n}', {"a": 1, "b": 2}, False),
        ('{"a": [1\n2]}', {"a": [1, 2]}, False),
        ("{a: auto, b: ./ds/x y.json # z\n c: s3://b/k}", {"a": "auto", "b": "./ds/x y.json", "c": "s3://b/k"}, True),
        ('{"a": 010, "b": 1_000, "c": yes, "d": True}', {"a": "010", "b": "1_000", "c": "yes", "d": "True"}, False),
        (r'{"a": "\x"}', {"a": r"\x"}, False),
        ('{"a": 5 // x, y\n}', {"a": 5}, True),
        ('{"a": -5e3// x\n, "b": true/* y */, "c": [null#z\n]}', {"a": -5e3, "b": True, "c": [None]}, True),
        ('{"a": 5x, "b": 5 6, "c": truely}', {"a": "5x", "b": "5 6", "c": "truely"}, False),
    ],
)
def test_hjson(text: str, value: object, commented: bool) -> None:  # noqa: FBT001
    roots, remarked = parse(source(text))
    assert plain_value(roots[0], "json") == value
    assert remarked == commented


@pytest.mark.parametrize("text", ["", " \n", "// nothing\n", "/* nothing */"])
def test_a_file_without_a_value_has_no_document(text: str) -> None:
    assert parse(source(text)) == ([], "n" in text)


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ('{"a": 1', (1, 8), "expected ',' or '}'"),
        ('{"a": 1\n', (2, 1), "expected '}', and the file ends"),
        ("[1, 2", (1, 6), "expected ',' or ']'"),
        ('{"a" 1}', (1, 6), "expected ':' after the key 'a'"),
        ('{\n  "é" "b"}', (2, 7), "expected ':' after the key 'é'"),
        ('{"a": 1 "b": 2}', (1, 9), "expected ',' or '}'"),
        ('{"a": "x" "b": 2}', (1, 11), "expected ',' or '}'"),
        ('{"a": }', (1, 7), "expected a value, found '}'"),
        ('{"a":', (1, 6), "expected a value, and the file ends"),
        ("{[]: 1}", (1, 2), "expected a key, found '['"),
        ('{"a": "x', (1, 7), "a string that does not end on its line"),
        ('{"a": "x\ny"}', (1, 7), "a string that does not end on its line"),
        ('{"a": 1} {"b": 2}', (1, 10), "text after the end of the document"),
        ('{"a": 1}\n{"b": 2}', (2, 1), "text after the end of the document"),
        ('{"a": 1} /* x', (1, 10), "text after the end of the document"),
        ("]", (1, 1), "expected a value, found ']'"),
    ],
)
def test_what_is_refused(text: str, place: tuple[int, int], reason: str) -> None:
    with pytest.raises(Unreadable) as refused:
        parse(source(text))
    assert (refused.value.span.line, refused.value.span.column) == place
    assert refused.value.reason.startswith(f"not valid JSON: {reason}")


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    levels = MAX_DEPTH // opening.count("[") if "{" not in opening else MAX_DEPTH // len(closing)
    assert isinstance(loaded(opening * levels + "1" + closing * levels), (list, dict))
    for text in (opening * (levels + 1) + "1" + closing * (levels + 1), opening * 10_000):
        with pytest.raises(Unreadable, match=f"nested deeper than the limit of {MAX_DEPTH} levels") as refused:
            parse(source(text))
        assert refused.value.limit


@pytest.mark.parametrize(
    "text",
    ["/* " * 200_000, '"\\' * 200_000, "'''" * 150_000, "a" + " " * 400_000, '{"a": x' + " /" * 200_000, "[" + "\n" * 400_000, "{a:" + "'" * 200_000, "{a" + '"\\' * 200_000],
    ids=lambda text: repr(text[:6]),
)  # fmt: skip
def test_odd_text_is_refused_in_time(text: str) -> None:
    started = time.process_time()
    refusal(text)
    assert time.process_time() - started < 2


def test_a_long_key_is_shortened_in_the_message() -> None:
    with pytest.raises(Unreadable) as refused:
        parse(source(f'{{"{"k" * 100_000}" 1}}'))
    assert len(refused.value.reason) < 120


def test_an_empty_object() -> None:
    roots, _ = parse(source("{}"))
    assert isinstance(roots[0], Mapping)
    assert roots[0].entries == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": ${stage}, "b": 1}', {"a": "${stage}", "b": 1}),
        ('{"a": {"b": ${stage}}}', {"a": {"b": "${stage}"}}),
        ('{"a": run_${name}/x, "b": 1}', {"a": "run_${name}/x", "b": 1}),
    ],
)
def test_a_placeholder_is_a_word(text: str, expected: object) -> None:
    assert loaded(text) == expected
