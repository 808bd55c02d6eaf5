"""Why two numbers differ by a whole factor: which of the run's own terms equal that factor.

"1,024 is 4 x 256, and 4 is the tensor-parallel degree": that sentence is what a person needs to find the mistake.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.terms import Number, Term, shown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.launch import Launch


class Factor(NamedTuple):
    """A term of the run, or a product of several, that equals the factor between two numbers."""

    names: tuple[str, ...]
    terms: tuple[Term, ...]

    @property
    def words(self) -> str:
        """``tensor parallel 4 (tensor_parallel_size)``, joined by ``x`` for a product."""
        return " x ".join(
            f"{name} {shown(term.value)}" + (f" ({term.key})" if term.key and term.key != name else "")
            for name, term in zip(self.names, self.terms, strict=True)
        )


def factor_between(declared: Number, computed: Number) -> tuple[int, bool] | None:
    """The whole factor between the numbers, and whether the declared one is the larger; None without one."""
    if declared <= 0 or computed <= 0:
        return None
    if declared % computed == 0:
        return int(declared // computed), True
    if computed % declared == 0:
        return int(computed // declared), False
    return None


def model_parallel(batch: Batch, factor: int) -> Factor | None:
    """The smallest product of model-parallel degrees that equals the factor."""
    layout = batch.layout
    degrees = [
        ("tensor parallel", layout.tensor),
        ("pipeline parallel", layout.pipeline),
        ("context parallel", layout.context),
    ]
    return _equal(degrees, factor)


def any_term(batch: Batch, launch: Launch, factor: int) -> list[Factor]:
    """Every term of the run that equals the factor, else the smallest products of two that do; at most three."""
    layout = batch.layout
    named = [
        ("tensor parallel", layout.tensor),
        ("pipeline parallel", layout.pipeline),
        ("context parallel", layout.context),
        ("accumulation", batch.accumulation),
        ("nodes", launch.nodes),
        ("devices per node", launch.devices_per_node),
        ("replicas", layout.replicas),
        ("micro batch", batch.micro),
    ]
    if batch.items_per_prompt is not None:
        named.append(("completions per prompt", batch.items_per_prompt))
    if layout.world.value != layout.replicas.value:
        named.append(("devices", layout.world))
    single = [Factor((name,), (term,)) for name, term in named if term.value == factor]
    if single:
        return single[:3]
    pairs = _equal(named, factor)
    return [pairs] if pairs is not None else []


def _equal(named: list[tuple[str, Term]], factor: int) -> Factor | None:
    useful = [(name, term) for name, term in named if term.value is not None and term.value > 1]
    for size in range(1, 4):
        for chosen in combinations(useful, size):
            result: Number = 1
            for _, term in chosen:
                result = result * (term.value or 1)
            if result == factor:
                return Factor(tuple(name for name, _ in chosen), tuple(term for _, term in chosen))
    return None
