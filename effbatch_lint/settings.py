"""The project's settings: ``[tool.effbatch-lint]`` in pyproject.toml, or ``effbatch.toml``.

Every key is checked against a table of what exists; one that does not is an EB905 at its line, and a value of the
wrong kind an error that ends the run (exit status 2): settings that are half understood guard nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from typing import NamedTuple

from effbatch_lint.compose.config import Config, from_mapping
from effbatch_lint.documents.nodes import Mapping, Node, Scalar, Sequence
from effbatch_lint.source import Source, Span, Unreadable, decode, display, read_bytes
from effbatch_lint.targets.quantity import Quantity, parse_quantity
from effbatch_lint.targets.target import Target
from effbatch_lint.terms import Origin

FILES = ("effbatch.toml", "pyproject.toml")


class UsageError(Exception):
    """The call itself is wrong: a framework that does not exist, an override without ``=``. Exit status 2."""


class RecipeSettings(NamedTuple):
    """A ``[[recipes]]`` entry: files that are one run, with what is declared of it."""

    files: tuple[str, ...]
    name: str | None = None
    overrides: tuple[str, ...] = ()
    world_sizes: tuple[int, ...] = ()
    targets: tuple[Target, ...] = ()
    framework: str | None = None


class Settings(NamedTuple):
    """What the project says. ``folder`` is where paths in it start; ``unknown`` are keys that do not exist."""

    folder: str
    path: str | None = None
    targets: tuple[Target, ...] = ()
    world_sizes: tuple[int, ...] = ()
    framework: str | None = None
    exclude: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    ignore: frozenset[str] = frozenset()
    extend_select: frozenset[str] = frozenset()
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    fail_on: str = "error"
    recipes: tuple[RecipeSettings, ...] = ()
    custom: tuple[Config, ...] = ()
    unknown: tuple[tuple[Span | None, str], ...] = ()


RECIPE_KEYS = ("name", "files", "overrides", "world-size", "target", "tokens", "tolerance", "framework")
KEYS = (
    "target", "tokens", "tolerance", "world-size", "framework", "exclude", "extra-roots", "ignore", "extend-select",
    "per-file-ignores", "fail-on", "recipes", "custom",
)  # fmt: skip


def find(start: str) -> str | None:
    """The settings file that governs a folder: the nearest one above it, not past a git repository."""
    folder = os.path.abspath(start)
    while True:
        for name in FILES:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name == "effbatch.toml" or _has_section(path)):
                return path
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def _has_section(path: str) -> bool:
    with open(path, "rb") as file:
        return b"tool.effbatch-lint" in file.read()


def load(path: str) -> Settings:
    """The settings in a file.

    Raises:
        Unreadable: the file cannot be read, or a value is of the wrong kind, at its line.
    """
    from effbatch_lint.documents import toml  # noqa: PLC0415 - a project without settings needs no TOML reader

    shown = display(path)
    source = Source(shown, os.path.abspath(path), decode(read_bytes(path, (), shown=shown), shown))
    config = Config(_mapping(toml.parse(source)[0]), shown)
    if os.path.basename(path) == "pyproject.toml":
        config = config.section("tool.effbatch-lint") or config.over(Mapping({}, None))
    return _read(config, os.path.dirname(os.path.abspath(path)), shown)


def from_python(data: AbstractMapping[str, object], folder: str) -> Settings:
    """The settings from a mapping with the same keys (the Python API)."""
    return _read(from_mapping(data, "<settings>"), folder, None)


def none(folder: str) -> Settings:
    """A project without settings."""
    return Settings(folder)


def _mapping(node: Node) -> Mapping:
    assert isinstance(node, Mapping)
    return node


def _read(config: Config, folder: str, path: str | None) -> Settings:
    unknown = _unknown(config, KEYS)
    recipes = []
    for item in _tables(config, "recipes"):
        unknown += _unknown(item, RECIPE_KEYS)
        recipes.append(
            RecipeSettings(
                files=tuple(os.path.join(folder, name) for name in _strings(item, "files", needed=True)),
                name=_string(item, "name"),
                overrides=_strings(item, "overrides"),
                world_sizes=_integers(item, "world-size"),
                targets=_targets(item),
                framework=_string(item, "framework"),
            )
        )
    ignores = config.section("per-file-ignores")
    return Settings(
        folder=folder,
        path=path,
        targets=_targets(config),
        world_sizes=_integers(config, "world-size"),
        framework=_string(config, "framework"),
        exclude=_strings(config, "exclude"),
        extra_roots=tuple(os.path.join(folder, name) for name in _strings(config, "extra-roots")),
        ignore=frozenset(_codes(config, "ignore")),
        extend_select=frozenset(_codes(config, "extend-select")),
        per_file_ignores=tuple((name, frozenset(_codes(ignores, name))) for name in ignores.root.entries)
        if ignores is not None
        else (),
        fail_on=_choice(config, "fail-on", ("error", "warning", "info"), "error"),
        recipes=tuple(recipes),
        custom=tuple(_customs(config)),
        unknown=tuple(unknown),
    )


def _unknown(config: Config, known: tuple[str, ...]) -> list[tuple[Span | None, str]]:
    return [
        (entry.span, f"{config.prefix}{key} is no setting; there are {', '.join(known)}")
        for key, entry in config.root.entries.items()
        if key not in known
    ]


def _tables(config: Config, key: str) -> list[Config]:
    node = config.node(key)
    if node is None:
        return []
    if not isinstance(node, Sequence):
        raise _wrong(config, key, "a list of tables: [[recipes]]")
    return [config.over(_mapping(item), f"{key}.") for item in node.items if isinstance(item, Mapping)]


def _customs(config: Config) -> list[Config]:
    """``[custom]`` with the keys in it, ``[custom.NAME]``, or ``[[custom]]``: each described trainer."""
    node = config.node("custom")
    if node is None:
        return []
    if isinstance(node, Sequence):
        return [config.over(_mapping(item), "custom.") for item in node.items if isinstance(item, Mapping)]
    if not isinstance(node, Mapping):
        raise _wrong(config, "custom", "a table")
    if any(isinstance(entry.value, Scalar) for entry in node.entries.values()):
        return [config.over(node, "custom.")]
    return [
        config.over(_mapping(entry.value), f"custom.{name}.")
        for name, entry in node.entries.items()
        if isinstance(entry.value, Mapping)
    ]


def _targets(config: Config) -> tuple[Target, ...]:
    """``target = 2048``, ``target = {sequences = 2048}``, ``target = {tokens = "8M"}``, ``tokens = "8M"``."""
    tolerance = _tolerance(config)
    found: list[tuple[Node, str | None, str]] = []
    node = config.node("target")
    if isinstance(node, Mapping):
        found += [(entry.value, unit, f"target.{unit}") for unit, entry in node.entries.items()]
    elif node is not None:
        found.append((node, None, "target"))
    tokens = config.node("tokens")
    if tokens is not None:
        found.append((tokens, "tokens", "tokens"))
    targets = []
    for value, unit, key in found:
        quantity = _quantity(value, unit)
        if quantity is None:
            raise _wrong(config, key, 'a number with or without a unit: 2048, "2048 sequences", {tokens = "8M"}')
        note = None if value.span is not None else f"{key} in the settings"
        targets.append(Target(quantity, Origin(value.span, key, note), "settings", tolerance))
    return tuple(targets)


def _quantity(node: Node, unit: str | None) -> Quantity | None:
    return parse_quantity(node.text, unit) if isinstance(node, Scalar) else None


def _tolerance(config: Config) -> float:
    value = config.value("tolerance")
    if value is None:
        return 0.0
    if isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isdecimal():
        return float(value[:-1]) / 100
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    raise _wrong(config, "tolerance", 'a share of the target: 0.01 or "1%"')


def _string(config: Config, key: str) -> str | None:
    value = config.value(key)
    if config.node(key) is None:
        return None
    if not isinstance(value, str):
        raise _wrong(config, key, "a string")
    return value


def _choice(config: Config, key: str, choices: tuple[str, ...], default: str) -> str:
    value = _string(config, key)
    if value is not None and value not in choices:
        raise _wrong(config, key, f"one of {', '.join(choices)}")
    return value or default


def _strings(config: Config, key: str, *, needed: bool = False) -> tuple[str, ...]:
    node = config.node(key)
    if node is None and not needed:
        return ()
    if not isinstance(node, Sequence) or not all(isinstance(item, Scalar) for item in node.items):
        raise _wrong(config, key, "a list of strings")
    return tuple(item.text for item in node.items if isinstance(item, Scalar))


def _codes(config: Config, key: str) -> tuple[str, ...]:
    from effbatch_lint.rules.table import find as find_rule  # noqa: PLC0415 - few settings name rules

    codes = []
    for word in _strings(config, key):
        rule = find_rule(word)
        if rule is None:
            raise _wrong(config, key, f"a list of rule codes; {word} is none")
        codes.append(rule.code)
    return tuple(codes)


def _integers(config: Config, key: str) -> tuple[int, ...]:
    node = config.node(key)
    if node is None:
        return ()
    values = [
        item.value if isinstance(item, Scalar) else None
        for item in (node.items if isinstance(node, Sequence) else [node])
    ]
    whole = tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)
    if not whole or len(whole) != len(values):
        raise _wrong(config, key, "a whole number above zero, or a list of them")
    return whole


def _wrong(config: Config, key: str, wanted: str) -> Unreadable:
    entry = config.entry(key)
    span = entry.value.span if entry is not None and entry.value.span is not None else Span(config.path, 1, 1, 1, 1)
    return Unreadable(span, f"the setting {config.prefix}{key} must be {wanted}")


def governing(paths: AbstractSequence[str] = ()) -> Settings:
    """The settings above the working directory; above the first path, when that lies elsewhere; else none."""
    path = find(os.getcwd())
    if path is None and paths:
        first = os.path.abspath(paths[0])
        path = find(first if os.path.isdir(first) else os.path.dirname(first))
    return load(path) if path is not None else none(os.getcwd())
