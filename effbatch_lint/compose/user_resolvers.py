"""A project's own resolvers, as far as they are plain arithmetic.

    OmegaConf.register_new_resolver("tokens", lambda batch, length: batch * length)

is read from the syntax tree and evaluated by compose/arithmetic.py; the project's code never runs. The settings may
name an operation for a resolver that is more than that: ``{"int_div": "divide_floor"}`` or a lambda's text.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from effbatch_lint.compose import arithmetic
from effbatch_lint.compose.python_source import dotted, modules
from effbatch_lint.compose.resolvers import PURE, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.documents.scalars import Value
    from effbatch_lint.files import Files


def registered(files: Files, paths: Iterable[str], settings: Mapping[str, str] | None = None) -> dict[str, Operation]:
    """The resolvers to evaluate: the well-known ones, then the project's own, then those of the settings.

    Raises:
        ValueError: the settings name no known operation.
    """
    found: dict[str, tuple[str, Operation]] = {}
    for _, tree in modules(files, paths, b"register_new_resolver", b"register_resolver"):
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and dotted(node.func).endswith(
                ("register_new_resolver", "register_resolver")
            ):
                name, function = _arguments(node)
                if name is None or function is None:
                    continue
                text = ast.unparse(
                    function if not isinstance(function, ast.Name) else functions.get(function.id, function)
                )
                known = found.get(name)
                if known is not None and known[0] != text:
                    found[name] = (text, _refuse("the project registers it twice, differently"))
                else:
                    found[name] = (text, _operation(function, functions))
    own = {name: operation for name, (_, operation) in found.items()}
    return {**PURE, **own, **{name: operation_named(text) for name, text in (settings or {}).items()}}


def _arguments(call: ast.Call) -> tuple[str | None, ast.expr | None]:
    """The name and the function of a registration."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    name = call.args[0] if call.args else named.get("name")
    function = call.args[1] if len(call.args) > 1 else named.get("resolver")
    return (name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None), function


def operation_named(text: str) -> Operation:
    """An operation of the settings: the name of a well-known one, or a lambda.

    Raises:
        ValueError: it is neither.
    """
    if text in PURE:
        return PURE[text]
    tree = arithmetic.expression(text)
    if not isinstance(tree, ast.Lambda):
        raise ValueError(f"{text!r} is neither one of {', '.join(sorted(PURE))} nor a lambda")  # noqa: TRY004 - the text is wrong, not a type
    return _operation(tree, {})


def _operation(function: ast.expr, functions: Mapping[str, ast.FunctionDef]) -> Operation:
    if isinstance(function, ast.Lambda):
        return _of_body(function.args, function.body)
    if not isinstance(function, ast.Name):
        return _refuse("the project registers code for it")
    definition = functions.get(function.id)
    if definition is not None:
        if definition.decorator_list:
            return _refuse("the project decorates its function")
        *before, last = definition.body
        documented = all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in before)
        if documented and isinstance(last, ast.Return) and last.value is not None:
            return _of_body(definition.args, last.value)
        return _refuse("the project registers code for it")
    if function.id == "eval":
        return PURE["eval"]
    return _builtin(function.id)


def _builtin(name: str) -> Operation:
    """``register_new_resolver("max", max)``."""

    def operation(*values: Value) -> Value:
        names = [f"value{position}" for position in range(len(values))]
        tree = arithmetic.expression(f"{name}({', '.join(names)})")
        return arithmetic.value(tree, dict(zip(names, values, strict=True)))

    return operation


def _of_all(parameter: str, body: ast.expr) -> Operation | None:
    """``lambda *args: sum(args)``, as torchforge and others register it."""
    match body:
        case ast.Call(func=ast.Name(id="sum"), args=[ast.Name(id=name)], keywords=[]) if name == parameter:
            return _joined(" + ")
        case (
            ast.Call(func=ast.Name(id="max" | "min" as of), args=[ast.Name(id=name)], keywords=[])
            | ast.Call(func=ast.Name(id="max" | "min" as of), args=[ast.Starred(ast.Name(id=name))], keywords=[])
        ) if name == parameter:
            return _builtin(of)
    return None


def _joined(sign: str) -> Operation:
    def operation(*values: Value) -> Value:
        names = [f"value{position}" for position in range(len(values))]
        return arithmetic.value(arithmetic.expression(sign.join(names) or "0"), dict(zip(names, values, strict=True)))

    return operation


def _of_body(parameters: ast.arguments, body: ast.expr) -> Operation:
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    if parameters.vararg is not None and not (names or parameters.kwarg or parameters.kwonlyargs):
        of_all = _of_all(parameters.vararg.arg, body)
        if of_all is not None:
            return of_all
    if parameters.vararg or parameters.kwarg or parameters.kwonlyargs or parameters.defaults:
        return _refuse("its parameters are more than plain names")
    match body:
        case ast.Call(func=ast.Name(id="eval"), args=[ast.Name(id=name)], keywords=[]) if names == [name]:
            return PURE["eval"]

    def operation(*values: Value) -> Value:
        if len(values) != len(names):
            raise ValueError(f"it takes {len(names)} arguments, and {len(values)} are given")
        return arithmetic.value(body, dict(zip(names, values, strict=True)))

    return operation


def _refuse(reason: str) -> Operation:
    def operation(*_: Value) -> Value:
        raise ValueError(reason)

    return operation
