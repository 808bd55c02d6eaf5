"""EB902: Hydra would refuse to compose, for a reason of its own, at a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.source import Span, Unreadable

if TYPE_CHECKING:
    from effbatch_lint.documents.nodes import Node


def refusal(span: Span | None, reason: str, help: str | None = None) -> Unreadable:
    """The error to raise; without a place (an override of the command line) it points at nothing but says what."""
    return Unreadable(span or Span("<overrides>", 1, 1, 1, 1), reason, code="EB902", help=help)


def kind_of(node: Node) -> str:
    """What a person calls a node."""
    return {"Mapping": "a mapping", "Sequence": "a list"}.get(type(node).__name__, "a value")
