"""A file's text, and places in it.

Everything that reads a file of the project goes through :func:`read_source`: it is the one place that refuses
directories, devices, files that are too large, and files that lie outside the project.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

# A file over MAX_BYTES is not even opened to see whether it is a config. The largest public training config seen is
# under 200 kB; one over MAX_PARSED that holds a framework's keys is refused rather than parsed for seconds.
MAX_BYTES = 16_000_000
MAX_PARSED = 2_000_000
# No config is nested a dozen deep; whoever walks a tree may recurse.
MAX_DEPTH = 100


class Span(NamedTuple):
    """A stretch of a file: 1-based lines and columns, the end exclusive, columns counted in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def where(self) -> str:
        """The place as a person writes it: ``conf/train.yaml:12``."""
        return f"{self.path}:{self.line}"


class Unreadable(Exception):
    """A file that cannot be read or parsed: the rule EB901 (or EB902), its place and the reason."""

    def __init__(self, span: Span, reason: str, code: str = "EB901", help: str | None = None) -> None:
        super().__init__(f"{span.where}: {reason}")
        self.span = span
        self.reason = reason
        self.code = code
        self.help = help

    def advised(self, help: str) -> Unreadable:
        """The same, with what to do about it."""
        return Unreadable(self.span, self.reason, self.code, help)

    def at(self, span: Span) -> Unreadable:
        """The same, at another place."""
        return Unreadable(span, self.reason, self.code, self.help)

    @property
    def limit(self) -> bool:
        """Whether the file broke a limit or is no text at all, rather than the syntax of its format."""
        return not self.reason.startswith("not valid ")


class Source(NamedTuple):
    """A file that was read. ``path`` is what a person sees, ``real`` the absolute path."""

    path: str
    real: str
    text: str

    def span(self, line: int = 1, column: int = 1, length: int = 1) -> Span:
        """A stretch of ``length`` characters on one line."""
        return Span(self.path, line, column, line, column + length)

    def line(self, number: int) -> str:
        """The text of a line (1-based) without its line ending; empty past the end."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""


def display(path: str, base: str | None = None) -> str:
    """The path as shown: relative to ``base`` (the working directory) when it lies below it, else as given."""
    base = os.getcwd() if base is None else base
    absolute = os.path.abspath(path)
    if absolute.startswith(base.rstrip(os.sep) + os.sep):
        return absolute[len(base.rstrip(os.sep)) + 1 :]
    return path


def inside(real: str, roots: tuple[str, ...]) -> bool:
    """Whether a resolved path lies in one of the resolved folders."""
    return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def read_bytes(path: str, *, shown: str, allowed: bool = True) -> bytes:
    """The bytes of a regular file; ``allowed`` is whether its real path lies in the project.

    Raises:
        Unreadable: the file is missing, no regular file, too large, or its real path leaves the roots.
    """
    at = Span(shown, 1, 1, 1, 1)
    if "\0" in path:
        raise Unreadable(at, "the file cannot be opened: there is a NUL in its name")
    if not allowed:
        raise Unreadable(
            at,
            "the file lies outside the project, and is not read",
            help='name its folder in the settings: extra-roots = ["..."]',
        )
    try:
        # O_NONBLOCK: opening a FIFO that nobody writes to must not hang the hook.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise Unreadable(at, f"the file cannot be opened: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable(at, "a directory, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(at, "not a regular file (a pipe, device or socket), and is not read")
        if status.st_size > MAX_BYTES:
            raise Unreadable(at, f"the file is {status.st_size:,} bytes large, over the limit of {MAX_BYTES:,} bytes")
        data = os.read(descriptor, status.st_size + 1)
    except OSError as error:
        raise Unreadable(at, f"the file cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    return data


def decode(data: bytes, shown: str) -> str:
    """The text of a file: UTF-8, or UTF-16 with a byte-order mark, the mark dropped.

    A line ends with LF or CRLF. A CR alone, which YAML and old editors take for a line's end, is made an LF.

    Raises:
        Unreadable: bytes that are no UTF-8, or a NUL, at their line and column.
    """
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(encoding, "replace")
        raise Unreadable(
            _after(before, shown),
            f"byte 0x{error.object[error.start]:02x}: the text is not {encoding.removesuffix('-sig').upper()}",
        ) from None
    nul = text.find("\0")
    if nul >= 0:
        raise Unreadable(_after(text[:nul], shown), "a NUL character: this is no text file")
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        text = "\r\n".join(part.replace("\r", "\n") for part in text.split("\r\n"))
    return text


def _after(before: str, shown: str) -> Span:
    """The place of the character that follows the text."""
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return Span(shown, line, column, line, column + 1)
