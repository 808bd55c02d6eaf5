"""Numbers as people declare them, and what meets them."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effbatch_lint.batch import Unit
from effbatch_lint.targets.quantity import UNITS, parse_quantity


def test_the_units_are_those_of_a_batch() -> None:
    assert get_args(Unit) == UNITS


@pytest.mark.parametrize(
    ("text", "value", "unit", "words"),
    [
        ("2048", 2048, None, "2048"),
        ("2,048", 2048, None, "2,048"),
        ("2_048", 2048, None, "2_048"),
        (" 2048 sequences ", 2048, "sequences", "2048 sequences"),
        ("1 sequence", 1, "sequences", "1 sequences"),
        ("8M", 8_000_000, None, "8M"),
        ("8.4M tokens", 8_400_000, "tokens", "8.4M tokens"),
        ("8.4 M tokens", 8_400_000, "tokens", "8.4M tokens"),
        ("64k", 64_000, None, "64k"),
        ("1.5B tokens", 1_500_000_000, "tokens", "1.5B tokens"),
        ("4 Mi", 4 * 1024**2, None, "4Mi"),
        ("0.5Mi tokens", 512 * 1024, "tokens", "0.5Mi tokens"),
        ("512 Pairs", 512, "pairs", "512 pairs"),
        ("7200 seconds", 7200, "seconds", "7200 seconds"),
        ("2048.0", 2048, None, "2048.0"),
    ],
)
def test_reads(text: str, value: int, unit: str | None, words: str) -> None:
    quantity = parse_quantity(text)
    assert quantity is not None
    assert (quantity.value, quantity.unit, quantity.words) == (value, unit, words)


@pytest.mark.parametrize(
    "text",
    ["", "x", "-4", "0", "0.5", "20,48", "2048 bananas", "2048 sequences tokens", "8MM", "1e6", "2__048", "9" * 40, "12 M k", "\u0664"],
)  # fmt: skip
def test_refuses(text: str) -> None:
    assert parse_quantity(text) is None


def test_the_unit_given_beside_is_taken_where_the_text_names_none() -> None:
    assert parse_quantity("8M", "tokens") == parse_quantity("8M tokens")
    other = parse_quantity("8M pairs", "tokens")
    assert other is not None
    assert other.unit == "pairs"


@pytest.mark.parametrize(
    ("text", "meets", "misses"),
    [
        ("2048", [2048, Fraction(2048)], [2047, 2049, Fraction(4095, 2)]),
        ("8M", [7_500_000, 8_388_608, 8_500_000], [7_499_999, 8_500_001, 16_777_216]),
        ("8.4M", [8_350_000, 8_388_608, 8_450_000], [8_349_999, 8_450_001]),
        ("16M", [16_000_000, 16_777_216], [16_777_215, 16_777_217]),
        ("64k", [64_000, 65_536], [65_535, 63_499]),
        ("1.5M", [1_500_000, 1_572_864], [1_572_863]),
        ("64 Ki", [65_536], [64_000, 65_535]),
        ("4.2 Mi", [4_404_019, 4_360_000], [4_200_000]),
    ],
)
def test_compares_at_its_own_precision(text: str, meets: list[int], misses: list[int]) -> None:
    quantity = parse_quantity(text)
    assert quantity is not None
    assert [number for number in meets if not quantity.meets(number)] == []
    assert [number for number in misses if quantity.meets(number)] == []


@given(st.integers(1, 10**12))
def test_a_plain_number_is_met_by_itself_only(number: int) -> None:
    for text in (str(number), f"{number:,}", f"{number:_}"):
        quantity = parse_quantity(text)
        assert quantity is not None
        assert quantity.value == number
        assert quantity.meets(number)
        assert not quantity.meets(number + 1)
        assert not quantity.meets(number - 1)


@given(st.integers(1, 9_999), st.integers(0, 3), st.sampled_from("kMB"), st.integers(-(10**13), 10**13))
def test_a_rounded_number_is_met_by_what_rounds_to_it(digits: int, decimals: int, suffix: str, number: int) -> None:
    text = f"{digits / 10**decimals:.{decimals}f}{suffix}"
    quantity = parse_quantity(text)
    factor = {"k": 10**3, "M": 10**6, "B": 10**9}[suffix]
    nominal = Fraction(digits, 10**decimals) * factor
    if nominal < 1:
        return
    assert quantity is not None
    half = Fraction(factor, 10**decimals) / 2
    binary = Fraction(digits, 10**decimals) * {"k": 2**10, "M": 2**20, "B": 2**30}[suffix]
    assert quantity.meets(nominal)
    assert quantity.meets(binary)
    # Below a power of ten the digits are a decade finer: 0.94M is written so, and never 1M.
    below = half / 10 if str(digits).rstrip("0") == "1" else half
    assert quantity.meets(number) == (nominal - below <= number <= nominal + half or number == binary)


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.sampled_from(["", "k", "M"]))
def test_multiples(digits: int, step: int, suffix: str) -> None:
    quantity = parse_quantity(f"{digits}{suffix}")
    assert quantity is not None
    assert quantity.meets_multiple(1)
    low, high = quantity.bounds
    first = max(1, -(-low // (step * quantity.scale)))
    expected = first * step * quantity.scale <= high or (
        quantity.binary is not None and quantity.binary % (step * quantity.scale) == 0
    )
    assert quantity.meets_multiple(step) == expected


@given(st.integers(100, 10**9), st.integers(1, 20))
def test_widened(number: int, percent: int) -> None:
    quantity = parse_quantity(str(number))
    assert quantity is not None
    wide = quantity.widened(percent)
    room = number * percent // 100
    assert all(wide.meets(near) for near in (number - room, number, number + room))
    assert not wide.meets(number + room + 1)
    assert not wide.meets(number - room - 1)
