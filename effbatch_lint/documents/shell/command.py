"""A command that the script would start, with everything that decides what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from effbatch_lint.documents.shell.state import Condition
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.source import Span


class Command(NamedTuple):
    """One command line after expansion.

    Attributes:
        words: the program and its arguments.
        environment: the variables that it is started with, as far as the script or its caller set them.
        span: where the line begins.
        script: the file that holds it.
        conditions: what must hold for it to run, and cannot be decided here.
        stdin: what is fed to it, when the script says so (a here-document).
        directory: the folder in which it runs; None when that is where the script was started.
        files: the files that the script has written so far, by the name it uses.
        background: whether the script goes on while it runs (``&``).
    """

    words: tuple[Text, ...]
    environment: Mapping[str, Text]
    span: Span | None
    script: str
    conditions: tuple[Condition, ...] = ()
    stdin: Text | None = None
    directory: Text | None = None
    files: Mapping[str, Text] = {}
    background: bool = False

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return self.words[0].display.rpartition("/")[2] if self.words else ""
