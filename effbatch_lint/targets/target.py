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
    def words(self) -> str:
        """The declaration as a person reads it: ``2,048 sequences``, ``8M tokens``."""
        unit = self.quantity.unit
        return f"{self.quantity.text} {unit}" if unit else self.quantity.text

    @property
    def place(self) -> str:
        """Where it is declared: ``conf/train.yaml:3``, ``--target 2048``."""
        return self.origin.span.where if self.origin.span is not None else self.origin.note or self.kind

    def met_by(self, number: Number) -> bool:
        """Whether the number is the declared one, at the declaration's precision and within its tolerance."""
        if self.quantity.meets(number):
            return True
        return abs(float(number) - self.quantity.value) <= self.tolerance * self.quantity.value
