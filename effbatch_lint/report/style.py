"""Colours, or none: the same words either way."""

from __future__ import annotations

from typing import NamedTuple


class Style(NamedTuple):
    """The escape sequences in use; all empty without colour."""

    bold: str = ""
    red: str = ""
    yellow: str = ""
    blue: str = ""
    green: str = ""
    reset: str = ""

    def severity(self, severity: str) -> str:
        """The colour of a severity."""
        return {"error": self.red, "warning": self.yellow}.get(severity, self.blue)


PLAIN = Style()
COLOURED = Style("\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1;32m", "\x1b[0m")


def printable(text: str) -> str:
    """One line of text with every control character escaped: a file's content must not drive the terminal.

    Line feeds too: a key that holds one would else begin a line of its own, which may look like a finding.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return "    " if char == "\t" else char.encode("unicode_escape").decode("ascii")


def width(text: str) -> int:
    """The columns that a text takes on a terminal: wide East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - most configs are ASCII

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def plural(count: int, noun: str) -> str:
    """``1 error``, ``3 errors``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
