"""The arithmetic of a custom trainer's settings: Python's own results, and nothing of Python beside them."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effbatch_lint.expression import FUNCTIONS, MAX_LENGTH, Malformed, evaluate, keys, parse
from effbatch_lint.source import Span
from effbatch_lint.terms import Origin, Term, unknown

VALUES = {"nodes": 2, "gpus": 8, "train.bs": 12, "train.batch-size": 5, "zero": 0, "three": 3}


def read(key: str) -> Term:
    if key not in VALUES:
        return unknown(f"{key} is not set", key=key)
    return Term(VALUES[key], "read", (Origin(Span("conf.yaml", 1, 1, 1, 2), key),), None, None, key)


def value(text: str) -> object:
    found = evaluate(parse(text), read)
    return found.reason if found.value is None else found.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8", 8),
        ("1_000", 1_000),
        ("nodes", 2),
        ("train.bs", 12),
        (" nodes * gpus ", 16),
        ("'train.batch-size' * 2", 10),
        ('"train.bs"', 12),
        ("nodes + gpus * 3", 26),
        ("(nodes + gpus) * three", 30),
        ("gpus - nodes", 6),
        ("nodes - gpus", -6),
        ("gpus / nodes", 4),
        ("train.bs // gpus", 1),
        ("train.bs % gpus", 4),
        ("gpus / three * three", 8),
        ("gpus / three", "8 / 3 is 8/3, which is no whole number"),
        ("int(gpus / three)", 2),
        ("ceil(gpus / three)", 3),
        ("ceil(gpus, three)", 3),
        ("ceil(gpus)", 8),
        ("int(nodes - gpus / three)", 0),
        ("min(nodes, gpus, 1)", 1),
        ("max(nodes, gpus / three * 9)", 24),
        ("gpus / zero", "8 / 0: division by zero"),
        ("gpus // zero", "8 / 0: division by zero"),
        ("gpus % zero", "8 % 0: division by zero"),
        ("gpus * missing", "missing is not set"),
        ("max(1, missing.key)", "missing.key is not set"),
        ("missing % zero", "? % 0: division by zero"),
        ("gpus % missing", "missing is not set"),
    ],
)
def test_values(text: str, expected: object) -> None:
    assert value(text) == expected


def test_a_key_path_alone_keeps_its_place_and_its_name() -> None:
    assert evaluate(parse("train.bs"), read) == read("train.bs")


def test_origins_and_formula_of_a_product() -> None:
    found = evaluate(parse("nodes * gpus"), read)
    assert [origin.key for origin in found.origins] == ["nodes", "gpus"]
    assert found.formula == "2 x 8"
    assert evaluate(parse("ceil(gpus / three)"), read).formula == "ceil(8 / 3)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodes * gpus", ["nodes", "gpus"]),
        ("max('a-b.c', x.y, 3) / z", ["a-b.c", "x.y", "z"]),
        ("8", []),
        ("nodes + nodes", ["nodes", "nodes"]),
    ],
)
def test_the_keys_that_are_read(text: str, expected: list[str]) -> None:
    assert keys(parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "8 *", "(8", "a b", "a-b.c d", "-8", "+8", "not a", "a ** 9", "a << 9", "a | b", "a @ b", "a < b", "a if b else c", "1.5", "1e3", "2j", "True",
        "None", "...", "b''", "f'{a}'", "[a]", "(a, b)", "{a}", "a[0]", "a()", "a.b()", "eval('1')", "__import__('os')", "open('x')", "abs(a)", "min.x(1)",
        "min()", "min(a)", "int()", "int(a, b)", "ceil()", "ceil(a, b, c)", "min(*a)", "int(x=a)", "min(a, b=c)", "lambda: 1", "(a := 1)", "yield", "a; b", "a\nb",
        "import os", "'a' 'b", "''", "a.b.'c'", "train.batch-size d", "class.x", "x.lambda", "0777", "1or 2", "a\0b", "\ud800",
    ],
)  # fmt: skip
def test_anything_else_is_malformed(text: str) -> None:
    with warnings.catch_warnings(record=True) as warned, pytest.raises(Malformed):
        parse(text)
    assert not warned


@pytest.mark.parametrize(
    "text", ["(" * 250 + "1" + ")" * 250, "1+" * 249 + "1", "a." * 249 + "a", "a" * MAX_LENGTH, "9" * MAX_LENGTH]
)
def test_the_longest_expressions_are_read_or_refused(text: str) -> None:
    try:
        tree = parse(text)
    except Malformed:
        return
    assert isinstance(evaluate(tree, read), Term)


def test_a_longer_one_is_refused() -> None:
    with pytest.raises(Malformed, match="longer than 500 characters"):
        parse("1" * (MAX_LENGTH + 1))


def test_large_numbers_end() -> None:
    assert value("*".join(["9" * 40] * 12)) == "a number of more than 100 digits"


NUMBERS = st.integers(0, 20).map(str)
EXPRESSIONS = st.recursive(
    NUMBERS,
    lambda below: st.one_of(
        st.tuples(below, st.sampled_from(["+", "-", "*", "/", "//", "%"]), below).map(lambda parts: "({} {} {})".format(*parts)),
        below.map("int({})".format),
        below.map("ceil({})".format),
        st.tuples(st.sampled_from(["min", "max"]), below, below).map(lambda parts: "{}({}, {})".format(*parts)),
    ),
    max_leaves=8,
)  # fmt: skip


CALLS: dict[str, Callable[..., Any]] = {"int": math.trunc, "ceil": math.ceil, "min": min, "max": max}
OPERATORS: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def in_fractions(tree: ast.expr) -> Fraction:
    """Python's meaning of the tree, in exact numbers."""
    if isinstance(tree, ast.Constant):
        assert isinstance(tree.value, int)
        return Fraction(tree.value)
    if isinstance(tree, ast.Call):
        assert isinstance(tree.func, ast.Name)
        values = [in_fractions(argument) for argument in tree.args]
        return Fraction(CALLS[tree.func.id](*values))
    assert isinstance(tree, ast.BinOp)
    return Fraction(OPERATORS[type(tree.op)](in_fractions(tree.left), in_fractions(tree.right)))


@given(EXPRESSIONS)
def test_the_results_are_pythons(text: str) -> None:
    tree = parse(text)
    found = evaluate(tree, read)
    try:
        expected = in_fractions(ast.parse(text, mode="eval").body)
    except ZeroDivisionError:
        assert found.value is None
        assert "division by zero" in (found.reason or "")
        return
    if expected.denominator == 1:
        assert found.value == expected
        assert isinstance(found.value, int)
    else:
        assert found.value is None
        assert "no whole number" in (found.reason or "")


@given(st.text(max_size=40) | st.text("ab.+-*/%()'\" 12,=[]{}:\\\n", max_size=40))
def test_any_text_is_read_or_malformed(text: str) -> None:
    try:
        tree = parse(text)
    except Malformed:
        return
    assert isinstance(evaluate(tree, read), Term)
    assert all(isinstance(key, str) and key for key in keys(tree))


def test_the_functions_are_those_of_the_documentation() -> None:
    assert sorted(FUNCTIONS) == ["ceil", "int", "max", "min"]
