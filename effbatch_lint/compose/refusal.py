"""EB902: Hydra would refuse to compose, for a reason of its own, at a place. And notes, which refuse nothing."""

from __future__ import annotations

from typing import NamedTuple

from effbatch_lint.source import Span, Unreadable

# The place of what stands in no file: an override of the command line. compose() points it at the primary config.
NOWHERE = Span("<overrides>", 1, 1, 1, 1)
# How Hydra begins to say that an option of a group must be chosen.
OPEN_CHOICE = "You must specify '"


def refusal(span: Span | None, reason: str, help: str | None = None) -> Unreadable:
    """The error to raise at a place; without one, at the command line."""
    return Unreadable(span or NOWHERE, reason, code="EB902", help=help)


def open_choice(error: Unreadable) -> str | None:
    """The key of the group of which an option must be chosen, when that is why Hydra refuses."""
    return error.reason.removeprefix(OPEN_CHOICE).partition("'")[0] if error.reason.startswith(OPEN_CHOICE) else None


class Note(NamedTuple):
    """Something that a person should know: a search path entry that is not read, a rule of Hydra 1.4 that is broken."""

    span: Span | None
    message: str
