"""What each dialect makes of unquoted text: tables, and the loaders themselves as oracles."""

from __future__ import annotations

import json
import math
from datetime import date

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from omegaconf._utils import get_yaml_loader

from effbatch_lint.documents.nodes import Scalar
from effbatch_lint.documents.scalars import MAX_DIGITS, Dialect, Value, plain, resolve
from effbatch_lint.source import Span, Unreadable

PYYAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
OMEGACONF = get_yaml_loader()
HYDRA = OverridesParser.create()
INF, NAN = math.inf, math.nan


def same(left: object, right: object) -> bool:
    """Equal and of one type; not-a-number is itself."""
    return type(left) is type(right) and (left == right or (left != left and right != right))  # noqa: PLR0124 - nan


# What one text means to: PyYAML, OmegaConf, YAML 1.2, JSON, Hydra's command line. ``...`` means the text itself.
TABLE: list[tuple[str, tuple[object, object, object, object, object]]] = [
    ("8", (8, 8, 8, 8, 8)),
    ("0", (0, 0, 0, 0, 0)),
    ("-8", (-8, -8, -8, -8, -8)),
    ("+8", (8, 8, 8, ..., 8)),
    ("1_000", (1000, 1000, ..., ..., 1000)),
    ("1__0", (10, 10, ..., ..., ...)),
    ("1,000", (..., ..., ..., ..., ...)),
    ("010", (8, 8, 10, ..., ...)),
    ("08", (..., ..., 8, ..., ...)),
    ("0o10", (..., ..., 8, ..., ...)),
    ("0x10", (16, 16, 16, ..., ...)),
    ("-0x10", (-16, -16, ..., ..., ...)),
    ("0b11", (3, 3, ..., ..., ...)),
    ("0_", (0, 0, ..., ..., ...)),
    ("1:30", (90, 90, ..., ..., ...)),
    ("1:60", (..., ..., ..., ..., ...)),
    ("0:30", (..., ..., ..., ..., ...)),
    ("1:30.5", (90.5, 90.5, ..., ..., ...)),
    ("1e-5", (..., 1e-5, 1e-5, 1e-5, 1e-5)),
    ("1E5", (..., 1e5, 1e5, 1e5, 1e5)),
    ("12e03", (..., 12e3, 12e3, 12e3, 12e3)),
    ("1e3_0", (..., ..., ..., ..., 1e30)),
    ("1.0e5", (..., 1e5, 1e5, 1e5, 1e5)),
    ("1.0e+5", (1e5, 1e5, 1e5, 1e5, 1e5)),
    ("1.", (1.0, 1.0, 1.0, ..., 1.0)),
    (".5", (0.5, 0.5, 0.5, ..., 0.5)),
    ("-.5", (..., ..., -0.5, ..., -0.5)),
    ("-.5e-3", (..., ..., -0.5e-3, ..., -0.5e-3)),
    (".5e3", (..., ..., 500.0, ..., 500.0)),
    ("1_0.5", (10.5, 10.5, ..., ..., 10.5)),
    ("4.0", (4.0, 4.0, 4.0, 4.0, 4.0)),
    (".inf", (INF, INF, INF, ..., ...)),
    ("-.INF", (-INF, -INF, -INF, ..., ...)),
    ("0_E0", (..., ..., ..., ..., ...)),
    (".NAN", (NAN, NAN, NAN, ..., ...)),
    (".nan", (NAN, NAN, NAN, ..., ...)),
    ("inf", (..., ..., ..., ..., INF)),
    ("nan", (..., ..., ..., ..., NAN)),
    ("NaN", (..., ..., ..., NAN, NAN)),
    ("-Infinity", (..., ..., ..., -INF, ...)),
    ("true", (True, True, True, True, True)),
    ("True", (True, True, True, ..., True)),
    ("tRUE", (..., ..., ..., ..., True)),
    ("on", (True, True, ..., ..., ...)),
    ("Off", (False, False, ..., ..., ...)),
    ("yes", (True, True, ..., ..., ...)),
    ("NO", (False, False, ..., ..., ...)),
    ("y", (..., ..., ..., ..., ...)),
    ("null", (None, None, None, None, None)),
    ("Null", (None, None, None, ..., None)),
    ("nULL", (..., ..., ..., ..., None)),
    ("~", (None, None, None, ..., ...)),
    ("None", (..., ..., ..., ..., ...)),
    ("2024-01-31", (..., ..., ..., ..., ...)),
    ("4*2", (..., ..., ..., ..., ...)),
    ("8 # no", (..., ..., ..., ..., ...)),
    ("\u0668", (..., ..., ..., ..., ...)),
    ("\u00b2", (..., ..., ..., ..., ...)),
]  # fmt: skip
DIALECTS: tuple[Dialect, ...] = ("pyyaml", "omegaconf", "yaml12", "json", "hydra")


@pytest.mark.parametrize(
    ("text", "dialect", "meaning"),
    [
        pytest.param(text, dialect, text if meaning is ... else meaning, id=f"{text} in {dialect}")
        for text, meanings in TABLE
        for dialect, meaning in zip(DIALECTS, meanings, strict=True)
    ],
)
def test_what_a_text_means(text: str, dialect: Dialect, meaning: object) -> None:
    assert same(plain(text, dialect), meaning)


def test_nothing_at_all() -> None:
    assert [plain("", dialect) for dialect in DIALECTS] == [None, None, None, "", ""]


# -- the loaders as oracles ----------------------------------------------------------------------------------------

NUMBERISH = st.text("0123456789_+-.:eExXoObBaAfFiInN", min_size=1, max_size=12)
SHAPED = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "+", "-", "0x", "0b", "0o", "0", "."]),
        st.text("0123456789_", max_size=5),
        st.sampled_from(["", ".", ":", ":5", ":59.", "e", "E", "e+", "e-"]),
        st.text("0123456789_", max_size=4),
        st.sampled_from(["", "e3", "e-3", "E+12", ":07", "_"]),
    ),
)
WORDS = st.sampled_from([text for text, _ in TABLE] + ["yes", "Yes", "YES", "yEs", "y", "FALSE", "NULL", "n", ".NaN", ".Inf", "+.inf"])  # fmt: skip
TEXTS = st.one_of(NUMBERISH, SHAPED, WORDS)


def loaded(text: str, loader: type) -> object:
    """What a YAML loader gives for a plain scalar; the example is dropped where it refuses, or sees no plain scalar."""
    try:
        node = yaml.compose(text, Loader=loader)
        assume(isinstance(node, yaml.ScalarNode) and not node.style and node.value == text)
        value = yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, OverflowError):
        assume(False)
    return text if isinstance(value, date) else value


@settings(max_examples=400)
@given(TEXTS)
def test_pyyaml_is_its_safe_loader(text: str) -> None:
    assert same(plain(text, "pyyaml"), loaded(text, PYYAML))


@settings(max_examples=400)
@given(TEXTS)
def test_omegaconf_is_its_own_loader(text: str) -> None:
    assert same(plain(text, "omegaconf"), loaded(text, OMEGACONF))


@settings(max_examples=400)
@given(st.one_of(TEXTS, st.floats().map(repr), st.integers().map(str)))
def test_json_is_the_standard_library(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    assert same(plain(text, "json"), value)


@settings(max_examples=400)
@given(TEXTS)
def test_hydra_is_its_own_grammar(text: str) -> None:
    assume(text)
    try:
        override = HYDRA.parse_override(f"a={text}")
        value = override.value()
    except HydraException:
        assume(False)
    assume(isinstance(value, (bool, int, float, str, type(None))))
    assert same(plain(text, "hydra"), value)


@given(st.one_of(TEXTS, st.text()), st.sampled_from(DIALECTS))
def test_no_text_is_too_odd(text: str, dialect: Dialect) -> None:
    assert isinstance(plain(text, dialect), (bool, int, float, str, type(None)))


# -- limits, quotes and tags ---------------------------------------------------------------------------------------

HERE = Span("conf.yaml", 3, 5, 3, 9)


@pytest.mark.parametrize("text", ["9" * 5_000, "1" + ":59" * 400, "-" + "1_" * 600, "0." + "1" * 1_500])
def test_a_number_of_absurd_length_is_refused_at_its_place(text: str) -> None:
    for dialect in DIALECTS:
        with pytest.raises(Unreadable) as refused:
            plain(text, dialect, HERE)
        assert refused.value.span == HERE
        assert f"a number of {len(text):,} characters" in refused.value.reason


@pytest.mark.parametrize("text", ["-" * 5_000, "=" * 5_000, "a" * 5_000, "_." * 5_000])
def test_a_long_text_is_a_text(text: str) -> None:
    assert {plain(text, dialect) for dialect in DIALECTS} == {text}


def test_a_number_just_within_the_limit() -> None:
    assert plain("9" * MAX_DIGITS, "pyyaml") == int("9" * MAX_DIGITS)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_quoted_text_stays_text(dialect: Dialect) -> None:
    for text in ("8", "true", "null", "1e5", ""):
        assert resolve(Scalar(text, None, plain=False), dialect) == text


@pytest.mark.parametrize(
    "text",
    ["!!int '8'", "!!int 0x10", "!!float 8", "!!float 1e5", "!!float 010", "!!float '1.5'", "!!float 1:30", "!!float infinity", "!!str 8", "!!str true", "!!bool 'yes'", "!!null x",
     "!!null ''", "! 12", "! true", "!!int 1_000", "!!float .5"],
)  # fmt: skip
def test_a_written_tag_types_as_pyyaml_does(text: str) -> None:
    node = yaml.compose(text, Loader=PYYAML)
    assert isinstance(node, yaml.ScalarNode)
    scalar = Scalar(node.value, None, plain=not node.style, tag=node.tag)
    assert same(resolve(scalar, "pyyaml"), yaml.safe_load(text))


@pytest.mark.parametrize("text", ["!!float ''", "!!float true", "!!float 0x10", "!!int x", "!!float '-'"])
def test_a_tag_that_pyyaml_refuses_leaves_the_text(text: str) -> None:
    node = yaml.compose(text, Loader=PYYAML)
    assert isinstance(node, yaml.ScalarNode)
    assert resolve(Scalar(node.value, None, plain=not node.style, tag=node.tag), "pyyaml") == node.value


@pytest.mark.parametrize("tag", ["!env", "!!timestamp", "!!python/object:os.system", "!include"])
def test_any_other_tag_leaves_the_text(tag: str) -> None:
    assert resolve(Scalar("8", None, tag=tag), "pyyaml") == "8"


def test_a_value_that_the_format_typed_is_taken_as_it_is() -> None:
    values: list[Value] = [True, 8, 8.5, "8", None]
    assert [resolve(Scalar("x", None, value=value), "pyyaml") for value in values] == values
