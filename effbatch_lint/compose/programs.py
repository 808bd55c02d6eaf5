"""Where a Python program starts Hydra: ``@hydra.main(...)``, or ``initialize(...)`` with ``compose(...)``.

The program is parsed and never run. What is computed (``config_path=os.environ["CONF"]``) is not known, except for the
folder of the program itself: ``os.path.join(os.path.dirname(__file__), "conf")``.

Source: hydra/main.py, hydra/initialize.py, hydra/version.py (1.3): a path is relative to the Python file, and a program
that states no ``version_base`` gets the rules of 1.1. NeMo's ``hydra_runner`` (nemo/core/config/hydra_runner.py) takes
the same two arguments.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.python_source import dotted, modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.files import Files

WORDS = (b"hydra",)
_MAIN = ("config_path", "config_name", "version_base")
_STARTS = {"hydra.main": _MAIN, "hydra_runner": ("schema", "config_path", "config_name"), "initialize": _MAIN}


class Program(NamedTuple):
    """A program that Hydra composes a config for.

    Attributes:
        path: the Python file, absolute.
        folder: its config folder, absolute; None when there is none, or it is computed.
        names: the primary configs that it names.
        legacy: whether it asks for the rules of Hydra 1.1.
    """

    path: str
    folder: str | None
    names: tuple[str, ...]
    legacy: bool


def programs(files: Files, paths: Iterable[str]) -> Iterator[Program]:
    """The programs among Python files, one for each start that a file holds."""
    for path in paths:
        for _, tree in modules(files, (path,), *WORDS):
            composed = tuple(_composed(tree))
            for call, kind in _starts(tree):
                yield _program(os.path.abspath(path), call, kind, composed, tree)


def _starts(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """The calls that start Hydra, with what they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            last = name.rpartition(".")[2]
            if name == "hydra.main" or last == "hydra_runner":
                yield node, last if last == "hydra_runner" else name
            elif last in ("initialize", "initialize_config_dir"):
                yield node, last


def _composed(tree: ast.Module) -> Iterator[str]:
    """The names of the configs that ``compose(config_name=...)`` asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "compose":
            name = _text(_given(node, ("config_name",)).get("config_name"), "", tree)
            if name:
                yield name


def _program(path: str, call: ast.Call, kind: str, composed: tuple[str, ...], tree: ast.Module) -> Program:
    given = _given(call, ("config_dir",) if kind == "initialize_config_dir" else _STARTS[kind])
    folder = _text(given.get("config_path") or given.get("config_dir"), os.path.dirname(path), tree)
    name = _text(given.get("config_name"), "", tree)
    names = composed if kind.startswith("initialize") else (name,) if name else ()
    base = given.get("version_base")
    stated = base.value if isinstance(base, ast.Constant) else "" if base is not None else "1.1"
    legacy = isinstance(stated, str) and stated in ("1.0", "1.1")
    return Program(
        path, os.path.normpath(os.path.join(os.path.dirname(path), folder)) if folder else None, names, legacy
    )


def _given(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    """The arguments of a call by the names of its parameters."""
    return {
        **dict(zip(names, call.args, strict=False)),
        **{keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None},
    }


def _text(node: ast.expr | None, folder: str, tree: ast.Module) -> str | None:
    """A text: a literal, a constant of the module, or a path that starts at the program's own folder."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            found = next((one for one in tree.body if isinstance(one, ast.Assign) and _assigns(one, name)), None)
            if found is None or isinstance(found.value, ast.Name):
                return None
            # A constant may be made of others, and not of itself.
            return _text(found.value, folder, ast.Module([one for one in tree.body if one is not found], []))
        case ast.Call(func=function, args=[first, *rest]) if dotted(function).endswith("path.join"):
            parts = [folder if _own_folder(first) else _text(first, folder, tree)]
            parts += [_text(part, folder, tree) for part in rest]
            return os.path.join(*(part for part in parts if part)) if all(parts) else None
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return _text(inner, folder, tree)
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=str() as name)) if _own_folder(left):
            return os.path.join(folder, name)
    return None


def _assigns(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def _own_folder(node: ast.expr) -> bool:
    """``os.path.dirname(__file__)``, ``Path(__file__).parent``, with ``abspath`` and ``resolve`` anywhere."""
    text = ast.unparse(node)
    for mark in ("os.path.abspath(", "os.path.realpath(", ".resolve()", ".absolute()", "pathlib.", "os.path."):
        text = text.replace(mark, "")
    return text.rstrip(")") in ("dirname(__file__", "Path(__file__).parent")
