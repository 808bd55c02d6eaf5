"""Keys under one spelling, and trees put side by side: which entry counts, and what it replaced."""

from __future__ import annotations

from typing import cast

from effbatch_lint.compose.merge import override, stacked
from effbatch_lint.compose.spelling import hyphenated, repeats, respelled, text_of, underscored
from effbatch_lint.documents import yaml
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.source import Source


def tree(text: str, path: str = "a.yml") -> Mapping:
    return cast("Mapping", yaml.parse(Source(path, path, text))[0])


def values(found: Mapping) -> dict[str, str]:
    return {key: text_of(entry) for key, entry in found.entries.items()}


def test_flags_and_keys_have_one_spelling() -> None:
    assert {hyphenated(key) for key in ("--micro-batch-size", "micro_batch_size", "micro-batch-size")} == {
        "micro-batch-size"
    }
    assert underscored("model-parallel-size") == "model_parallel_size"


def test_the_later_of_two_spellings_counts_and_keeps_the_earlier() -> None:
    found = respelled([tree("model-parallel-size: 1\nseq-length: 8\nmodel_parallel_size: 2")], underscored)
    assert values(found) == {"model_parallel_size": "2", "seq_length": "8"}
    entry = found.entries["model_parallel_size"]
    assert [(text_of(earlier), earlier.span and earlier.span.line) for earlier in entry.previous] == [("1", 1)]
    assert [(text_of(a), text_of(b)) for a, b in repeats(found, underscored, ["model_parallel_size"])] == [("1", "2")]
    assert list(repeats(found, underscored, ["seq_length"])) == []


def test_a_repeat_that_says_the_same_is_none() -> None:
    found = respelled([tree("a-b: 1\na_b: 1")], underscored)
    assert list(repeats(found, underscored, ["a_b"])) == []


def test_a_plain_repeat_is_left_to_the_rule_that_sees_it_anyway() -> None:
    found = respelled([tree("a_b: 1\na_b: 2")], underscored)
    assert values(found) == {"a_b": "2"}
    assert list(repeats(found, underscored, ["a_b"])) == []


def test_an_override_counts_wherever_it_stands() -> None:
    root = override(tree("a_b: 1\nc: 1\na-b: 2"), "a_b=3")
    found = respelled([root], underscored)
    assert values(found) == {"a_b": "3", "c": "1"}
    assert list(repeats(found, underscored, ["a_b"])) == []


def test_later_layers_count_and_their_places_stay() -> None:
    found = respelled([tree("a: 1\nb: 1", "one.yml"), tree("--a: 2", "two.yml")], hyphenated)
    assert values(found) == {"a": "2", "b": "1"}
    span = found.entries["a"].value.span
    assert span is not None
    assert span.where == "two.yml:1"


def test_stacked_trees_keep_what_was_replaced() -> None:
    found = stacked([tree("a: {x: 1}\nb: 1", "one.yml"), tree("a: {y: 2}\nc: 3", "two.yml")])
    assert list(found.entries) == ["a", "b", "c"]
    assert isinstance(found.entries["a"].value, Mapping)
    assert list(found.entries["a"].value.entries) == ["y"]
    assert [entry.span and entry.span.path for entry in found.duplicates] == ["one.yml"]
    assert [entry.span and entry.span.path for entry in found.entries["a"].previous] == ["one.yml"]
