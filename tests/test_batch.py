"""The equation of the effective batch: worked numbers, and the laws that hold for all others."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effbatch_lint.batch import Batch, Layout, Problem, Stage
from effbatch_lint.source import Span
from effbatch_lint.targets.quantity import parse_quantity
from effbatch_lint.targets.target import Target
from effbatch_lint.terms import ONE, Origin, Term, unknown

COUNTS = st.integers(1, 64)
NOBODY = unknown("no launcher is given")


def read(value: int | Fraction, key: str | None = None) -> Term:
    return Term(value, "read", (Origin(Span("conf.yaml", 1, 1, 1, 2), key),), None, None, key)


def batch(micro: int = 8, accumulation: int = 4, length: int | None = 4096, **further: Any) -> Batch:
    """The worked example: 8 sequences, 64 replicas, 4 passes, 4,096 tokens each."""
    further.setdefault("layout", Layout.of_world(read(64)))
    return Batch(read(micro), read(accumulation), sequence_length=None if length is None else read(length), **further)


# -- worked numbers ------------------------------------------------------------------------------------------------


def test_the_worked_example() -> None:
    found = batch()
    assert found.per_replica.value == 32
    assert found.effective.value == 2_048
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.value == 8_388_608
    assert found.effective.formula == "8 x 4 x 64"
    assert found.tokens_per_step.formula == "2,048 x 4,096"
    assert batch(accumulation=8).effective.value == 4_096


def test_model_parallel_devices_are_no_replicas() -> None:
    layout = Layout.of_world(read(64), tensor=read(4), pipeline=read(2))
    found = batch(layout=layout)
    assert layout.replicas.value == 8
    assert layout.replicas.formula == "64 devices / 4 tensor / 2 pipeline"
    assert layout.model_parallel.value == 8
    assert found.effective.value == 256


def test_a_pair_holds_two_sequences() -> None:
    found = batch(unit="pairs", sequences_per_item=2)
    assert found.effective.value == 2_048
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.value == 2 * 8_388_608


def test_a_batch_in_tokens_is_its_own_number_of_tokens() -> None:
    found = batch(unit="tokens")
    assert found.tokens_per_step == found.effective


def test_images_have_no_tokens() -> None:
    found = batch(length=None, unit="images")
    assert found.tokens_per_step is None
    assert found.as_dict()["tokens_per_step"] is None
    assert found.as_dict()["tokens_bound"] is None


def test_a_global_batch_that_the_framework_fixes_is_the_batch() -> None:
    found = batch(global_batch=read(512))
    assert found.effective.value == 512
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.value == 512 * 4_096


def test_tokens_that_are_no_product_are_taken_as_they_are() -> None:
    found = batch(tokens=read(1_000))
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.value == 1_000


# -- unknown and refused -------------------------------------------------------------------------------------------


def test_without_a_world_size_the_batch_per_replica_is_known() -> None:
    found = batch(layout=Layout.of_world(NOBODY, tensor=read(4)))
    assert found.per_replica.value == 32
    assert found.effective.value is None
    assert found.effective.reason == "no launcher is given"
    assert found.layout.replicas.formula == "? devices / 4 tensor"
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.reason == "no launcher is given"
    assert found.refused is None


def test_a_layout_that_does_not_divide_is_refused() -> None:
    found = batch(layout=Layout.of_world(read(64), tensor=read(6, "tp"), pipeline=read(2, "pp")))
    assert [problem.code for problem in found.all_problems] == ["EB201"]
    assert found.refused == "64 devices cannot be divided into replicas of 12: 6 (tp) x 2 (pp)"
    assert found.effective.value is None
    assert found.effective.reason == f"the framework refuses to start: {found.refused}"
    assert found.as_dict()["refused"] == found.refused
    assert found.as_dict()["effective_batch"] is None
    assert found.as_dict()["tokens_per_step"] is None


def test_devices_left_over_are_dropped_where_the_framework_does() -> None:
    layout = Layout.of_world(read(65), tensor=read(4), rounding="floor")
    assert layout.replicas.value == 16
    assert layout.problems == ()


def test_a_degree_of_zero_is_refused_and_divides_nothing() -> None:
    layout = Layout.of_world(read(64), tensor=read(0, "tp"))
    assert layout.replicas.value is None
    assert [problem.code for problem in layout.problems] == ["EB201"]


def test_replicas_that_contradict_the_devices() -> None:
    layout = Layout.of_replicas(read(2, "dp"), world=read(64), tensor=read(4))
    assert [problem.code for problem in layout.problems] == ["EB202"]
    assert layout.problems[0].message == "2 replicas of 4 devices need 8 devices, and the job has 64"
    assert layout.problems[0].help == "start it on 8 devices, or set dp to devices / model-parallel"
    tolerant = Layout.of_replicas(read(2), world=read(64), tensor=read(4), refuses=False)
    assert batch(layout=tolerant).effective.value == 64


def test_a_problem_is_told_once() -> None:
    layout = Layout.of_world(read(64), tensor=read(6))
    assert batch(layout=layout, problems=layout.problems).all_problems == layout.problems


def test_the_first_problem_that_refuses_is_the_reason() -> None:
    problems = (Problem("EB305", "no effect"), Problem("EB304", "an odd head count", refuses=True))
    assert batch(problems=problems).refused == "an odd head count"
    assert batch(problems=problems[:1]).refused is None


# -- laws ----------------------------------------------------------------------------------------------------------


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_equation(micro: int, steps: int, replicas: int, tensor: int, pipeline: int, context: int) -> None:
    degrees: dict[str, Any] = {"tensor": read(tensor), "pipeline": read(pipeline), "context": read(context)}
    world = replicas * tensor * pipeline * context
    layout = Layout.of_world(read(world), **degrees)
    found = batch(micro, steps, layout=layout)
    assert layout.replicas.value == replicas
    assert layout.problems == ()
    assert found.effective.value == micro * steps * replicas
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.value == micro * steps * replicas * 4_096
    stated = Layout.of_replicas(read(replicas), world=read(world), **degrees)
    assert stated.problems == ()
    assert stated.replicas.value == replicas
    derived = Layout.of_replicas(read(replicas), world=NOBODY, **degrees)
    assert derived.world.value == world
    assert derived == Layout.of_replicas(read(replicas), **degrees)


@given(st.integers(1, 5_000), COUNTS, COUNTS)
def test_a_world_is_divided_or_refused(world: int, tensor: int, pipeline: int) -> None:
    layout = Layout.of_world(read(world), tensor=read(tensor), pipeline=read(pipeline))
    if world % (tensor * pipeline):
        assert layout.replicas.value is None
        assert [(problem.code, problem.refuses) for problem in layout.problems] == [("EB201", True)]
    else:
        assert layout.replicas.value == world // (tensor * pipeline)
        assert layout.problems == ()
    floored = Layout.of_world(read(world), tensor=read(tensor), pipeline=read(pipeline), rounding="floor")
    assert floored.replicas.value == world // (tensor * pipeline)


@given(st.integers(1, 64), st.integers(1, 4_096), COUNTS)
def test_replicas_fit_the_devices_or_are_reported(replicas: int, world: int, tensor: int) -> None:
    layout = Layout.of_replicas(read(replicas), world=read(world), tensor=read(tensor))
    assert [problem.code for problem in layout.problems] == ([] if replicas * tensor == world else ["EB202"])


@given(st.sampled_from(["micro", "accumulation", "world", "tensor"]))
def test_whatever_is_missing_the_batch_is_unknown_and_says_what(missing: str) -> None:
    parts = {"micro": read(8), "accumulation": read(4), "world": read(64), "tensor": read(2)}
    parts[missing] = unknown(f"{missing} is not set")
    layout = Layout.of_world(parts["world"], tensor=parts["tensor"])
    found = Batch(parts["micro"], parts["accumulation"], layout, read(4_096))
    assert found.effective.reason == f"{missing} is not set"
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.reason == f"{missing} is not set"
    assert found.refused is None
    assert layout.problems == ()


@given(st.fractions(min_value=Fraction(1, 64), max_value=64, max_denominator=64), COUNTS)
def test_a_fraction_of_an_item_per_device_stays_exact(micro: Fraction, world: int) -> None:
    found = Batch(read(micro), ONE, Layout.of_world(read(world)))
    assert found.effective.value == micro * world


# -- the contract's form -------------------------------------------------------------------------------------------

NUMBERS = ["world_size", "micro_batch", "accumulation", "data_parallel", "tensor_parallel", "pipeline_parallel", "context_parallel", "batch_per_replica",
           "effective_batch", "sequence_length", "tokens_per_step", "declared_global_batch"]  # fmt: skip


@given(st.none() | COUNTS | st.fractions(1, 64, max_denominator=8), st.booleans(), st.booleans())
def test_the_contracts_form_is_json(
    micro: int | Fraction | None,
    with_length: bool,  # noqa: FBT001
    declared: bool,  # noqa: FBT001
) -> None:
    found = Batch(
        NOBODY if micro is None else read(micro),
        read(4),
        Layout.of_world(read(8)),
        read(128) if with_length else None,
        declared=read(64) if declared else None,
        schedule=(Stage(0, "samples", read(Fraction(1, 2))), Stage(100, "samples", read(64)), Stage(200, "samples", NOBODY)),
        problems=(Problem("EB301", "no"),),
    ).as_dict()  # fmt: skip
    assert json.loads(json.dumps(found)) == found
    assert set(found) == {"name", "unit", *NUMBERS, "tokens_bound", "schedule", "refused", "problems", "terms"}
    assert found["problems"] == [{"code": "EB301", "message": "no"}]
    assert found["schedule"] == [
        {"from": 0, "from_unit": "samples", "effective_batch": 0.5},
        {"from": 100, "from_unit": "samples", "effective_batch": 64},
        {"from": 200, "from_unit": "samples", "effective_batch": None},
    ]
    every: Any = found["terms"]
    for name in NUMBERS:
        assert found[name] == (every[name]["value"] if name in every else None)


# -- against a target ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "tolerance", "met"),
    [
        (2_048, 0.0, True),
        (2_049, 0.0, False),
        (2_058, 0.005, True),
        (2_059, 0.005, False),
        (2_037, 0.005, False),
        (Fraction(4_097, 2), 0.005, True),
        (10**900, 0.5, False),
        (Fraction(10**900, 7), 0.5, False),
    ],
)
def test_a_target_is_met_within_its_tolerance(number: int | Fraction, tolerance: float, met: bool) -> None:  # noqa: FBT001
    quantity = parse_quantity("2048")
    assert quantity is not None
    assert Target(quantity, Origin(None), "argument", tolerance).met_by(number) == met


# -- numbers that make no batch ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("name", ["micro", "accumulation", "tensor", "pipeline", "context"])
def test_a_factor_below_one_is_refused(name: str, value: int) -> None:
    factors = {"micro": read(8), "accumulation": read(4), "tensor": ONE, "pipeline": ONE, "context": ONE}
    factors[name] = read(value, "my_key")
    layout = Layout.of_world(
        read(64), tensor=factors["tensor"], pipeline=factors["pipeline"], context=factors["context"]
    )
    found = Batch(factors["micro"], factors["accumulation"], layout)
    assert found.effective.value is None
    assert "my_key" in (found.refused or "") or "cannot be divided" in (found.refused or "")


def test_a_part_of_an_item_is_no_factor_below_one() -> None:
    quarter = Batch(read(Fraction(1, 4)), read(4), Layout.of_world(read(64)))
    assert quarter.refused is None
    assert quarter.effective.value == 64


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_below_one_limits_nothing(length: int) -> None:
    found = batch(length=length)
    assert found.effective.value == 2_048
    assert found.tokens_per_step is not None
    assert found.tokens_per_step.value is None
    assert "limits no row" in (found.tokens_per_step.reason or "")
