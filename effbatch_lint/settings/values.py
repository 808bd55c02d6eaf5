"""The value of one setting, of the kind that its key must have; any other is Unreadable, at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.merge import key_and_text
from effbatch_lint.documents.nodes import Scalar, Sequence
from effbatch_lint.source import Span, Unreadable
from effbatch_lint.terms import Origin, Term

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


def tolerance(config: Config) -> float:
    """``tolerance = 0.01`` or ``"1%"``: a share of the target; nothing of it where none is given."""
    if config.node("tolerance") is None:
        return 0.0
    value = config.value("tolerance")
    if isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isdecimal():
        value = float(value[:-1]) / 100
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    raise wrong(config, "tolerance", 'a share of the target: 0.01 or "1%"')


def string(config: Config, key: str) -> str | None:
    """A string, or None where the key is absent."""
    value = config.value(key)
    if config.node(key) is None:
        return None
    if not isinstance(value, str):
        raise wrong(config, key, "a string")
    return value


def choice(config: Config, key: str, choices: tuple[str, ...], default: str) -> str:
    """One of several words."""
    value = string(config, key)
    if value is not None and value not in choices:
        raise wrong(config, key, f"one of {', '.join(choices)}")
    return value or default


def strings(config: Config, key: str) -> tuple[str, ...]:
    """A list of strings; empty where the key is absent."""
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
        raise wrong(config, key, "a list of strings")
    return strings


def files(config: Config) -> tuple[str, ...]:
    """``files``: paths from the settings' folder, at least one."""
    names = strings(config, "files")
    if not names:
        raise wrong(config, "files", "a list of strings, at least one")
    return names


def overrides(config: Config) -> tuple[str, ...]:
    """``overrides``: a list of KEY=VALUE in the framework's spelling."""
    words = strings(config, "overrides")
    for word in words:
        try:
            key_and_text(word)
        except ValueError as error:
            raise wrong(config, "overrides", f"a list of KEY=VALUE: {error}") from None
    return words


def codes(config: Config, key: str) -> tuple[str, ...]:
    """Rules by code or by name; their codes."""
    from effbatch_lint.rules.table import find as find_rule  # noqa: PLC0415 - few settings name rules

    codes = []
    for word in strings(config, key):
        rule = find_rule(word)
        if rule is None:
            raise wrong(config, key, f"a list of rule codes; {word} is none")
        codes.append(rule.code)
    return tuple(codes)


def world_sizes(config: Config) -> tuple[Term, ...]:
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
        raise wrong(config, key, "a whole number above zero, or a list of them")
    return tuple(sizes)


def wrong(config: Config, key: str, wanted: str) -> Unreadable:
    """What to raise for a value of the wrong kind, at its place."""
    entry = config.entry(key)
    span = (entry.value.span if entry is not None else config.root.span) or Span(config.path, 1, 1, 1, 1)
    return Unreadable(span, f"the setting {config.prefix}{key} must be {wanted}")
