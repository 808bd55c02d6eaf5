"""The words of an effbatch comment, read one by one: what is declared, and what does not exist or does not read (EB905)."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from effbatch_lint.documents.pragmas import MAX_DECLARED, Declared, Pragmas, Suppression, WorldSizes
from effbatch_lint.findings import Misdeclared
from effbatch_lint.nearest import did_you_mean, nearest
from effbatch_lint.targets.quantity import UNITS, parse_quantity, unit_named

if TYPE_CHECKING:
    from collections.abc import Collection

    from effbatch_lint.documents.comments import Comment
    from effbatch_lint.source import Span

WORDS = ("target", "tokens", "unit", "world-size", "tolerance", "ignore", "ignore-file")
"""The words of a pragma."""

# A file that holds more of them than this is no mistake of one word; the first ones say enough.
MAX_UNKNOWN = 100
_MAX_LENGTH = 80  # of a value, and of what a message repeats

_VALUES = {
    "target": "a whole number: target=2048, target=8.4M",
    "tokens": "a whole number of tokens: tokens=8M",
    "unit": f"one of {', '.join(UNITS)}",
    "world-size": "one whole number or several: world-size=64, world-size=64,128",
    "tolerance": "a percentage: tolerance=1%",
}
# The colon may be missing where a word follows that only a pragma has: that is a typing error, not prose.
_PRAGMA = re.compile(
    # In capitals it may be somebody's variable: a word of ours must follow.
    r"(?:^|#[ \t]*)(?P<name>[Ee]ffbatch(?:[-_ ]lint)?|EFFBATCH(?:[-_ ]LINT)?(?=[ \t]*:?[ \t]*(?:(?:target|tokens|world.size)"
    r"[ \t]*=|ignore(?:.file)?\[)))"
    r"(?P<colon>[ \t]*:|(?=[ \t]+(?:target|tokens|world.size|unit|tolerance)[ \t]*=)|(?=[ \t]+ignore(?:.file)?\[))"
    r"[ \t]*(?P<words>[^#]*)"
)
# "# efbatch: target=2048" guards nothing, nor does "# see effbatch: target=2048": a name, and what only a pragma has.
_NEARLY = re.compile(
    r"(?:^|(?<=[\s#]))(?P<name>[A-Za-z]+(?:[-_][A-Za-z]+){0,2})[ \t]*[:;=]?[ \t]*"
    r"(?=(?:target|tokens|world[-_]size)[ \t]*=|ignore(?:-file)?\[)"
)
_NAMES = ("effbatch", "effbatch-lint")
_IGNORE = re.compile(r"(?P<word>[A-Za-z][\w-]*)[ \t]*\[(?P<codes>[^\]\n]{0,1000})\](?P<reason>.*)", re.DOTALL)
_ASSIGNED = re.compile(
    r"(?P<word>[A-Za-z][\w-]*)[ \t]*=[ \t]*(?P<value>(?:\"[^\"]*\"|'[^']*'|[^\s;]+?)?)(?P<end>[,;]?(?=\s|$)|;)"
)
_WORD = re.compile(r"[^\s,;]+")
_CODE = re.compile(r"[^\s,]+")
_IS_CODE = re.compile(r"EB[0-9]{3}")
_WORLD_SIZES = re.compile(r"[1-9][0-9]{0,6}(?:,[1-9][0-9]{0,6})*")
_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)%")


class Reader:
    """Collects the pragmas of one file."""

    def __init__(self, text: str, codes: Collection[str] | None) -> None:
        self._lines = text.split("\n")
        self._code_lines: list[int] | None = None
        self._codes = codes
        self._targets: list[Declared] = []
        self._world_sizes: list[WorldSizes] = []
        self._suppressions: list[Suppression] = []
        self._unknown: list[Misdeclared] = []

    @property
    def pragmas(self) -> Pragmas:
        """All that was read."""
        return Pragmas(tuple(self._targets), tuple(self._world_sizes), tuple(self._suppressions), tuple(self._unknown))

    def read(self, comment: Comment) -> None:
        """Read the pragmas in one comment."""
        if len(self._unknown) >= MAX_UNKNOWN:
            return
        found = list(_PRAGMA.finditer(comment.text))
        if not found:
            self._nearly(comment)
        for match in found:
            if match["name"] != "effbatch" or not match["colon"]:
                span = _within(comment, match.start("name"), match.end("colon"))
                self._unknown.append(
                    Misdeclared(span, f"{match['name']}{match['colon']} is no pragma", "write effbatch:")
                )
            elif not match["words"].strip():
                span = _within(comment, match.start("name"), match.end("colon"))
                self._unknown.append(Misdeclared(span, "an effbatch comment that declares nothing", _known_words()))
            else:
                self._words(comment, match["words"].rstrip(), match.start("words"))

    def _nearly(self, comment: Comment) -> None:
        """A comment that was meant to be a pragma: its name is misspelled, or is not its first word."""
        for match in _NEARLY.finditer(comment.text):
            name = match["name"]
            if nearest(name, _NAMES, 0.8) is None:
                continue
            span = _within(comment, match.start("name"), match.end("name"))
            help = "did you mean effbatch:?" if name != "effbatch" else "begin the comment with it, after the # alone"  # noqa: A001 - the record's name for it
            self._unknown.append(Misdeclared(span, f"{name} is no pragma here", help))
            return

    def _words(self, comment: Comment, words: str, offset: int) -> None:
        """Read ``target=2048 world-size=64 ...`` up to an ``ignore[...]``, whose reason is the rest."""
        values: dict[str, tuple[str, Span]] = {}
        at = 0
        while at < len(words) and len(self._unknown) < MAX_UNKNOWN:
            if words[at].isspace() or words[at] in ",;":
                at += 1
            elif ignore := _IGNORE.match(words, at):
                self._ignore(comment, ignore, offset)
                break
            elif assigned := _ASSIGNED.match(words, at):
                span = _within(comment, offset + at, offset + assigned.end("value"))
                word = assigned["word"]
                if word not in _VALUES:
                    message = f"{_short(word)}= is no word of an effbatch comment"
                    self._unknown.append(Misdeclared(span, message, did_you_mean(word, WORDS, _known_words())))
                elif word in values:
                    self._unknown.append(Misdeclared(span, f"{word}= stands twice in one comment"))
                else:
                    values[word] = (assigned["value"].strip("\"'"), span)
                at = assigned.end()
            else:
                loose = _WORD.match(words, at)
                assert loose is not None
                self._loose(loose[0], _within(comment, offset + at, offset + loose.end()))
                if loose[0] in ("ignore", "ignore-file"):
                    break
                at = loose.end()
        self._declare(values)

    def _loose(self, word: str, span: Span) -> None:
        """A word without a value."""
        if word in ("ignore", "ignore-file"):
            help = f"name the rules, and say why: {word}[EB301] the JSON is generated"  # noqa: A001 - the record's name for it
            self._unknown.append(
                Misdeclared(span, f"{word} without codes would hide every finding, also those to come", help)
            )
        elif word in _VALUES:
            self._unknown.append(Misdeclared(span, f"{word} has no value", f"write {_VALUES[word]}"))
        elif unit_named(word):
            self._unknown.append(Misdeclared(span, f"{word} stands alone", f"write unit={unit_named(word)}"))
        else:
            self._unknown.append(
                Misdeclared(
                    span, f"{_short(word)} is no word of an effbatch comment", did_you_mean(word, WORDS, _known_words())
                )
            )

    def _declare(self, values: dict[str, tuple[str, Span]]) -> None:
        """The declarations of one comment: its unit and its tolerance belong to its targets."""
        stated = len(self._targets) + sum(len(sizes.values) for sizes in self._world_sizes)
        if values and stated >= MAX_DECLARED:
            message = f"more than {MAX_DECLARED} declarations in one file: no further one is read"
            self._unknown.append(Misdeclared(next(iter(values.values()))[1], message))
            return
        unit = unit_named(values["unit"][0]) if "unit" in values else None
        tolerance = _percentage(values["tolerance"][0]) if "tolerance" in values else 0.0
        for word, (text, span) in values.items():
            understood = True
            if word == "world-size":
                understood = len(text) < _MAX_LENGTH and _WORLD_SIZES.fullmatch(text) is not None
                if understood:
                    self._world_sizes.append(WorldSizes(tuple(int(size) for size in text.split(",")), span))
            elif word in ("target", "tokens"):
                quantity = parse_quantity(text, "tokens" if word == "tokens" else unit)
                understood = quantity is not None and (word == "target" or quantity.unit == "tokens")
                if understood and quantity is not None:
                    self._targets.append(Declared(quantity, span, tolerance or 0.0))
            elif not values.keys() & {"target", "tokens"}:
                self._unknown.append(Misdeclared(span, f"{word}= says nothing without a target= in the same comment"))
            else:
                understood = (unit if word == "unit" else tolerance) is not None
            if not understood:
                self._unknown.append(
                    Misdeclared(span, f"{word}={_short(text)} is not understood", f"write {_VALUES[word]}")
                )

    def _ignore(self, comment: Comment, match: re.Match[str], offset: int) -> None:
        word = match["word"]
        if word not in ("ignore", "ignore-file"):
            span = _within(comment, offset + match.start("word"), offset + match.end("word"))
            self._unknown.append(
                Misdeclared(
                    span,
                    f"{_short(word)}[] is no word of an effbatch comment",
                    did_you_mean(word, WORDS, _known_words()),
                )
            )
            return
        found = list(_CODE.finditer(match["codes"]))
        if not found:
            self._loose(word, _within(comment, offset + match.start("word"), offset + match.end("codes") + 1))
        lines = None if word == "ignore-file" else self._covered(comment)
        for code in found:
            start = offset + match.start("codes")
            span = _within(comment, start + code.start(), start + code.end())
            if _IS_CODE.fullmatch(code[0]) and (self._codes is None or code[0] in self._codes):
                self._suppressions.append(Suppression(code[0], span, lines, match["reason"].strip(" \t:-")))
            else:
                self._unknown.append(
                    Misdeclared(
                        span,
                        f"{_short(code[0])} is no rule",
                        did_you_mean(code[0], self._codes or (), "effbatch-lint rule lists them"),
                    )
                )

    def _covered(self, comment: Comment) -> tuple[int, int]:
        """A trailing comment covers its own line; one on a line of its own all down to the next line of code."""
        first = last = comment.span.line
        if not comment.code:
            if self._code_lines is None:
                self._code_lines = [number for number, line in enumerate(self._lines, 1) if _is_code(line)]
            below = bisect_right(self._code_lines, first)
            last = self._code_lines[below] if below < len(self._code_lines) else len(self._lines)
        return first, last


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith(("#", "//", "/*"))


def _within(comment: Comment, start: int, end: int) -> Span:
    span = comment.span
    return span._replace(column=span.column + start, end_column=span.column + end)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}..."


def _percentage(text: str) -> float | None:
    match = _PERCENTAGE.fullmatch(text)
    return None if match is None else float(match[1]) / 100


def _known_words() -> str:
    return f"the words are {', '.join(WORDS)}"
