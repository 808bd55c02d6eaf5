"""Where the value of an unquoted expansion falls apart into words.

Source: the bash manual, section "Word Splitting".
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.state import State


def separators(state: State) -> str:
    """The characters at which unquoted values fall apart."""
    held = state.variables.get("IFS")
    return held.chars if isinstance(held, Text) and held.known else " \t\n"


def split(text: Text, state: State) -> list[Text | None]:
    """An unquoted value at its blanks; None for an empty end, so that a blank beside a word ends that word."""
    blanks = separators(state)
    if not text:
        return [None]
    if not any(blank in text.chars for blank in blanks):
        return [text]
    parts: list[Text | None] = []
    start = 0
    for found in _delimiter(blanks).finditer(text.chars):
        part = text.slice(start, found.start())
        # Between two commas stands an empty word, beside a blank none.
        parts.append(part if part or found[0].strip(" \t\n") else None)
        start = found.end()
    parts.append(text.slice(start) or None)
    return parts


@cache
def _delimiter(blanks: str) -> re.Pattern[str]:
    """What ends a word: a run of white space, or one other separator with the white space around it."""
    white = "".join(re.escape(blank) for blank in blanks if blank in " \t\n")
    other = "".join(re.escape(blank) for blank in blanks if blank not in " \t\n")
    run = f"[{white}]" if white else ""
    return re.compile(f"{run}*[{other}]{run}*|{run}+" if other and run else f"[{other}]" if other else f"{run}+")
