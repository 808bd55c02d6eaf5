"""The settings file -> settings: every key is checked against what exists, every value against its kind.

A key that does not exist is an EB905 at its line; a value of the wrong kind ends the run (exit status 2): settings
that are half understood guard nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping

from effbatch_lint.compose.config import Config, from_mapping
from effbatch_lint.documents import toml
from effbatch_lint.documents.nodes import Mapping, Node, Scalar, Sequence
from effbatch_lint.findings import Misdeclared
from effbatch_lint.nearest import did_you_mean, nearest
from effbatch_lint.settings.records import RecipeSettings, Settings
from effbatch_lint.settings.values import (
    choice,
    codes,
    files,
    overrides,
    string,
    strings,
    tolerance,
    world_sizes,
    wrong,
)
from effbatch_lint.source import Source, decode, display, read_bytes
from effbatch_lint.targets.quantity import UNITS, parse_quantity, unit_named
from effbatch_lint.targets.target import Target
from effbatch_lint.terms import Origin

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
    source = Source(shown, os.path.abspath(path), decode(read_bytes(path, shown=shown), shown))
    config = Config(_mapping(toml.parse(source)[0]), shown)
    if os.path.basename(path) == "pyproject.toml":
        if config.node("tool.effbatch-lint") is None:
            return Settings(os.path.dirname(os.path.abspath(path)), shown, unknown=tuple(_misspelled(config)))
        section = config.section("tool.effbatch-lint")
        if section is None:
            raise wrong(config, "tool.effbatch-lint", "a table")
        config = section.over(section.root)
    return _read(config, os.path.dirname(os.path.abspath(path)), shown)


def from_python(data: AbstractMapping[str, object], folder: str) -> Settings:
    """The settings from a mapping with the same keys (the Python API)."""
    return _read(from_mapping(data, "<settings>"), folder, None)


def _misspelled(config: Config) -> Iterator[Misdeclared]:
    """A table of ``[tool]`` that was meant to be this tool's."""
    tools = config.section("tool")
    for key, entry in tools.root.entries.items() if tools is not None else ():
        if nearest(key, ("effbatch-lint", "effbatch"), 0.8) is not None:
            yield Misdeclared(entry.span, f"tool.{key} is no table of this tool", "did you mean tool.effbatch-lint?")


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
                files=tuple(os.path.join(folder, name) for name in files(item)),
                name=string(item, "name"),
                overrides=overrides(item),
                world_sizes=world_sizes(item),
                targets=_targets(item),
                framework=string(item, "framework"),
                span=origin.span if (origin := item.origin("files")) is not None else item.root.span,
            )
        )
    ignores = config.section("per-file-ignores")
    if ignores is None and config.node("per-file-ignores") is not None:
        raise wrong(config, "per-file-ignores", "a table of globs, each with a list of rule codes")
    return Settings(
        folder=folder,
        path=path,
        targets=_targets(config),
        world_sizes=world_sizes(config),
        framework=string(config, "framework"),
        exclude=strings(config, "exclude"),
        extra_roots=tuple(os.path.join(folder, name) for name in strings(config, "extra-roots")),
        ignore=frozenset(codes(config, "ignore")),
        extend_select=frozenset(codes(config, "extend-select")),
        per_file_ignores=tuple((name, frozenset(codes(ignores, name))) for name in ignores.root.entries)
        if ignores is not None
        else (),
        fail_on=choice(config, "fail-on", ("error", "warning", "info"), "error"),
        recipes=tuple(recipes),
        custom=tuple(_customs(config)),
        unknown=tuple(unknown),
        search_path=tuple(os.path.join(folder, name) for name in strings(config, "search-path")),
        resolvers=tuple(_resolvers(config)),
    )


def _resolvers(config: Config) -> Iterator[tuple[str, str]]:
    """``resolvers = {int_div = "divide_floor"}``: a known operation or a lambda for each resolver."""
    section = config.section("resolvers")
    if section is None:
        if config.node("resolvers") is not None:
            raise wrong(config, "resolvers", "a table of resolvers, each with an operation")
        return
    from effbatch_lint.compose.user_resolvers import operation_named  # noqa: PLC0415 - few projects have their own

    for name in section.root.entries:
        text = string(section, name)
        assert text is not None
        try:
            operation_named(text)
        except ValueError as error:
            raise wrong(section, name, f"an operation: {error}") from None
        yield name, text


def _unknown(config: Config, known: tuple[str, ...]) -> list[Misdeclared]:
    return [
        Misdeclared(
            entry.span,
            f"{config.prefix}{key} is no setting",
            did_you_mean(key, known, f"there are {', '.join(known)}"),
        )
        for key, entry in config.root.entries.items()
        if key not in known
    ]


def _tables(config: Config, key: str) -> list[Config]:
    node = config.node(key)
    if node is None:
        return []
    if not isinstance(node, Sequence) or not all(isinstance(item, Mapping) for item in node.items):
        raise wrong(config, key, "a list of tables: [[recipes]]")
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
        raise wrong(config, "custom", "a table, or a table for each trainer")
    return [config.over(_mapping(part), prefix) for prefix, part in parts]


def _targets(config: Config) -> tuple[Target, ...]:
    """``target = 2048``, ``target = {sequences = 2048}``, ``target = {tokens = "8M"}``, ``tokens = "8M"``."""
    share = tolerance(config)
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
            raise wrong(config, key, 'a number with or without a unit: 2048, "2048 sequences", {tokens = "8M"}')
        named = unit and unit_named(unit)
        if unit is not None and (named is None or quantity.unit not in (unit, named)):
            raise wrong(config, key, f"a number of {named or ', '.join(UNITS)}")
        note = None if value.span is not None else f"{key} in the settings"
        targets.append(
            Target(quantity._replace(unit=named or quantity.unit), Origin(value.span, key, note), "settings", share)
        )
    return tuple(targets)
