"""Hydra's ConfigStore, read from the program's source: nodes that no file holds, and their literal defaults.

    cs.store(name="base", group="optim", node=OptimConfig)      a dataclass of the same file
    cs.store(name="base", node={"lr": 0.1})                     a dict

Nothing is imported or run. A default that is no literal (a call, a name of another module) is a value that exists and
is unknown; a class whose bases are elsewhere may have more keys.

Sources: hydra/core/config_store.py (1.3), omegaconf/_utils.py (get_dataclass_data, 2.3).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.config import Unresolved
from effbatch_lint.compose.config_file import Loaded
from effbatch_lint.compose.defaults import items
from effbatch_lint.compose.python_source import dotted, modules
from effbatch_lint.compose.repository import Store
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.files import Files

MAX_DEPTH = 20


def stored(files: Files, paths: Iterable[str]) -> Store:
    """The nodes that the Python files put into the ConfigStore."""
    nodes: dict[str, Loaded] = {}
    more: str | None = None
    for path, tree in modules(files, paths, b"ConfigStore", b"hydra_zen", b"hydra-zen"):
        reader = _Module(path, tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or _called(node.func) != "store":
                continue
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            given |= dict(zip(("name", "node", "group", "package"), node.args, strict=False))
            if "node" not in given and "name" not in given:
                continue
            name, group, package = (_text(given.get(key)) for key in ("name", "group", "package"))
            if name is None or (group is None and "group" in given and not _is_none(given["group"])):
                more = f"{path}:{node.lineno} puts nodes into the ConfigStore under names that are computed"
                continue
            config_path = f"{group}/{name}" if group else name
            nodes[config_path.removesuffix(".yaml")] = reader.loaded(given.get("node"), config_path, package)
    return Store(nodes, more)


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _called(function: ast.expr) -> str:
    """``store`` of ``cs.store(...)``, ``ConfigStore.instance().store(...)`` and ``store(...)``."""
    return function.attr if isinstance(function, ast.Attribute) else dotted(function)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Found(NamedTuple):
    """A node, and why it may hold more keys than are seen."""

    node: Node
    more: str | None = None


class _Module:
    """One Python file: its classes and its constants."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path = path
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def loaded(self, node: ast.expr | None, config_path: str, package: str | None) -> Loaded:
        """The config of a node: a class, an instance of one, or a dict."""
        found = self.value(node, 0) if node is not None else _Found(Mapping({}, None), "the node is not seen")
        root, more = found.node, found.more
        if not isinstance(root, Mapping):
            root, more = Mapping({}, root.span), more or f"{self.path} computes the node {config_path}"
        defaults = root.get("defaults")
        rest = Mapping({key: entry for key, entry in root.entries.items() if key != "defaults"}, root.span)
        listed = tuple(items(defaults, config_path, legacy=False)) if isinstance(defaults, Sequence) else ()
        header = None if package is None else package if package.startswith("_global_") else f"_global_.{package}"
        return Loaded(self.path, rest, listed, header, unknown=more, span=root.span)

    def value(self, node: ast.expr, depth: int) -> _Found:
        """The value of an expression; Unresolved where it is no literal."""
        span = Span(
            self.path, node.lineno, node.col_offset + 1, node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1
        )
        if depth > MAX_DEPTH:
            return _Found(Scalar("...", span, value=Unresolved("it is nested too deep")))
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as constant):
                text = "null" if constant is None else str(constant)
                return _Found(Scalar(text, span, plain=not isinstance(constant, str), value=constant))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return _Found(Scalar(str(-number), span, value=-number))
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return _Found(Sequence([self.value(element, depth + 1).node for element in elements], span))
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values, span, depth)
            case ast.Name(id="MISSING") | ast.Attribute(attr="MISSING"):
                return _Found(Scalar("???", span, plain=False))
            case ast.Name(id=name) if name in self.classes:
                return self._class(self.classes[name], depth)
            case ast.Name(id=name) if name in self.constants:
                return self.value(self.constants[name], depth + 1)
            case ast.Call():
                return self._call(node, span, depth)
        return self._unknown(node, span)

    def _unknown(self, node: ast.expr, span: Span) -> _Found:
        text = ast.unparse(node)[:80]
        return _Found(
            Scalar(text, span, value=Unresolved(f"{self.path}:{node.lineno} computes it: {text}")), "it is computed"
        )

    def _dict(self, keys: list[ast.expr | None], values: list[ast.expr], span: Span, depth: int) -> _Found:
        entries: dict[str, Entry] = {}
        for key, value in zip(keys, values, strict=True):
            if not isinstance(key, ast.Constant):
                return _Found(Mapping(entries, span), f"{self.path}:{span.line} computes keys")
            entries[str(key.value)] = Entry(str(key.value), self._span(key), self.value(value, depth + 1).node)
        return _Found(Mapping(entries, span))

    def _call(self, node: ast.Call, span: Span, depth: int) -> _Found:
        """``field(default=...)``, ``II("a.b")``, or an instance with keyword arguments."""
        name = dotted(node.func)
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if name.endswith("field"):
            if "default" in given:
                return self.value(given["default"], depth + 1)
            factory = given.get("default_factory")
            if isinstance(factory, ast.Lambda):
                return self.value(factory.body, depth + 1)
            if isinstance(factory, ast.Name) and factory.id in ("list", "dict"):
                return _Found(Sequence([], span) if factory.id == "list" else Mapping({}, span))
            return self.value(factory, depth + 1) if factory is not None else _Found(Scalar("???", span, plain=False))
        if name in ("II", "omegaconf.II") and node.args and _text(node.args[0]) is not None:
            return _Found(Scalar(f"${{{_text(node.args[0])}}}", span, plain=False))
        if name not in self.classes or node.args:
            return self._unknown(node, span)
        found = self._class(self.classes[name], depth)
        assert isinstance(found.node, Mapping)
        entries = dict(found.node.entries)
        for key, value in given.items():
            if key is not None:
                entries[key] = Entry(key, self._span(value), self.value(value, depth + 1).node)
        return _Found(
            Mapping(entries, span), found.more or ("it takes keywords that are computed" if None in given else None)
        )

    def _class(self, node: ast.ClassDef, depth: int) -> _Found:
        """The fields of a dataclass, those of its bases first; one without a value is ???."""
        entries: dict[str, Entry] = {}
        more: str | None = None
        for base in node.bases:
            name = dotted(base)
            if name in self.classes and depth < MAX_DEPTH:
                found = self._class(self.classes[name], depth + 1)
                assert isinstance(found.node, Mapping)
                entries |= found.node.entries
                more = more or found.more
            elif name not in ("object", "Generic", "typing.Generic"):
                more = f"{self.path}:{node.lineno}: a base of {node.name} is in another file"
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                key = field.target.id
                entries[key] = Entry(key, self._span(field.target), self._field(field, depth))
        return _Found(Mapping(entries, self._span(node)), more)

    def _field(self, field: ast.AnnAssign, depth: int) -> Node:
        if field.value is not None:
            return self.value(field.value, depth + 1).node
        return Scalar("???", self._span(field.target), plain=False)

    def _span(self, node: ast.expr | ast.ClassDef) -> Span:
        return Span(
            self.path, node.lineno, node.col_offset + 1, node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1
        )
