"""Why two numbers differ by a whole factor: which of the run's own terms equal that factor.

"1,024 is 4 x 256, and 4 is the tensor-parallel degree": that sentence is what a person needs to find the mistake.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.terms import Number, Term, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from effbatch_lint.batch import Batch
    from effbatch_lint.launch import Launch
    from effbatch_lint.targets.quantity import Quantity


class Between(NamedTuple):
    """The whole factor between two numbers, and whether the declared one is the larger."""

    factor: int
    larger: bool


class Factor(NamedTuple):
    """A term of the run, or a product of several, that equals the factor between two numbers."""

    names: tuple[str, ...]
    terms: tuple[Term, ...]

    @property
    def words(self) -> str:
        """``the tensor-parallel degree (tp)``; a product as ``tensor-parallel degree 4 (tp) x accumulation 2 (acc)``."""
        if len(self.terms) == 1:
            key = self.terms[0].written
            return f"the {self.names[0]}{f' ({key})' if key else ''}"
        return " x ".join(
            f"{name} {shown(term.value)}{f' ({term.written})' if term.written else ''}"
            for name, term in zip(self.names, self.terms, strict=True)
        )


def factor_between(declared: Quantity, computed: Number) -> Between | None:
    """The whole factor between the numbers, at the precision of the declared one: 4M is 8 x 524,288; None without one."""
    value = declared.value
    if value <= 0 or computed <= 0:
        return None
    if value >= computed:
        binary = (declared.binary or 0) // (computed * declared.scale)
        near = {int(factor) for factor in (value // computed, -(-value // computed), binary)}
        fitting = [(abs(factor * computed - value), factor) for factor in near if declared.meets(factor * computed)]
    else:
        near = {int(factor) for factor in (computed // value, -(-computed // value))}
        parts = [(computed // factor, factor) for factor in near if computed % factor == 0]
        fitting = [(abs(part - value), factor) for part, factor in parts if declared.meets(part)]
    return Between(min(fitting)[1], value >= computed) if fitting else None


def model_parallel(batch: Batch, fits: Callable[[int], bool]) -> tuple[Factor, ...]:
    """The smallest products of model-parallel degrees of which ``fits`` holds; several, when equal degrees would do."""
    return _smallest(_degrees(batch), fits, most=3)


def any_term(batch: Batch, launch: Launch, between: Between) -> tuple[Factor, ...]:
    """The terms of the run that equal the factor; at most three.

    A declared number that is too small may also leave out two factors at once. One that is too large has counted
    something twice, or something that is no factor: products would be found for every power of two there. Nobody leaves
    out or counts twice a micro batch.
    """
    layout = batch.layout
    named = [
        *([("accumulation", batch.accumulation)] if batch.accumulation.how in ("read", "default") else []),
        ("number of replicas", layout.replicas),
        *_degrees(batch),
        ("number of nodes", launch.nodes),
        ("devices per node", launch.devices_per_node),
    ]
    if batch.items_per_prompt is not None:
        named.append(("completions per prompt", batch.items_per_prompt))
    if layout.world.value != layout.replicas.value:
        named.append(("number of devices", layout.world))
    return _smallest(named, lambda value: value == between.factor, most=1 if between.larger else 2)[:3]


def _degrees(batch: Batch) -> list[tuple[str, Term]]:
    layout = batch.layout
    return [
        ("tensor-parallel degree", layout.tensor),
        ("pipeline-parallel degree", layout.pipeline),
        ("context-parallel degree", layout.context),
    ]


def _smallest(named: list[tuple[str, Term]], fits: Callable[[int], bool], most: int) -> tuple[Factor, ...]:
    """The products of the fewest terms, at most ``most``, of which ``fits`` holds."""
    useful = [(name, term) for name, term in named if isinstance(term.value, int) and term.value > 1]
    for size in range(1, most + 1):
        found = []
        for chosen in combinations(useful, size):
            result = 1
            for _, term in chosen:
                result *= int(term.value or 1)
            if fits(result):
                found.append(Factor(tuple(name for name, _ in chosen), tuple(term for _, term in chosen)))
        if found:
            return tuple(found)
    return ()
