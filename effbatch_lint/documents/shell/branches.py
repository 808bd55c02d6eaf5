"""Several possible runs: told apart, put together again, and kept few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, unknowable

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.state import State, Value

# Ten conditions that nobody can decide would be a thousand runs.
MAX_STATES = 12


def settled(states: list[State]) -> list[State]:
    """The runs without those that cannot be told apart; past the limit the later ones become one, full of doubt.

    A run that has ended, or leaves a loop, never stands for one that goes on: each kind has a limit of its own.
    """
    if len(states) < 2:  # noqa: PLR2004 - nothing to compare
        return states
    kept: list[State] = []
    for state in states:
        twin = next((other for other in kept if other.same(state)), None)
        if twin is None:
            kept.append(state)
        else:
            twin.conditions = _common(twin, state)
    if len(kept) <= MAX_STATES:
        return kept
    kinds: dict[str | None, list[State]] = {}
    for state in kept:
        kinds.setdefault(state.signal, []).append(state)
    return [state for kind in kinds.values() for state in _few(kind)]


def _few(states: list[State]) -> list[State]:
    """The runs of one kind, few enough to go on with."""
    if len(states) <= MAX_STATES:
        return states
    first, last, *others = states
    for state in others:
        blur(last, state, "it depends on conditions that are not known")
    return [first, last]


def _common(first: State, second: State) -> tuple:  # type: ignore[type-arg] # of Condition
    size = 0
    for one, other in zip(first.conditions, second.conditions, strict=False):
        if one != other:
            break
        size += 1
    return first.conditions[:size]


def blur(state: State, other: State, reason: str) -> None:
    """Make ``state`` stand for both runs: what differs between them is not known."""
    for name in {*state.variables, *other.variables}:
        if state.value(name) != other.value(name):
            state.variables[name] = unknowable(f"${name}", reason, *_spans(state.value(name)))
    for name in {*state.files, *other.files}:
        if state.files.get(name) != other.files.get(name):
            state.files[name] = unknowable(name, reason)
    if state.arguments != other.arguments:
        state.arguments = None
    if state.captured != other.captured:
        state.captured = [unknowable("...", reason)]
    if state.directory != other.directory:
        state.directory = unknowable("$PWD", reason)
    state.functions = {**other.functions, **state.functions}
    state.conditions = _common(state, other)


def _spans(value: Value) -> tuple:  # type: ignore[type-arg] # of Span
    return value.spans if isinstance(value, Text) else ()
