"""The files of one call: each is read and parsed once, whoever asks."""

from __future__ import annotations

import os

from effbatch_lint.documents.document import Document, kind_of, parse
from effbatch_lint.source import Source, Span, Unreadable, decode, display, read_bytes


class Files:
    """Reads files below ``root`` (and the ``extra_roots``) for one call, and remembers them."""

    def __init__(self, root: str, extra_roots: tuple[str, ...] = (), base: str | None = None) -> None:
        self.root = os.path.realpath(root)
        self.roots = (self.root, *(os.path.realpath(extra) for extra in extra_roots))
        self.base = os.getcwd() if base is None else base
        self._bytes: dict[str, bytes] = {}
        self._documents: dict[str, Document | Unreadable] = {}

    @property
    def read(self) -> int:
        """How many files were read so far."""
        return len(self._bytes)

    def shown(self, path: str) -> str:
        """The path as a person sees it."""
        return display(path, self.base)

    def bytes(self, path: str) -> bytes:
        """The raw bytes of a file.

        Raises:
            Unreadable: see :func:`effbatch_lint.source.read_bytes`.
        """
        key = os.path.abspath(path)
        if key not in self._bytes:
            self._bytes[key] = read_bytes(key, self.roots, shown=self.shown(path))
        return self._bytes[key]

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

    def _parse(self, key: str) -> Document:
        shown = self.shown(key)
        kind = kind_of(key)
        data = self.bytes(key)
        if kind is None:
            raise Unreadable(Span(shown, 1, 1, 1, 1), "not a YAML, JSON or TOML file (by its ending)")
        return parse(Source(shown, key, decode(data, shown)), kind)
