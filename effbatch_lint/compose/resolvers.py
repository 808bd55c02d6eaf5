"""The resolvers that are evaluated: pure functions of their arguments, and nothing that runs code or asks the machine.

A name proves nothing by itself, since a project registers its own; the ones here are those that public training code
registers, always with these meanings:

    multiply, divide_ceil, divide_floor    NVIDIA/NeMo-Framework-Launcher main.py
    multiply, sum                          NVIDIA/NeMo
    mul, add, div, max                     NVIDIA-NeMo/RL
    div_up, eval                           HazyResearch/hyena-dna train.py

A definition that the project itself holds, or the settings, comes before them (compose/user_resolvers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from effbatch_lint.documents.scalars import Value

Operation: TypeAlias = Callable[..., Value]


def _expression(parameters: str, text: str) -> Operation:
    """A function of two values that is written as the arithmetic that it does."""

    def operation(*values: Value) -> Value:
        from effbatch_lint.compose import arithmetic  # noqa: PLC0415 - the ast module is loaded only for a resolver

        names = parameters.split()
        if len(values) != len(names):
            raise ValueError(f"it takes {len(names)} arguments, and {len(values)} are given")
        return arithmetic.value(arithmetic.expression(text), dict(zip(names, values, strict=True)))

    return operation


def _evaluate(*values: Value) -> Value:
    from effbatch_lint.compose import arithmetic  # noqa: PLC0415 - as above

    if len(values) != 1 or not isinstance(values[0], str):
        raise ValueError("it takes one text")
    return arithmetic.evaluate(values[0])


PURE: Mapping[str, Operation] = {
    "multiply": _expression("x y", "x * y"),
    "mul": _expression("x y", "x * y"),
    "sum": _expression("x y", "x + y"),
    "add": _expression("x y", "x + y"),
    "div": _expression("x y", "x / y"),
    "divide_ceil": _expression("x y", "int(ceil(x / y))"),
    "divide_floor": _expression("x y", "int(floor(x / y))"),
    "div_up": _expression("x y", "(x + y - 1) // y"),
    "max": _expression("x y", "max(x, y)"),
    "eval": _evaluate,
}
