"""Text that knows where each of its characters was written, and which of them nobody can know.

A shell word is put together from many places: ``--nnodes=$N`` has its flag on one line and its number on another.
A :class:`Text` is a sequence of pieces, each with its place. What cannot be known without running the script
(``$(nproc)``, ``$1``) is a piece with a reason, one character wide for whoever scans the text: it is never lost, so
that a flag with an unknown value is never mistaken for an absent flag.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

# Stands for an unknown piece in `Text.chars`; from the private-use area, so that no scanner takes it for syntax.
MARK = "\uf8fe"

# A script that doubles a variable thirty times must not cost a gigabyte.
MAX_CHARACTERS = 1_000_000


class TooLong(Exception):
    """A text over the limit."""


class Piece(NamedTuple):
    """A stretch of text with one history.

    Attributes:
        text: the characters; for an unknown piece what stands in the script instead (``$(nproc)``).
        spans: where it was written, the place that a message points at first.
        exact: whether ``text`` stands at the first span character for character, so that a part of it has a place
            of its own. False for a computed number.
        note: how it came about, when it was not simply written ("default: NNODES is not given").
        reason: why it cannot be known; None for known text.
        unset: unknown only because nobody gave the variable: a bare run of the script would see nothing here.
        filled: unknown, and not empty: what the machine or the scheduler always sets.
    """

    text: str
    spans: tuple[Span, ...] = ()
    exact: bool = False
    note: str | None = None
    reason: str | None = None
    unset: bool = False
    filled: bool = False

    def part(self, start: int, end: int) -> Piece:
        """The characters ``start`` to ``end``; an unknown piece is one character wide and stays whole."""
        if self.reason is not None or (start == 0 and end >= len(self.text)):
            return self
        text = self.text[start:end]
        if not self.exact:
            return self._replace(text=text)
        span = self.spans[0]
        column = span.column + start
        end_column = column + (len(text) - 1 if text.endswith("\n") else len(text))
        return Piece(text, (Span(span.path, span.line, column, span.line, end_column),), True, self.note)


class Text:
    """Pieces in order. Immutable; equal when it reads the same, wherever it was written."""

    __slots__ = ("_cuts", "_starts", "chars", "pieces")

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        kept = tuple([piece for piece in pieces if piece.text or piece.reason is not None])
        # One character per unknown piece: all scanning is done on this string.
        self._hold(kept, "".join([piece.text if piece.reason is None else MARK for piece in kept]))

    def _hold(self, pieces: tuple[Piece, ...], chars: str) -> None:
        self.pieces = pieces
        self.chars = chars
        self._starts: list[int] | None = None
        self._cuts: dict[tuple[int, int | None], Text] | None = None
        if len(chars) > MAX_CHARACTERS:
            raise TooLong

    @classmethod
    def _of(cls, pieces: tuple[Piece, ...], chars: str) -> Text:
        # Pieces that are looked at already: a script's words are cut and joined many thousand times.
        text = cls.__new__(cls)
        text._hold(pieces, chars)  # noqa: SLF001 - its own class
        return text

    @classmethod
    def joined(cls, texts: Iterable[Text]) -> Text:
        """Several texts as one."""
        parts = [text for text in texts if text.chars]
        if len(parts) == 1:
            return parts[0]
        return cls._of(
            tuple(chain.from_iterable([part.pieces for part in parts])), "".join([part.chars for part in parts])
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self.chars == other.chars and self.display == other.display

    def __hash__(self) -> int:
        return hash(self.chars)

    def __len__(self) -> int:
        return len(self.chars)

    def __bool__(self) -> bool:
        return bool(self.chars)

    def __repr__(self) -> str:
        return f"Text({self.display!r})"

    def __add__(self, other: Text) -> Text:
        return Text._of((*self.pieces, *other.pieces), self.chars + other.chars) if other.pieces else self

    @property
    def known(self) -> bool:
        """Whether every character is known."""
        # Whoever writes the mark into a script gets a second look.
        return MARK not in self.chars or all(piece.reason is None for piece in self.pieces)

    @property
    def unset(self) -> bool:
        """Whether there is text, and all of it would be empty in a bare run."""
        return bool(self.pieces) and all(piece.unset for piece in self.pieces)

    @property
    def reason(self) -> str | None:
        """Why the text is not known: the first unknown piece's reason."""
        return next((piece.reason for piece in self.pieces if piece.reason is not None), None)

    @property
    def note(self) -> str | None:
        """How the text came about, when some piece says so."""
        return next((piece.note for piece in self.pieces if piece.note is not None), None)

    @property
    def display(self) -> str:
        """The text as a person reads it, unknown pieces as they stand in the script."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The places of the pieces in order, each once."""
        return tuple(dict.fromkeys(span for piece in self.pieces for span in piece.spans))

    def slice(self, start: int, end: int | None = None) -> Text:
        """The characters from ``start`` to ``end`` of ``chars``."""
        end = len(self.chars) if end is None else min(end, len(self.chars))
        if start <= 0 and end == len(self.chars):
            return self
        return Text._of(self._parts(max(start, 0), end), self.chars[max(start, 0) : end])

    def cut(self, start: int, end: int | None = None) -> Text:
        """The same slice, kept: a raw word is cut in the same places in every run and in every round of a loop."""
        if self._cuts is None:
            self._cuts = {}
        found = self._cuts.get((start, end))
        if found is None:
            found = self._cuts[start, end] = self.slice(start, end)
        return found

    def _parts(self, start: int, end: int) -> tuple[Piece, ...]:
        if start >= end:
            return ()
        starts = self._offsets()
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        if first == last:
            return (self.pieces[first].part(start - starts[first], end - starts[first]),)
        left, right = self.pieces[first], self.pieces[last]
        return (
            left.part(start - starts[first], len(left.text)),
            *self.pieces[first + 1 : last],
            right.part(0, end - starts[last]),
        )

    def _offsets(self) -> list[int]:
        if self._starts is None:
            at, self._starts = 0, []
            for piece in self.pieces:
                self._starts.append(at)
                at += 1 if piece.reason is not None else len(piece.text)
        return self._starts

    def piece_at(self, index: int) -> Piece:
        """The piece that holds a character."""
        return self.pieces[bisect_right(self._offsets(), index) - 1]

    def place(self, index: int = 0) -> Span | None:
        """Where a character was written; past the end, where the last one was."""
        if not self.pieces:
            return None
        index = min(index, len(self.chars) - 1)
        piece = self.piece_at(index)
        if not piece.spans:
            return None
        at = self._offsets()[bisect_right(self._offsets(), index) - 1]
        return piece.part(index - at, index - at + 1).spans[0] if piece.exact else piece.spans[0]

    def bare(self) -> Text:
        """The text as a bare run would see it: what nobody gave is empty."""
        return Text(piece for piece in self.pieces if not piece.unset)

    def noted(self, note: str) -> Text:
        """The same text with a remark on how it came about."""
        return Text(piece._replace(note=piece.note or note) for piece in self.pieces)

    def strip(self, characters: str = " \t\n") -> Text:
        """The text without the characters at both ends."""
        start, end = 0, len(self.chars)
        while start < end and self.chars[start] in characters:
            start += 1
        while end > start and self.chars[end - 1] in characters:
            end -= 1
        return self.slice(start, end)

    def rstrip(self, characters: str) -> Text:
        """The text without the characters at its end."""
        return self.slice(0, len(self.chars.rstrip(characters)))

    def split(self, separator: str) -> list[Text]:
        """The parts between separators."""
        parts, start = [], 0
        while (at := self.chars.find(separator, start)) >= 0:
            parts.append(self.slice(start, at))
            start = at + len(separator)
        return [*parts, self.slice(start)]


EMPTY = Text()


def written(text: str, *spans: Span, note: str | None = None) -> Text:
    """Known text that was computed from what stands at ``spans``."""
    return Text((Piece(text, spans, note=note),))


def spaced(texts: list[Text]) -> Text:
    """The texts with a blank between them."""
    return Text.joined(
        part for index, text in enumerate(texts) for part in ((written(" "), text) if index else (text,))
    )


def unknowable(text: str, reason: str, *spans: Span, unset: bool = False, filled: bool = False) -> Text:
    """A stretch that cannot be known; ``text`` is what stands in its place."""
    return Text((Piece(text, spans, reason=reason, unset=unset, filled=filled),))


def of_source(source: Source) -> Text:
    """A file's text, a piece per line; a carriage return before the line's end is none of the script's business."""
    lines = source.text.replace("\r\n", "\n").split("\n")
    return Text(
        Piece(line + "\n", (Span(source.path, number, 1, number, len(line) + 1),), exact=True)
        for number, line in enumerate(lines, start=1)
        if line or number < len(lines)
    )
