"""A launch's arguments as a configuration: flags and ``key=value`` words with the places that wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Config, Unresolved
from effbatch_lint.documents.nodes import Computed, Entry, Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.launch import Argument, Launch


def config(launch: Launch, path: str | None = None) -> Config:
    """The program's arguments as a flat configuration: one key per flag or ``key=value`` word, as it is spelled.

    A bare flag is true. A word that is not known is an unresolved value with its reason; a flag that stands twice
    keeps the earlier value as what it replaced. Positional words are left out.
    """
    shown = path or launch.script or "<command line>"
    return Config(mapping(launch.arguments), shown, "pyyaml", files=[shown])


def mapping(arguments: Iterable[Argument]) -> Mapping:
    """The arguments as a mapping node."""
    entries: dict[str, Entry] = {}
    duplicates: list[Entry] = []
    for argument in arguments:
        if not argument.name:
            continue
        old = entries.pop(argument.name, None)
        previous = () if old is None else (Entry(old.key, old.span, old.value, (), old.note), *old.previous)
        if old is not None:
            duplicates.append(old)
        span = next((origin.span for origin in argument.origins if origin.span is not None), None)
        entries[argument.name] = Entry(argument.name, span, _scalar(argument), previous, argument.note)
    return Mapping(lambda: (entries, duplicates), None)


def _scalar(argument: Argument) -> Scalar:
    spans = [origin.span for origin in argument.origins if origin.span is not None]
    span = next(iter(spans), None)
    if argument.text is None:
        return Scalar("true", span, value=True)
    if argument.reason is not None:
        return Scalar(argument.text, span, value=Unresolved(f"{argument.text}: {argument.reason}"))
    return Computed(argument.text, span, tuple(spans[1:])) if spans[1:] else Scalar(argument.text, span)
