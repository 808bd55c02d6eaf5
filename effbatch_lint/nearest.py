"""A word that does not exist -> the one that was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_LENGTH = 80  # a longer word is no typing error, and comparing takes the product of the lengths


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that is spelled most like this one, whatever its case and its dashes; None when none is like it.

    ``likeness`` is twice the letters that the two share, over the letters of both.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only for a typing error

    if len(word) > _MAX_LENGTH:
        return None
    spelled = {_plain(each): each for each in known}
    near = get_close_matches(_plain(word), spelled, 1, likeness)
    return spelled[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """``did you mean target?``, or what to say where no known word is like it."""
    near = nearest(word, known)
    return otherwise if near is None else f"did you mean {near}?"


def _plain(word: str) -> str:
    return word.lower().replace("_", "-")
