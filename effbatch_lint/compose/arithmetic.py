"""Python arithmetic over known values, without running Python: what ``eval`` resolvers and plain lambdas compute.

Numbers, text, ``+ - * / // % **``, comparisons, ``a if c else b`` and a handful of functions. Results keep Python's
types, because resolvers see them: ``'8' * 2`` is ``'88'``. Everything is bounded: an integer has at most MAX_BITS bits.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.documents.scalars import Value

MAX_BITS = 4_096
MAX_TEXT = 2_000
MAX_DEPTH = 40

_BINARY: dict[type[ast.operator], Callable[..., Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[..., Value]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[..., bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "int": int, "float": float, "str": str, "bool": bool, "abs": abs, "round": round, "min": min, "max": max,
    "math.ceil": math.ceil, "math.floor": math.floor, "ceil": math.ceil, "floor": math.floor,
}  # fmt: skip


def expression(text: str) -> ast.expr:
    """The syntax tree of an expression; nothing is compiled or run.

    Raises:
        ValueError: no expression, or one over the limit.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"an expression of {len(text):,} characters, over the limit of {MAX_TEXT:,}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{text!r} is no arithmetic") from None


def evaluate(text: str) -> Value:
    """What Python's ``eval`` gives for plain arithmetic.

    Raises:
        ValueError: anything else, and results over the limits.
    """
    return value(expression(text), {})


def value(tree: ast.expr, names: Mapping[str, Value], depth: int = 0) -> Value:
    """The value of an expression in which ``names`` are known.

    Raises:
        ValueError: what is no arithmetic, what Python itself would refuse, and results over the limits.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"an expression nested deeper than {MAX_DEPTH} levels")

    def below(part: ast.expr) -> Value:
        return value(part, names, depth + 1)

    match tree:
        case ast.Constant(value=None | bool() | int() | float() | str() as constant):
            return constant
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _apply(_BINARY[type(sign)], below(left), below(right))
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _apply(_UNARY[type(sign)], below(operand))
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _COMPARE:
            return _apply(_COMPARE[type(sign)], below(left), below(right))
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return below(body) if below(test) else below(otherwise)
        case ast.Call(func=function, args=arguments, keywords=[]) if ast.unparse(function) in _FUNCTIONS:
            return _apply(_FUNCTIONS[ast.unparse(function)], *map(below, arguments))
    raise ValueError("it is more than plain arithmetic")


def _apply(function: Callable[..., Value], *values: Value) -> Value:
    if function is operator.pow:
        _bound_power(*values)
    if function is operator.mul:
        _bound_repeat(*values)
    if function is operator.mod and isinstance(values[0], str):
        raise ValueError("it formats text")
    try:
        return bounded(function(*values))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def bounded(result: Value) -> Value:
    """The result, when it is a value of bounded size.

    Raises:
        ValueError: it is too large, or of another type.
    """
    if isinstance(result, int) and result.bit_length() > MAX_BITS:
        raise ValueError(f"an integer of more than {MAX_BITS:,} bits")
    if isinstance(result, str) and len(result) > MAX_TEXT:
        raise ValueError(f"a text of more than {MAX_TEXT:,} characters")
    if result is not None and not isinstance(result, (bool, int, float, str)):
        raise ValueError(f"a {type(result).__name__}, which is no value")
    return result


def _bound_power(base: Value, exponent: Value) -> None:
    if isinstance(base, int) and isinstance(exponent, int) and abs(exponent) * max(1, base.bit_length()) > MAX_BITS:
        raise ValueError(f"an integer of more than {MAX_BITS:,} bits")


def _bound_repeat(left: Value, right: Value) -> None:
    for text, count in ((left, right), (right, left)):
        if isinstance(text, str) and isinstance(count, int) and len(text) * count > MAX_TEXT:
            raise ValueError(f"a text of more than {MAX_TEXT:,} characters")
