"""The algebra of terms: integers and fractions where all is known, and an unknown that spreads and keeps its reason."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from effbatch_lint import terms
from effbatch_lint.source import Span
from effbatch_lint.terms import ONE, Number, Origin, Term, default, number, shown, unknown

ORIGINS = st.builds(
    lambda line, key: Origin(Span("conf.yaml", line, 1, line, 2), key), st.integers(1, 9), st.sampled_from(["a", "b.c", None])
)  # fmt: skip
NUMBERS = st.integers(-(10**6), 10**6) | st.builds(Fraction, st.integers(-1000, 1000), st.integers(1, 64)).map(
    lambda value: int(value) if value.denominator == 1 else value
)
KNOWN = st.builds(
    lambda value, origins, key: Term(value, "read", tuple(origins), None, None, key),
    NUMBERS,
    st.lists(ORIGINS, max_size=2),
    st.sampled_from(["micro", "steps", None]),
)
UNKNOWN = st.builds(
    lambda reason, origins: unknown(reason, *origins),
    st.sampled_from(["nobody says", "no launcher"]),
    st.lists(ORIGINS, max_size=2),
)
TERMS = KNOWN | UNKNOWN
DIVISIONS = {"exact": terms.exact, "floor": terms.floor, "ceil": terms.ceil, "ratio": terms.ratio}


def value_of(term: Term) -> Number:
    assert term.value is not None
    return term.value


def assert_whole_or_fraction(term: Term) -> None:
    assert not isinstance(term.value, float)
    assert isinstance(term.value, int) or value_of(term).denominator != 1


# -- all known -----------------------------------------------------------------------------------------------------


@given(st.lists(KNOWN, min_size=1, max_size=5))
def test_product_and_total_are_those_of_the_numbers(factors: list[Term]) -> None:
    values = [value_of(term) for term in factors]
    for combined, expected in ((terms.product(*factors), math.prod(values)), (terms.total(*factors), sum(values))):
        assert combined.value == expected
        assert combined.how == "derived"
        assert_whole_or_fraction(combined)
        assert set(combined.origins) == {origin for term in factors for origin in term.origins}
        assert len(set(combined.origins)) == len(combined.origins)
    assert terms.product(*factors).formula == " x ".join(shown(value) for value in values)


@given(KNOWN, KNOWN)
def test_divisions_are_those_of_the_numbers(dividend: Term, divisor: Term) -> None:
    assume(divisor.value != 0)
    quotient = Fraction(value_of(dividend)) / Fraction(value_of(divisor))
    assert terms.floor(dividend, divisor).value == math.floor(quotient)
    assert terms.ceil(dividend, divisor).value == math.ceil(quotient)
    assert terms.ratio(dividend, divisor).value == quotient
    exact = terms.exact(dividend, divisor)
    if quotient.denominator == 1:
        assert exact.value == quotient
    else:
        assert exact.value is None
        assert exact.reason == f"{shown(dividend.value)} / {shown(divisor.value)} is not a whole number"
    for division in DIVISIONS.values():
        found = division(dividend, divisor)
        assert set(found.origins) == {*dividend.origins, *divisor.origins}
        if found.known:
            assert_whole_or_fraction(found)


@given(TERMS)
def test_division_by_zero_is_unknown_and_says_so(dividend: Term) -> None:
    for division in DIVISIONS.values():
        found = division(dividend, Term(0, "read"))
        assert not found.known
        assert found.reason == (f"{shown(dividend.value)} / 0: division by zero" if dividend.known else dividend.reason)


@given(KNOWN, KNOWN)
def test_a_quotient_that_is_rounded_says_how(dividend: Term, divisor: Term) -> None:
    assume(divisor.value != 0)
    whole = Fraction(value_of(dividend)) % Fraction(value_of(divisor)) == 0
    plain = f"{shown(dividend.value)} / {shown(divisor.value)}"
    assert terms.floor(dividend, divisor).formula == (plain if whole else f"{plain} rounded down")
    assert terms.ceil(dividend, divisor).formula == (plain if whole else f"{plain} rounded up")


# -- something unknown ---------------------------------------------------------------------------------------------


@given(st.lists(TERMS, min_size=1, max_size=4), UNKNOWN, st.integers(0, 4), st.data())
def test_an_unknown_spreads_and_keeps_its_reason(
    others: list[Term], missing: Term, at: int, data: st.DataObject
) -> None:
    every = [*others[:at], missing, *others[at:]]
    first = next(term for term in every if not term.known)
    origins = {origin for term in every for origin in term.origins}
    results = [
        terms.product(*every),
        terms.total(*every),
        terms.derived(5, "a rule", *every),
        terms.computed(lambda *_: 1 // 0, "never called", *every),
    ]
    other = data.draw(TERMS)
    for division in DIVISIONS.values():
        assert division(missing, other).reason == missing.reason
        assert division(other, missing).reason == (missing.reason if other.known else other.reason)
    for found in results:
        assert found.value is None
        assert found.how == "unknown"
        assert found.reason == first.reason
        assert set(found.origins) == origins


def test_an_unknown_is_never_one_and_never_zero() -> None:
    assert terms.product(Term(0, "read"), unknown("no launcher")).value is None
    assert terms.product(ONE, unknown("no launcher")).value is None
    assert unknown("no launcher").value is None


# -- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", [terms.product, terms.total, terms.exact, terms.ceil, terms.ratio])
def test_a_number_of_absurd_size_is_unknown(combine: Callable[..., Term]) -> None:
    huge = Term(10**900, "read", (Origin(Span("conf.yaml", 3, 1, 3, 9), "micro"),))
    found = combine(huge, Term(1, "read"))
    assert found.value is None
    assert found.reason == "a number of more than 100 digits"
    assert found.origins == huge.origins


def test_a_long_chain_of_large_numbers_ends() -> None:
    found = ONE
    for _ in range(200):
        found = terms.product(found, Term(10**90 + 1, "read"))
    assert found.reason == "a number of more than 100 digits"


def test_a_fraction_of_absurd_size_is_unknown() -> None:
    assert terms.product(Term(Fraction(1, 3**300), "read"), ONE).reason == "a number of more than 100 digits"


# -- what is shown -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text", "in_json"),
    [(None, "?", None), (8_388_608, "8,388,608", 8_388_608), (Fraction(1, 4), "1/4", 0.25), (Fraction(8, 2), "4", 4), (-1, "-1", -1)],
)  # fmt: skip
def test_a_number_as_a_person_and_as_json_reads_it(value: Number | None, text: str, in_json: float | None) -> None:
    assert shown(value) == text
    assert number(value) == in_json
    assert type(number(value)) is type(in_json)


@given(TERMS)
def test_the_contracts_form_is_json(term: Term) -> None:
    form = term.as_dict()
    assert json.loads(json.dumps(form)) == form
    assert set(form) == {"value", "how", "formula", "reason", "key", "origins"}
    assert (form["value"] is None) == (form["reason"] is not None)


def test_spans_are_each_told_once() -> None:
    here, there = Span("a.yaml", 1, 1, 1, 2), Span("b.yaml", 2, 1, 2, 2)
    term = Term(1, "read", (Origin(here, "a"), Origin(None, note="--override"), Origin(there), Origin(here, "b")))
    assert term.spans == (here, there)


def test_names_and_defaults() -> None:
    assert default(4, "steps") == Term(4, "default", (), None, None, "steps")
    assert ONE.named("steps").key == "steps"
    assert ONE.because("1 x 1").formula == "1 x 1"
