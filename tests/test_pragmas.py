"""Comments of each format, the pragmas in them, and what a suppression covers."""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from effbatch_lint import suppress
from effbatch_lint.documents.comments import comments
from effbatch_lint.documents.pragmas import Pragmas, Suppression, read_pragmas
from effbatch_lint.source import Source, Span


def source(text: str) -> Source:
    return Source("conf.yaml", "/conf.yaml", text)


def found(text: str, kind: str = "yaml") -> list[str]:
    """The comments' texts, each checked to stand where its span says."""
    out = []
    for comment in comments(source(text), kind):
        span = comment.span
        line = text.split("\n")[span.line - 1]
        assert line[span.column - 1 : span.end_column - 1] == comment.text
        out.append(comment.text)
    return out


# -- where comments are --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# one\na: 1 # two\n", ["one", "two"]),
        ("a: 1 #two\r\nb: 2  ##  three  \r\n", ["two", "three"]),
        ("a: b#c\nurl: http://x/#y\n", []),
        ("a: 'x # y' # z\n", ["z"]),
        ('a: "x \\" # y" # z\n', ["z"]),
        ("a: 'it''s # y' # z\n", ["z"]),
        ("a: don't # z\nb: 'q'\n", ["z"]),
        ("a: 'first\n  # second\n  third' # z\n", ["z"]),
        ('a: "first\n  # second" # z\n', ["z"]),
        ("a: |\n  # inside\n\n  # too\n# out\nb: 1\n", ["out"]),
        ("a: >- # header\n  # inside\nb: 1 # out\n", ["header", "out"]),
        ("a:\n  - |\n    # inside\n  - 2 # out\n", ["out"]),
        ("- key: |\n    # inside\n  other: 1 # out\n", ["out"]),
        ("a:\n  >\n  # inside\nb: 1 # out\n", ["out"]),
        ("a: |2\n    deep\n  # inside\n # out\n", ["out"]),
        ("a: [1, # one\n 'x # y', {b: c#d}] # two\n", ["one", "two"]),
        ('{\n  # one\n  "a": 1, # two\n  "b": "x # y"\n}\n', ["one", "two"]),
        ("a: text\n  'goes on # z\nb: 1 # y\n", ["z", "y"]),
        ("a: &x 'q # r' # s\nb: !t \"q # r\" # u\n", ["s", "u"]),
        ("a: x > y # z\nb: c | d # w\n", ["z", "w"]),
        ("--- # one\na: 1\n--- |\n # inside\n...\n# two\n", ["one", "two"]),
        ("%YAML 1.1\n---\na: 1 # one\n", ["one"]),
        ("? 'x # y'\n: 1 # one\n", ["one"]),
        ("a: 'never closed\n# b\n", []),
        ("key: [never closed\n# b\n", ["b"]),
        ("", []),
        ("#\n#   \na: 1 # x", ["", "", "x"]),
    ],
)
def test_yaml_comments(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("toml", 'a = "x # y" # one\nb = \'x # "y\' # two\n# three\n', ["one", "two", "three"]),
        ("toml", "a = \"\"\"\n# in\n\"\"\" # one\nb = '''\n# in''' # two\n", ["one", "two"]),
        ("toml", 'a = "never closed # x\nb = 1 # two\n', ["x", "two"]),
        (
            "json",
            '{"a": "x // y", // one\n "b": "#", # two\n "c": 1 /* three\n  four */}\n',
            ["one", "two", "three", "four"],
        ),
        ("json", '/*\n * one\n ** two\n *three\n */\n{"a": 1}', ["", "one", "two", "*three", ""]),
        ("json", "{'a': 'x // y', b: http://z, c: it's // one\n, d: 5// two\n}", ["one", "two"]),
        ("shell", "#!/bin/bash\necho $# ${#x} a#b 'x # y' \"x # y\" # one\n", ["!/bin/bash", "one"]),
        ("shell", "cat <<EOF\n# in\nEOF\necho \\# x;# one\n", ["one"]),
        ("shell", "cat <<<word # one\n: $((1<<n)) # two\ncat <<E\n# in\n", ["one", "two"]),
        ("shell", "cat <<-'E' > f # one\n# in\n\tE\n# two\n", ["two"]),
    ],
)
def test_comments_of_other_formats(kind: str, text: str, expected: list[str]) -> None:
    assert found(text, kind) == expected


@pytest.mark.parametrize(
    ("kind", "piece"),
    [
        ("json", "/*"),
        ("json", '"'),
        ("json", '"\\'),
        ("json", "'"),
        ("json", "'''\"\\\""),
        ("json", "'''\""),
        ("json", '\\"'),
        ("shell", "<<'A' "),
        ("shell", "<<A\n"),
        ("shell", '"'),
        ("toml", "'''\n"),
        ("toml", '"'),
        ("yaml", "'\n"),
        ("yaml", "[#:"),
    ],
)
def test_hostile_files_cost_no_more_than_their_length(kind: str, piece: str) -> None:
    comments(source("# x\n" + piece * (300_000 // len(piece))), kind)


@pytest.mark.parametrize(
    "piece",
    [
        "# effbatch: x\n",
        "# effbatch: ignore[EB301]\n",
        "# effbatch: a[ ",
        "a[ ",
        'a="x ',
        "a=1 ",
        "target=1 ",
        "EB301,",
        "\n\n",
    ],
)
def test_hostile_pragmas_cost_no_more_than_their_length(piece: str) -> None:
    started = time.process_time()
    read_pragmas(source("a: 1\n# effbatch: ignore[" + piece * (150_000 // len(piece))), "yaml")
    read_pragmas(source("a: 1\n# effbatch: " + piece * (150_000 // len(piece))), "yaml")
    assert time.process_time() - started < 2


def test_of_a_hundred_unknown_pragmas_no_more_is_said() -> None:
    assert len(read_pragmas(source("# effbatch: x\n" * 1_000 + "a: 1\n"), "yaml").unknown) == 100


_PIECES = st.sampled_from(
    ["a: ", "- ", "'", '"', "# c", " ", "b", "\n", "\n  ", "x: |\n  ", "[", "]", "{", "}", ", ", ": ", "''", "don't", "k: v\n",
     "&a ", "!t ", "# it's\n", ">-\n  ", "---\n"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=10).map("".join))
def test_no_yaml_comment_starts_inside_what_libyaml_calls_a_scalar(text: str) -> None:
    try:
        list(yaml.parse(text, Loader=yaml.SafeLoader))  # what is no YAML may hold tokens in any place
        tokens = list(yaml.scan(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError:
        assume(False)
    inside = [
        (token.start_mark.index, token.end_mark.index)
        for token in tokens
        if isinstance(token, yaml.ScalarToken) and token.style not in ("|", ">")
    ]
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for comment in comments(source(text), "yaml"):
        at = starts[comment.span.line - 1] + comment.span.column - 1
        assert not any(start < at < end for start, end in inside)


def test_code_before_a_comment() -> None:
    assert [comment.code for comment in comments(source("  a: 1  # x\n  # y\n"), "yaml")] == ["a: 1", ""]


# -- pragmas -------------------------------------------------------------------------------------------------------


def stretch(text: str, span: Span) -> str:
    return text.split("\n")[span.line - 1][span.column - 1 : span.end_column - 1]


def test_a_file_without_the_word_declares_nothing() -> None:
    assert read_pragmas(source("a: 1 # target=3\n"), "yaml") == ((), (), (), ())


def test_declarations_with_their_places() -> None:
    text = "a: 1\n# effbatch: target=2,048 unit=completions world-size=64,128 tokens=8.4M tolerance=1%\n"
    pragmas = read_pragmas(source(text), "yaml")
    assert pragmas.unknown == ()
    assert [(d.quantity.words, d.tolerance, stretch(text, d.span)) for d in pragmas.targets] == [
        ("2,048 completions", 0.01, "target=2,048"),
        ("8.4M tokens", 0.01, "tokens=8.4M"),
    ]
    assert [(w.values, stretch(text, w.span)) for w in pragmas.world_sizes] == [((64, 128), "world-size=64,128")]


@pytest.mark.parametrize(
    "text",
    [
        "# effbatch: target=2048, unit=pairs",
        "#effbatch:target = 2048 unit = pair",
        'x: 1 # per device # effbatch: target="2048 pairs"',
        "## effbatch : target=2048; unit=pairs # as in the paper",
        "# # effbatch: target=2048 unit=pairs",
    ],
)
def test_ways_to_write_a_declaration(text: str) -> None:
    pragmas = read_pragmas(source(text), "yaml")
    assert pragmas.unknown == ()
    assert [d.quantity.words for d in pragmas.targets] == ["2048 pairs"]


@pytest.mark.parametrize(
    "comment",
    ["batch: tokens=4M", "effective: target=8", "sbatch: ignore[x]", "efbatch: 2 x 8", "see efbatch and its target"],
)
def test_a_comment_of_another_name_is_prose(comment: str) -> None:
    assert read_pragmas(source(f"a: 1 # {comment}\n"), "yaml") == Pragmas()


def test_a_misspelled_name_is_found_wherever_it_stands() -> None:
    text = "# a heading\na: 1\nb: 2\n# efbatch: target=8\n"
    assert [each.message for each in read_pragmas(source(text), "yaml").unknown] == ["efbatch is no pragma here"]


def test_pragmas_in_json_toml_and_shell() -> None:
    assert read_pragmas(source('{"a": 1} // effbatch: target=8\n'), "json").targets[0].quantity.value == 8
    assert (
        read_pragmas(source('a = "# effbatch: target=9" # effbatch: target=8\n'), "toml").targets[0].quantity.value == 8
    )
    assert read_pragmas(source("run --x # effbatch: world-size=8\n"), "shell").world_sizes[0].values == (8,)


@pytest.mark.parametrize(
    ("comment", "place", "message", "help"),
    [
        ("effbatch: traget=2048", "traget=2048", "traget= is no word", "did you mean target?"),
        ("effbatch: world_size=8", "world_size=8", "world_size= is no word", "did you mean world-size?"),
        ("effbatch: target=big", "target=big", "target=big is not understood", "target=2048"),
        ("effbatch: target=", "target=", "target= is not understood", "target=2048"),
        ("effbatch: target=8 unit=apples", "unit=apples", "unit=apples is not understood", "one of sequences,"),
        ("effbatch: unit=pairs", "unit=pairs", "says nothing without a target=", None),
        ("effbatch: target=8 tolerance=1", "tolerance=1", "tolerance=1 is not understood", "a percentage"),
        ("effbatch: tokens=8M sequences", "sequences", "sequences stands alone", "unit=sequences"),
        ("effbatch: world-size=0", "world-size=0", "world-size=0 is not understood", "world-size=64"),
        ("effbatch: world-size=8x8", "world-size=8x8", "world-size=8x8 is not understood", "world-size=64"),
        ("effbatch: target=8 target=9", "target=9", "target= stands twice", None),
        ("effbatch: target", "target", "target has no value", "target=2048"),
        ("effbatch: ignore", "ignore", "would hide every finding", "ignore[EB301]"),
        ("effbatch: ignore this file", "ignore", "would hide every finding", "ignore[EB301]"),
        ("effbatch: ignore[] x", "ignore[]", "would hide every finding", "ignore[EB301]"),
        ("effbatch: ignore-file", "ignore-file", "would hide every finding", "ignore-file[EB301]"),
        ("effbatch: skip[EB301]", "skip", "skip[] is no word", "the words are target, tokens,"),
        ("effbatch: ignore[EB3O1] x", "EB3O1", "EB3O1 is no rule", "did you mean EB301?"),
        ("effbatch: ignore[EB399] x", "EB399", "EB399 is no rule", "did you mean EB30"),
        ("effbatch: frobnicate", "frobnicate", "frobnicate is no word", "the words are target, tokens,"),
        ("effbatch:", "effbatch:", "declares nothing", "the words are target, tokens,"),
        ("effbatch-lint: target=8", "effbatch-lint:", "effbatch-lint: is no pragma", "write effbatch:"),
        ("effbatch target=8", "effbatch", "effbatch is no pragma", "write effbatch:"),
        ("effbatch ignore[EB301]", "effbatch", "effbatch is no pragma", "write effbatch:"),
        ("Effbatch: target=8", "Effbatch:", "Effbatch: is no pragma", "write effbatch:"),
        ("EFFBATCH: target=8", "EFFBATCH:", "EFFBATCH: is no pragma", "write effbatch:"),
        ("efbatch: target=8", "efbatch", "efbatch is no pragma", "did you mean effbatch:?"),
        ("effbacth: world-size=8", "effbacth", "effbacth is no pragma", "did you mean effbatch:?"),
        ("effbach: ignore[EB301] x", "effbach", "effbach is no pragma", "did you mean effbatch:?"),
        ("efbatch:target=8 world-size=8", "efbatch", "efbatch is no pragma", "did you mean effbatch:?"),
        ("efbatch: target = 8", "efbatch", "efbatch is no pragma", "did you mean effbatch:?"),
        ("efbatch target=8", "efbatch", "efbatch is no pragma", "did you mean effbatch:?"),
        ("effbach: world_size=8", "effbach", "effbach is no pragma", "did you mean effbatch:?"),
        ("eff-batch: target=8", "eff-batch", "eff-batch is no pragma", "did you mean effbatch:?"),
        ("eff_batch: target=8", "eff_batch", "eff_batch is no pragma", "did you mean effbatch:?"),
        ("effbatchlint: target=8", "effbatchlint", "effbatchlint is no pragma", "did you mean effbatch:?"),
        ("effbatch-lnt: target=8", "effbatch-lnt", "effbatch-lnt is no pragma", "did you mean effbatch:?"),
        ("effbatch; target=8", "effbatch", "effbatch is no pragma", None),
        ("effbatch = target=8", "effbatch", "effbatch is no pragma", None),
        ("TODO effbatch: target=8", "effbatch", "effbatch is no pragma", "begin the comment with it"),
        ("EFFBATCH ignore[EB301]", "EFFBATCH", "EFFBATCH is no pragma", "write effbatch:"),
    ],
)
def test_what_is_no_pragma(comment: str, place: str, message: str, help: str | None) -> None:
    text = f"a: 1\nb: 2 # {comment}\n"
    unknown = read_pragmas(source(text), "yaml", {"EB301", "EB302"}).unknown
    assert len(unknown) == 1
    assert unknown[0].span is not None
    assert stretch(text, unknown[0].span) == place
    assert message in unknown[0].message
    assert help is None or help in (unknown[0].help or "")


@pytest.mark.parametrize(
    "comment",
    [
        "EFFBATCH: 64 in all",
        "see effbatch-lint for why",
        "effbatch lint is run in CI",
        "the effbatch: colon",
        "my-effbatch: x",
    ],
)
def test_prose_that_names_the_tool_is_no_pragma(comment: str) -> None:
    assert read_pragmas(source(f"# {comment}\n"), "yaml") == ((), (), (), ())


# -- suppressions --------------------------------------------------------------------------------------------------

TEXT = """\
# effbatch: ignore[EB301,EB303] the JSON is generated
# 8 GPUs x 4 = 32

micro: 4  # effbatch: ignore[EB305] the old launcher reads it
other: 5
# effbatch: ignore-file[EB202]: one node is broken
"""


def test_what_a_suppression_covers() -> None:
    assert [
        (s.code, s.lines, s.reason, stretch(TEXT, s.span)) for s in read_pragmas(source(TEXT), "yaml").suppressions
    ] == [
        ("EB301", (1, 4), "the JSON is generated", "EB301"),
        ("EB303", (1, 4), "the JSON is generated", "EB303"),
        ("EB305", (4, 4), "the old launcher reads it", "EB305"),
        ("EB202", None, "one node is broken", "EB202"),
    ]


class Label(NamedTuple):
    span: Span


class Finding(NamedTuple):
    code: str
    primary: Label
    related: tuple[Label, ...] = ()


def at(line: int, path: str = "conf.yaml") -> Label:
    return Label(Span(path, line, 1, line, 2))


@pytest.mark.parametrize(
    ("finding", "kept"),
    [
        (Finding("EB301", at(4)), False),
        (Finding("EB301", at(2)), False),
        (Finding("EB301", at(5)), True),
        (Finding("EB302", at(4)), True),
        (Finding("EB301", at(4, "other.yaml")), True),
        (Finding("EB301", at(9, "other.yaml"), (at(5), at(4))), False),
        (Finding("EB305", at(4)), False),
        (Finding("EB305", at(5)), True),
        (Finding("EB202", at(500)), False),
        (Finding("EB202", at(1, "other.yaml")), True),
    ],
)
def test_apply(finding: Finding, kept: bool) -> None:  # noqa: FBT001
    suppressions = read_pragmas(source(TEXT), "yaml").suppressions
    stay, unused = suppress.apply([finding], suppressions)
    assert stay == ([finding] if kept else [])
    assert [s.code for s in unused] == [s.code for s in suppressions if kept or s.code != finding.code]


def test_a_rule_that_did_not_run_leaves_no_suppression_unused() -> None:
    suppressions = read_pragmas(source(TEXT), "yaml").suppressions
    none: list[Finding] = []
    assert [s.code for s in suppress.apply(none, suppressions, ran={"EB301", "EB305"})[1]] == ["EB301", "EB305"]


@given(st.lists(st.tuples(st.sampled_from(["EB1", "EB2"]), st.integers(1, 6))), st.lists(st.tuples(st.sampled_from(["EB1", "EB2"]), st.integers(1, 6))))  # fmt: skip
def test_a_suppression_is_unused_just_when_it_hides_nothing(
    found: list[tuple[str, int]], ignored: list[tuple[str, int]]
) -> None:
    findings = [Finding(code, at(line)) for code, line in found]
    suppressions = [Suppression(code, at(line).span, (line, line), "") for code, line in ignored]
    kept, unused = suppress.apply(findings, suppressions)
    assert kept == [f for f in findings if (f.code, f.primary.span.line) not in ignored]
    assert unused == [s for s in suppressions if (s.code, s.span.line) not in found]
