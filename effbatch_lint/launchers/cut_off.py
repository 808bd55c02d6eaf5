r"""Flags that a launch line lost: ``--micro-batch-size 4 \  # a comment`` ends the line, and what follows is a command.

Bash looks for a program of the flag's name, does not find it, and goes on; the training has started without the flags.
Source: the bash manual, "Escape Character": a backslash continues the line only when the newline follows it at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.documents.shell.command import Command
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.launch import Launch
    from effbatch_lint.source import Span

# No program is called so.
_FLAG = re.compile(r"--[A-Za-z]")


def cut_off(found: list[Launch], commands: Sequence[Command]) -> list[Launch]:
    """The launches of a script, each with the first flag that its line lost."""
    flags = [(command.span, command.words[0]) for command in commands if _FLAG.match(command.name)]
    lost: dict[Span, Text] = {}
    for span, word in flags:
        line = _before(span, found)
        if line is not None:
            lost.setdefault(line, word)
    return [launch._replace(cut_off=lost[launch.span]) if launch.span in lost else launch for launch in found]


def _before(span: Span | None, found: list[Launch]) -> Span | None:
    """Where the nearest launch line above a place begins, in the same file."""
    lines = [launch.span for launch in found if launch.span is not None]
    above = [line for line in lines if span is not None and line.path == span.path and line.line < span.line]
    return max(above, key=lambda line: line.line, default=None)
