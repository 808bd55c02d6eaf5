"""Arithmetic over key paths, as the settings of a custom trainer write it: ``cluster.nodes * cluster.gpus``.

Only numbers, key paths, ``+ - * / // %``, parentheses, ``min max ceil int`` and ``key or 1`` (the trainer's
default, where the key is absent) are understood; the text is parsed, never
evaluated as Python. A quotient is exact until ``int`` or ``ceil`` rounds it, and the whole must be a whole number. A key
path with characters that are no Python name is quoted: ``"'train.batch-size' * 2"``.
"""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from effbatch_lint import terms
from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from effbatch_lint.terms import Number

MAX_LENGTH = 500

FUNCTIONS: dict[str, tuple[Callable[..., Number], int, int]] = {
    "int": (int, 1, 1),
    "ceil": (lambda value: -(-value // 1), 1, 2),
    "min": (min, 2, 16),
    "max": (max, 2, 16),
}
"""Each function with the least and the greatest number of its arguments; ``ceil(a, b)`` is ``ceil(a / b)``."""


class Malformed(ValueError):
    """An expression that is no arithmetic over key paths."""


def parse(text: str) -> ast.expr:
    """The expression's tree.

    Raises:
        Malformed: anything but the arithmetic described above.
    """
    if len(text) > MAX_LENGTH:
        raise Malformed(f"longer than {MAX_LENGTH} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd literal is refused below, in our own words
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Malformed(f"{text!r} is no arithmetic over key paths") from None
    _check(tree, text)
    return tree


def keys(tree: ast.expr) -> list[str]:
    """The key paths that the expression reads, in order."""
    if isinstance(tree, ast.Constant):
        return [tree.value] if isinstance(tree.value, str) else []
    path = _path(tree)
    if path is not None:
        return [path]
    parts = (
        tree.args if isinstance(tree, ast.Call) else [n for n in ast.iter_child_nodes(tree) if isinstance(n, ast.expr)]
    )
    return [key for part in parts for key in keys(part)]


def evaluate(tree: ast.expr, read: Callable[[str], Term]) -> Term:
    """The value, each key path read by ``read``; unknown as soon as one of them is, or when it is no whole number."""
    found = _value(tree, read)
    if found.value is None or isinstance(found.value, int):
        return found
    return unknown(f"{found.formula} is {terms.shown(found.value)}, which is no whole number", *found.origins)


def _value(tree: ast.expr, read: Callable[[str], Term]) -> Term:
    if isinstance(tree, ast.Constant):
        return read(tree.value) if isinstance(tree.value, str) else Term(tree.value, "assumed")  # type: ignore[arg-type] # _check lets ints and strings through
    path = _path(tree)
    if path is not None:
        return read(path)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return _call(tree.func.id, [_value(argument, read) for argument in tree.args])
    if isinstance(tree, ast.BoolOp):
        found = [evaluate(value, read) for value in tree.values]
        # An absent key has no origin; one that is there and not known stays unknown.
        return next((term for term in found if term.known or term.origins), found[-1])
    assert isinstance(tree, ast.BinOp)
    left, right = _value(tree.left, read), _value(tree.right, read)
    match tree.op:
        case ast.Mult():
            return terms.product(left, right)
        case ast.Add():
            return terms.total(left, right)
        case ast.Sub():
            return terms.computed(
                lambda a, b: a - b, f"{terms.shown(left.value)} - {terms.shown(right.value)}", left, right
            )
        case ast.FloorDiv():
            return terms.floor(left, right)
        case ast.Mod():
            if right.value == 0:
                return unknown(f"{terms.shown(left.value)} % 0: division by zero", *right.origins)
            return terms.computed(
                lambda a, b: a % b, f"{terms.shown(left.value)} % {terms.shown(right.value)}", left, right
            )
        case _:
            return terms.ratio(left, right)


def _call(name: str, arguments: list[Term]) -> Term:
    if name == "ceil" and len(arguments) > 1:
        return terms.ceil(*arguments)
    shown = f"{name}({', '.join(argument.formula or terms.shown(argument.value) for argument in arguments)})"
    return terms.computed(FUNCTIONS[name][0], shown, *arguments)


def _path(tree: ast.expr) -> str | None:
    """``a.b.c`` for a chain of attributes, else None."""
    parts = []
    while isinstance(tree, ast.Attribute):
        parts.append(tree.attr)
        tree = tree.value
    if not isinstance(tree, ast.Name):
        return None
    return ".".join([tree.id, *reversed(parts)])


def _check(tree: ast.expr, text: str) -> None:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, str)) and not isinstance(tree.value, bool):
        if tree.value == "":
            raise Malformed(f"there is an empty key path in {text!r}")
        return
    if _path(tree) is not None:
        return
    if isinstance(tree, ast.BinOp) and isinstance(
        tree.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
    ):
        _check(tree.left, text)
        _check(tree.right, text)
        return
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        for value in tree.values:
            _check(value, text)
        return
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in FUNCTIONS:
        _, least, greatest = FUNCTIONS[tree.func.id]
        if tree.keywords or not least <= len(tree.args) <= greatest:
            count = f"{least}" if least == greatest else f"{least} to {greatest}"
            raise Malformed(f"{tree.func.id}() takes {count} arguments in {text!r}")
        for argument in tree.args:
            _check(argument, text)
        return
    raise Malformed(f"{text!r} is no arithmetic over key paths")
