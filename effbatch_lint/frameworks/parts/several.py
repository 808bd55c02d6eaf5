"""A key that takes several numbers: ``--sizes 256 128 64``, or a list in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Scalar, Sequence
from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


def several(config: Config, key: str) -> tuple[Term, ...]:
    """The numbers at ``key``, in order; none when it is absent. What is no whole number is an unknown."""
    if not config.has(key):
        return ()
    node, origin = config.node(key), config.origin(key)
    where = (origin,) if origin is not None else ()
    if isinstance(node, Sequence):
        words = [item.text if isinstance(item, Scalar) else "a list or mapping" for item in node.items]
    else:
        text = config.text(key)
        if text is None:
            return (config.integer(key),)  # what is not known says why
        words = text.split()
    return tuple(
        Term(int(word), "read", where, None, None, key)
        if word.isdecimal() and len(word) < 20  # noqa: PLR2004 - no batch has twenty digits
        else unknown(f"{key}: {word} is no whole number", *where, key=key)
        for word in words
    )
