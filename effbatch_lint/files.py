"""The files of one call: each is read and parsed once, whoever asks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.documents.document import Document, kind_of, parse
from effbatch_lint.source import MAX_PARSED, Source, Span, Unreadable, decode, display, inside, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.documents.pragmas import Pragmas


class Files:
    """Reads files below its roots for one call, and remembers them; the first root is the project's own.

    ``rules`` are the codes that an ignore comment may name; without them any code of their form.
    """

    def __init__(self, *roots: str, base: str | None = None, rules: frozenset[str] | None = None) -> None:
        self.roots = tuple(os.path.realpath(root) for root in roots)
        self.rules = rules
        self.base = os.getcwd() if base is None else base
        self._bytes: dict[str, bytes] = {}
        self._documents: dict[str, Document | Unreadable] = {}
        self._pragmas: dict[str, Pragmas] = {}
        self._lines: dict[str, list[str]] = {}
        self._folders: dict[str, str] = {}

    @property
    def root(self) -> str:
        """The project's folder."""
        return self.roots[0]

    @property
    def read(self) -> int:
        """How many files were read so far."""
        return len(self._bytes)

    @property
    def documents(self) -> list[Document]:
        """Every file that was parsed, in the order of reading."""
        return [known for known in self._documents.values() if isinstance(known, Document)]

    def parsed(self, shown: str) -> Document | None:
        """The parsed file that a person sees under this path, if it was asked for."""
        known = self._documents.get(os.path.join(self.base, shown))
        return known if isinstance(known, Document) else None

    def parsed_of(self, shown: Iterable[str]) -> tuple[Document, ...]:
        """Those of the files that a person sees under these paths which were parsed."""
        return tuple(document for path in shown if (document := self.parsed(path)) is not None)

    def shown(self, path: str) -> str:
        """The path as a person sees it."""
        return display(path, self.base)

    def real(self, path: str) -> str:
        """The path without links; a folder is resolved once for all its files."""
        if os.path.islink(path):
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return os.path.join(self._folders[folder], name)

    def holds(self, path: str) -> bool:
        """Whether a file lies below the roots, wherever links lead."""
        return inside(self.real(path), self.roots)

    def _bytes_of(self, path: str, shown: str) -> bytes:
        return read_bytes(path, shown=shown, allowed="\0" in path or self.holds(path))

    def content(self, path: str) -> bytes:
        """The bytes of a file, in UTF-8 where it was in UTF-16 with a mark: whoever looks for a word finds it.

        Raises:
            Unreadable: see :func:`effbatch_lint.source.read_bytes`.
        """
        key = os.path.abspath(path)
        if key not in self._bytes:
            data = self._bytes_of(key, self.shown(path))
            self._bytes[key] = _utf8(data) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data
        return self._bytes[key]

    def quietly(self, path: str) -> bytes | None:
        """The raw bytes of a file found in a folder; None when it is too large to be a config, or cannot be opened.

        Raises:
            Unreadable: a link that leaves the project.
        """
        try:
            return self.content(path)
        except Unreadable as error:
            if "outside the project" in error.reason:
                raise
            return None

    def peek(self, path: str) -> bytes | None:
        """The bytes of a file that is only looked through, and not remembered; None when it cannot be read."""
        key = os.path.abspath(path)
        if key in self._bytes:
            return self._bytes[key]
        try:
            return self._bytes_of(key, path)
        except Unreadable:
            return None

    def refuse_hostile(self, path: str) -> None:
        """Refuse a file that is no training config when it breaks a limit; its syntax is nobody's business here.

        One that is only large (a tokenizer, a data set) is left alone: a hook is handed all of a project's files.

        Raises:
            Unreadable: bytes that are no text, nesting or aliases over the limit.
        """
        try:
            if kind_of(path) is not None and len(self.content(path)) <= MAX_PARSED:
                self.document(path)
        except Unreadable as error:
            if error.limit:
                raise

    def pragmas(self, document: Document) -> Pragmas:
        """What the comments of a parsed file say to this tool."""
        from effbatch_lint.documents.pragmas import read_pragmas  # noqa: PLC0415 - few files hold a pragma

        key = document.source.real
        if key not in self._pragmas:
            self._pragmas[key] = read_pragmas(document.source, document.kind, self.rules)
        return self._pragmas[key]

    def quietly_parsed(self, path: str) -> Document | None:
        """The parsed file; None when it cannot be read here."""
        try:
            return self.document(path)
        except Unreadable:
            return None

    def line(self, shown: str, number: int) -> str:
        """A line of a file, for a snippet; empty when the file cannot be read."""
        if shown not in self._lines:
            found = self.parsed(shown)
            text = found.source.text if found else _text_of_any(self._of_any(os.path.join(self.base, shown), shown))
            self._lines[shown] = text.split("\n")
        lines = self._lines[shown]
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""

    def _of_any(self, key: str, shown: str) -> bytes:
        """The bytes of a file, also of one that was never asked for: a finding may point into the settings."""
        try:
            return self._bytes.get(key) or self._bytes_of(key, shown)
        except Unreadable:
            return b""

    def document(self, path: str) -> Document:
        """The parsed file.

        Raises:
            Unreadable: it cannot be read or parsed; the same error each time it is asked for.
        """
        key = os.path.abspath(path)
        known = self._documents.get(key)
        if known is None:
            try:
                known = self._parse(key)
            except Unreadable as error:
                known = error
            self._documents[key] = known
        if isinstance(known, Unreadable):
            raise known
        return known

    def kind(self, path: str) -> str | None:
        """The format of a file: by its ending, else JSON when it begins like an object (``stage3.conf``)."""
        kind = kind_of(path)
        return kind if kind is not None or not self.content(path)[:64].lstrip().startswith(b"{") else "json"

    def _parse(self, key: str) -> Document:
        shown = self.shown(key)
        data = self.content(key)
        kind = self.kind(key)
        if kind is None:
            raise Unreadable(Span(shown, 1, 1, 1, 1), "not a YAML, JSON, TOML or shell file (by its ending)")
        if len(data) > MAX_PARSED:
            reason = f"the file is {len(data):,} bytes large, over the limit of {MAX_PARSED:,} bytes for a config"
            raise Unreadable(Span(shown, 1, 1, 1, 1), reason)
        return parse(Source(shown, key, decode(data, shown)), kind)


def _utf8(data: bytes) -> bytes:
    """The bytes of a UTF-16 file in UTF-8; as they are where it is broken, which is said by whoever parses it."""
    try:
        return data.decode("utf-16").encode()
    except UnicodeDecodeError:
        return data


def _text_of_any(data: bytes) -> str:
    """The text of a file, also of one that is refused."""
    try:
        return decode(data, "")
    except Unreadable:
        return data.decode("utf-8", "replace")
