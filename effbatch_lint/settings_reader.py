"""The settings file -> settings: every key is checked against what exists, every value against its kind.

A key that does not exist is an EB905 at its line; a value of the wrong kind ends the run (exit status 2): settings
that are half understood guard nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping

from effbatch_lint.compose.config import Config, from_mapping
from effbatch_lint.compose.merge import key_and_text
from effbatch_lint.documents import toml
from effbatch_lint.documents.nodes import Mapping, Node, Scalar, Sequence
from effbatch_lint.settings import RecipeSettings, Settings
from effbatch_lint.source import Source, Span, Unreadable, decode, display, read_bytes
from effbatch_lint.targets.quantity import UNITS, parse_quantity, unit_named
from effbatch_lint.targets.target import Target
from effbatch_lint.terms import Origin, Term

RECIPE_KEYS = ("name", "files", "overrides", "world-size", "target", "tokens", "tolerance", "framework")
KEYS = (
    "target", "tokens", "tolerance", "world-size", "framework", "exclude", "extra-roots", "ignore", "extend-select",
    "per-file-ignores", "fail-on", "recipes", "custom", "search-path", "resolvers",
)  # fmt: skip


def load(path: str) -> Settings:
    """The settings in a file.

    Raises:
        Unreadable: the file cannot be read, or a value is of the wrong kind, at its line.
    """
    shown = display(path)
    source = Source(shown, os.path.abspath(path), decode(read_bytes(path, (), shown=shown), shown))
    config = Config(_mapping(toml.parse(source)[0]), shown)
    if os.path.basename(path) == "pyproject.toml":
        if config.node("tool.effbatch-lint") is None:
            return Settings(os.path.dirname(os.path.abspath(path)), shown)
        section = config.section("tool.effbatch-lint")
        if section is None:
            raise _wrong(config, "tool.effbatch-lint", "a table")
        config = section.over(section.root)
    return _read(config, os.path.dirname(os.path.abspath(path)), shown)


def from_python(data: AbstractMapping[str, object], folder: str) -> Settings:
    """The settings from a mapping with the same keys (the Python API)."""
    return _read(from_mapping(data, "<settings>"), folder, None)


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
                files=tuple(os.path.join(folder, name) for name in _files(item)),
                name=_string(item, "name"),
                overrides=_overrides(item),
                world_sizes=_world_sizes(item),
                targets=_targets(item),
                framework=_string(item, "framework"),
                span=origin.span if (origin := item.origin("files")) is not None else item.root.span,
            )
        )
    ignores = config.section("per-file-ignores")
    if ignores is None and config.node("per-file-ignores") is not None:
        raise _wrong(config, "per-file-ignores", "a table of globs, each with a list of rule codes")
    return Settings(
        folder=folder,
        path=path,
        targets=_targets(config),
        world_sizes=_world_sizes(config),
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
        search_path=tuple(os.path.join(folder, name) for name in _strings(config, "search-path")),
        resolvers=tuple(_resolvers(config)),
    )


def _resolvers(config: Config) -> Iterator[tuple[str, str]]:
    """``resolvers = {int_div = "divide_floor"}``: a known operation or a lambda for each resolver."""
    section = config.section("resolvers")
    if section is None:
        if config.node("resolvers") is not None:
            raise _wrong(config, "resolvers", "a table of resolvers, each with an operation")
        return
    from effbatch_lint.compose.user_resolvers import operation_named  # noqa: PLC0415 - few projects have their own

    for name in section.root.entries:
        text = _string(section, name)
        assert text is not None
        try:
            operation_named(text)
        except ValueError as error:
            raise _wrong(section, name, f"an operation: {error}") from None
        yield name, text


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
    if not isinstance(node, Sequence) or not all(isinstance(item, Mapping) for item in node.items):
        raise _wrong(config, key, "a list of tables: [[recipes]]")
    return [config.over(_mapping(item), f"{key}.") for item in node.items]


def _customs(config: Config) -> list[Config]:
    """``[custom]`` with the keys in it, ``[custom.NAME]``, or ``[[custom]]``: each described trainer."""
    node = config.node("custom")
    if node is None:
        return []
    if isinstance(node, Sequence):
        parts = [("custom.", item) for item in node.items]
    elif isinstance(node, Mapping) and any(isinstance(entry.value, Scalar) for entry in node.entries.values()):
        parts = [("custom.", node)]
    elif isinstance(node, Mapping):
        parts = [(f"custom.{name}.", entry.value) for name, entry in node.entries.items()]
    else:
        parts = [("", node)]
    if not all(isinstance(part, Mapping) for _, part in parts):
        raise _wrong(config, "custom", "a table, or a table for each trainer")
    return [config.over(_mapping(part), prefix) for prefix, part in parts]


def _targets(config: Config) -> tuple[Target, ...]:
    """``target = 2048``, ``target = {sequences = 2048}``, ``target = {tokens = "8M"}``, ``tokens = "8M"``."""
    tolerance = _tolerance(config)
    node, tokens = config.node("target"), config.node("tokens")
    found: list[tuple[Node, str | None, str]] = []
    if isinstance(node, Mapping) and node.entries:
        found += [(entry.value, unit, f"target.{unit}") for unit, entry in node.entries.items()]
    elif node is not None:
        found.append((node, None, "target"))
    if tokens is not None:
        found.append((tokens, "tokens", "tokens"))
    targets = []
    for value, unit, key in found:
        quantity = parse_quantity(value.text, unit) if isinstance(value, Scalar) else None
        if quantity is None:
            raise _wrong(config, key, 'a number with or without a unit: 2048, "2048 sequences", {tokens = "8M"}')
        named = unit and unit_named(unit)
        if unit is not None and (named is None or quantity.unit not in (unit, named)):
            raise _wrong(config, key, f"a number of {named or ', '.join(UNITS)}")
        note = None if value.span is not None else f"{key} in the settings"
        targets.append(
            Target(quantity._replace(unit=named or quantity.unit), Origin(value.span, key, note), "settings", tolerance)
        )
    return tuple(targets)


def _tolerance(config: Config) -> float:
    if config.node("tolerance") is None:
        return 0.0
    value = config.value("tolerance")
    if isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isdecimal():
        value = float(value[:-1]) / 100
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


def _strings(config: Config, key: str) -> tuple[str, ...]:
    node = config.node(key)
    if node is None:
        return ()
    values = (
        [item.value if isinstance(item, Scalar) else None for item in node.items]
        if isinstance(node, Sequence)
        else [None]
    )
    strings = tuple(value for value in values if isinstance(value, str))
    if len(strings) != len(values):
        raise _wrong(config, key, "a list of strings")
    return strings


def _files(config: Config) -> tuple[str, ...]:
    names = _strings(config, "files")
    if not names:
        raise _wrong(config, "files", "a list of strings, at least one")
    return names


def _overrides(config: Config) -> tuple[str, ...]:
    words = _strings(config, "overrides")
    for word in words:
        try:
            key_and_text(word)
        except ValueError as error:
            raise _wrong(config, "overrides", f"a list of KEY=VALUE: {error}") from None
    return words


def _codes(config: Config, key: str) -> tuple[str, ...]:
    from effbatch_lint.rules.table import find as find_rule  # noqa: PLC0415 - few settings name rules

    codes = []
    for word in _strings(config, key):
        rule = find_rule(word)
        if rule is None:
            raise _wrong(config, key, f"a list of rule codes; {word} is none")
        codes.append(rule.code)
    return tuple(codes)


def _world_sizes(config: Config) -> tuple[Term, ...]:
    """``world-size = 64`` or ``world-size = [8, 64]``, each number at its place."""
    key = "world-size"
    node = config.node(key)
    if node is None:
        return ()
    items = node.items if isinstance(node, Sequence) else [node]
    sizes = []
    for item in items:
        value = item.value if isinstance(item, Scalar) else None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            break
        note = None if item.span is not None else f"{key} in the settings"
        sizes.append(Term(value, "declared", (Origin(item.span, key, note),), key=key))
    if not sizes or len(sizes) != len(items):
        raise _wrong(config, key, "a whole number above zero, or a list of them")
    return tuple(sizes)


def _wrong(config: Config, key: str, wanted: str) -> Unreadable:
    entry = config.entry(key)
    span = (entry.value.span if entry is not None else config.root.span) or Span(config.path, 1, 1, 1, 1)
    return Unreadable(span, f"the setting {config.prefix}{key} must be {wanted}")
