"""The values of ``${...}`` for a config: OmegaConf's interpolation (compose/interpolation.py) as a Config asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Unresolved
from effbatch_lint.compose.interpolation import Interpolations, Unresolvable

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

    from effbatch_lint.compose.config import Config, Resolver
    from effbatch_lint.documents.nodes import Mapping, Scalar
    from effbatch_lint.documents.scalars import Value
    from effbatch_lint.terms import Origin


def interpolating(root: Mapping, environment: AbstractMapping[str, str] | None = None, *, prefix: str = "") -> Resolver:
    """Gives scalars of the tree at ``root`` their values.

    ``environment`` holds the variables that the caller states. ``prefix`` is where ``root`` stands in the file
    (``parameters.``), which the keys of its values begin with.
    """
    interpolations = Interpolations(root, environment=environment)

    def resolver(_: Config, scalar: Scalar, key: str) -> tuple[Value | Unresolved, tuple[Origin, ...]]:
        path = tuple(key.removeprefix(prefix).split("."))
        try:
            found = interpolations.scalar(scalar, path)
        except Unresolvable as error:
            shown = f"{key} is {scalar.text}" if "${" in scalar.text else key
            return Unresolved(f"{shown}: {error.reason}"), ()
        if found.value is None or isinstance(found.value, (bool, int, float, str)):
            return found.value, found.origins
        return Unresolved(f"{key} is {scalar.text}, which is no single value"), found.origins

    return resolver
