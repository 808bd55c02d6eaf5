"""A declared target: what the effective batch is meant to be, and where that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.terms import Origin


class Target(NamedTuple):
    """A declaration.

    Attributes:
        value: the declared number, in ``unit``.
        unit: ``sequences``, ``tokens``, ...; None when the declaration names none.
        origin: where it stands.
        kind: ``pragma``, ``settings``, ``config``, ``argument``, ``remark``.
    """

    value: int
    unit: str | None
    origin: Origin
    kind: str
