"""A declared target: what the effective batch is meant to be, and where that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.targets.quantity import Quantity
    from effbatch_lint.terms import Number, Origin


class Target(NamedTuple):
    """A declaration.

    Attributes:
        quantity: the declared number at its own precision, with its unit when it names one.
        origin: where it stands.
        kind: ``pragma``, ``settings``, ``config`` or ``argument``.
        tolerance: how far the batch may be from it, as a fraction of it.
    """

    quantity: Quantity
    origin: Origin
    kind: str
    tolerance: float = 0.0

    @property
    def number(self) -> str:
        """The declared number as a person reads it: ``2,048``, ``8M``."""
        return f"{self.quantity.value:,}" if self.quantity.text.isdecimal() else self.quantity.text

    def words(self, unit: str) -> str:
        """The declaration with its unit, or with ``unit`` where it names none: ``2,048 sequences``, ``8M tokens``."""
        named = self.quantity.unit or unit
        return f"{self.number} {named.removesuffix('s') if self.number == '1' else named}"

    @property
    def place(self) -> str:
        """Where it is declared: ``conf/train.yaml:3``, ``--target 2048``."""
        return self.origin.span.where if self.origin.span is not None else self.origin.note or self.kind

    def met_by(self, number: Number) -> bool:
        """Whether the number is the declared one, at the declaration's precision and within its tolerance."""
        if self.quantity.meets(number):
            return True
        room = self.tolerance * self.quantity.value
        return -room <= number - self.quantity.value <= room
