"""Hydra's command-line words: ``k=v``, ``+k=v``, ``++k=v``, ``~k``, ``group=option``, ``group@package=option``.

Source: hydra/grammar/OverrideParser.g4 (1.3), rule ``override``. What the word *does* depends on the tree: ``k=v`` is
a choice of an option where the search path has a folder ``k``, and a value otherwise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from effbatch_lint.compose import override_values
from effbatch_lint.compose.sweeps import SWEEPS, Element

if TYPE_CHECKING:
    from effbatch_lint.source import Span

Action = Literal["change", "add", "force-add", "delete"]

_ACTIONS: dict[str, Action] = {"": "change", "+": "add", "++": "force-add", "~": "delete"}
_SPECIAL = r"[a-zA-Z_$][\w$-]*"
_PATH = rf"(?:{_SPECIAL}|0|[1-9](?:_?[0-9])*)"
_PACKAGE = rf"(?:{_PATH}(?:\.{_PATH})+|{_SPECIAL}|)"
_GROUP = rf"{override_values.ID}(?:/{override_values.ID})+"
_WORD = rf"(?P<action>\+\+?|~|)(?P<key>{_GROUP}|{_PACKAGE})(?:@(?P<package>{_PACKAGE}))?"


class Word(NamedTuple):
    """An override as it was given, and where: in a launch script, or nowhere (the command line of this tool).

    ``unknown`` says why its value is not the one that is written: a sweeper tries many. ``anyway`` marks a question of
    this tool's user and no line of a script: ``k=v`` sets ``k`` also where the files do not have it.
    """

    text: str
    span: Span | None = None
    unknown: str | None = None
    anyway: bool = False


class Override(NamedTuple):
    """A parsed override. ``given`` tells ``~k=v`` from ``~k``."""

    action: Action
    key: str
    package: str | None
    value: Element
    word: Word
    given: bool = True

    @property
    def sweeps(self) -> bool:
        """Whether it stands for several values."""
        return isinstance(self.value, SWEEPS)

    @property
    def of_hydra(self) -> bool:
        """Whether it sets Hydra itself and not the program's configuration."""
        return self.key.startswith(("hydra.", "hydra/"))

    @property
    def choice_key(self) -> str:
        """The key of a choice in the defaults list: ``optim@actor.optim``."""
        return self.key if self.package is None else f"{self.key}@{self.package}"

    @property
    def full_key(self) -> str:
        """The left-hand side as it was written."""
        sign = next(sign for sign, action in _ACTIONS.items() if action == self.action)
        return sign + self.choice_key


def parse(word: Word | str) -> Override:
    """The override that a word spells.

    Raises:
        ValueError: the grammar refuses it; the message says what is wrong.
    """
    word = Word(word) if isinstance(word, str) else word
    left, equals, right = word.text.partition("=")
    found = re.fullmatch(_WORD, left, re.ASCII)
    if found is None:
        raise ValueError(f"'{word.text}' is no override: the key {left!r} is not KEY, GROUP/KEY or GROUP@PACKAGE")
    action = _ACTIONS[found["action"]]
    if not equals and action != "delete":
        raise ValueError(f"'{word.text}' is no override: it has no '='")
    try:
        value = override_values.parse(right) if equals else None
    except ValueError as error:
        raise ValueError(f"'{word.text}' is no override: {error}") from None
    return Override(action, found["key"], found["package"], value, word, given=bool(equals))
