"""Raw words -> what the shell makes of them: quotes removed, variables put in, split at blanks.

The order is bash's: braces, then parameters, commands and arithmetic from left to right, then splitting; file names
are never globbed (the files of the training machine are not here). Every character keeps its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from effbatch_lint.documents.shell import arithmetic, parameters, patterns, splitting, words
from effbatch_lint.documents.shell.state import Array, State
from effbatch_lint.documents.shell.text import EMPTY, Text, unknowable, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.source import Span

_NAME = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])")
_PLAIN = re.compile(r"[\w./:=+,%@-]+", re.ASCII)
_SPECIAL = re.compile(r"[\\'\"$`~<>]")
_SEQUENCE = re.compile(r"\{(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?\}")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
MAX_WORDS = 1_000


class Atom(NamedTuple):
    """A stretch of an expanded word.

    ``literal`` was written without quotes, ``quoted`` within them, ``split`` is the value of an unquoted expansion
    and falls apart at blanks; ``break`` ends a word, between the elements of ``"$@"``.
    """

    text: Text
    kind: Literal["literal", "quoted", "split", "break"]


BREAK = Atom(EMPTY, "break")


def fields(raw: Text, state: State) -> list[Text]:
    """The words that one raw word becomes: none, one or many."""
    if _PLAIN.fullmatch(raw.chars):
        return [raw]
    return [word for part in _braces(raw) for word in _assembled(atoms(part, state), state)]


def all_fields(raws: list[Text], state: State) -> list[Text]:
    """The words of a command line."""
    return [word for raw in raws for word in fields(raw, state)]


def joined(raw: Text, state: State) -> Text:
    """One text, nothing split: an assignment's value, a redirection's target."""
    return Text.joined(_spaced(atoms(raw, state)))


def within_quotes(raw: Text, state: State, *, document: bool = False) -> Text:
    """One text, expanded as between double quotes; ``document``: as in a here-document, where quotes are text."""
    return Text.joined(_spaced(atoms(raw, state, quoted=True, document=document)))


def pattern(raw: Text, state: State, *, bare: bool = False) -> list[tuple[str, bool]] | None:
    """A pattern in stretches (text, whether its characters are special); None when it holds an unknown."""
    parts = []
    for atom in atoms(raw, state):
        text = atom.text.bare() if bare else atom.text
        if not text.known:
            return None
        parts.append((text.chars, atom.kind != "quoted"))
    return parts


def is_pattern(raw: Text, state: State, *, bare: bool = False) -> re.Pattern[str] | None:
    """The regular expression for a pattern; None when it holds an unknown or is none."""
    parts = pattern(raw, state, bare=bare)
    try:
        return None if parts is None else patterns.whole(parts)
    except re.error:
        return None


def atoms(raw: Text, state: State, *, quoted: bool = False, document: bool = False) -> Iterator[Atom]:
    """The stretches of a word, expanded from left to right."""
    chars = raw.chars
    plain: Literal["literal", "quoted"] = "quoted" if quoted else "literal"
    value: Literal["split", "quoted"] = "quoted" if quoted else "split"
    start = at = 0
    while at < len(chars):
        special = _SPECIAL.search(chars, at)
        if special is None:
            break
        at = special.start()
        character = special[0]
        end, found = at + 1, None
        if character == "\\":
            end, found = _escape(raw, at, quoted=quoted, document=document)
        elif character == "$":
            end, found = _dollar(raw, at, state, value)
        elif character == "`":
            end = words.backquotes(chars, at)
            inner = _unescaped(raw.cut(at + 1, end - 1))
            found = [Atom(_output(inner, raw.cut(at, end), state), value)]
        elif quoted and character == "<" and not document and (hole := words.PLACEHOLDER.match(chars, at)):
            # "<some folder>": once filled in, it is one word.
            if " " in hole[0]:
                end, found = hole.end(), [Atom(_placeholder(hole[0], _places(raw, at)), "quoted")]
        elif quoted:
            # Quotes within quotes: the inner ones of "${X:-"a b"}" go; a here-document keeps its own.
            found = [] if character == '"' and not document else None
        elif character == "'":
            end = words.skip(chars, at)
            found = [Atom(raw.cut(at + 1, end - 1 if chars[end - 1] == "'" and end - 1 > at else end), "quoted")]
        elif character == '"':
            end = words.double_quotes(chars, at)
            found = _string(raw.cut(at + 1, end - 1 if end - 1 > at and chars[end - 1] == '"' else end), state)
        elif character == "~":
            if at == 0 and chars[1:2] in ("", "/"):
                found = [Atom(unknowable("~", "the home folder is the machine's", *_places(raw, at)), "literal")]
        elif chars.startswith("(", end):
            end = words.parentheses(chars, end)
            why = "a command's output, handed over as a file"
            found = [Atom(unknowable(raw.cut(at, end).display, why, *_places(raw, at)), "quoted")]
        elif hole := words.PLACEHOLDER.match(chars, at):
            end, found = hole.end(), [Atom(_placeholder(hole[0], _places(raw, at)), "quoted")]
        if found is not None:
            if start < at:
                yield Atom(raw.cut(start, at), plain)
            yield from found
            start = end
        at = end
    if start < len(chars):
        yield Atom(raw.cut(start), plain)


def _string(inner: Text, state: State) -> list[Atom]:
    # `""` is an empty word; `"$@"` without arguments is none.
    return list(atoms(inner, state, quoted=True)) if inner else [Atom(EMPTY, "quoted")]


def _escape(raw: Text, at: int, *, quoted: bool, document: bool) -> tuple[int, list[Atom] | None]:
    following = raw.chars[at + 1 : at + 2]
    if following == "\n":
        return at + 2, []
    if not quoted or following in ("$", "`", "\\") or (following == '"' and not document):
        return at + 2, [Atom(raw.cut(at + 1, at + 2), "quoted")]
    return at + 2, None


def _dollar(raw: Text, at: int, state: State, kind: Literal["split", "quoted"]) -> tuple[int, list[Atom] | None]:
    chars = raw.chars
    following = chars[at + 1 : at + 2]
    if following == "(":
        end = words.parentheses(chars, at + 1)
        if chars.startswith("$((", at) and chars[end - 2 : end] == "))":
            return end, [Atom(arithmetic.expand(raw.cut(at + 3, end - 2), raw.cut(at, end), state), kind)]
        return end, [Atom(_output(raw.cut(at + 2, end - 1), raw.cut(at, end), state), kind)]
    if following == "[":
        end = words.skip(chars, at)
        return end, [Atom(arithmetic.expand(raw.cut(at + 2, end - 1), raw.cut(at, end), state), kind)]
    if following == "{":
        end = words.braces(chars, at + 1, quoted=kind == "quoted")
        found = parameters.expand(raw.cut(at + 2, end - 1), raw.cut(at, end), state, quoted=kind == "quoted")
        return end, _listed(found, kind, state)
    if following in ("'", '"') and kind == "split":
        end = words.skip(chars, at)
        inner = raw.cut(at + 2, end - 1)
        return end, [Atom(_ansi(inner), "quoted")] if following == "'" else _string(inner, state)
    name = _NAME.match(chars, at)
    if name is None:
        return at + 1, None
    return name.end(), _listed(parameters.value(name[1], state, raw.cut(at, name.end())), kind, state)


def _listed(found: Text | list[Text] | Array, kind: Literal["split", "quoted"], state: State) -> list[Atom]:
    """The atoms of a value; a list stands for ``$@`` and ``${A[@]}``, an array for ``$*``, joined when quoted."""
    if isinstance(found, Text):
        return [Atom(found, kind)]
    if isinstance(found, Array):
        items = list(found.items.values())
        if kind == "quoted":
            separator = written(splitting.separators(state)[:1])
            return [Atom(Text.joined(_between(items, separator)), kind)]
        found = items
    out: list[Atom] = []
    for item in found:
        if out:
            out.append(BREAK)
        out.append(Atom(item, kind))
    return out


def _between(items: list[Text], separator: Text) -> Iterator[Text]:
    for index, item in enumerate(items):
        if index:
            yield separator
        yield item


def _spaced(found: Iterator[Atom]) -> Iterator[Text]:
    for atom in found:
        yield written(" ") if atom.kind == "break" else atom.text


_MOST_PIECES = 100  # of an output that is not known: each of them is shown as the whole substitution


def _output(command: Text, whole: Text, state: State) -> Text:
    found = state.substitute(command, state)
    # The output's last line ends are dropped.
    found = found.rstrip("\n")
    if found.known:
        return found
    shown, places = whole.display, whole.spans[:1]
    if len(found.pieces) > _MOST_PIECES:
        return unknowable(shown, found.reason or "", *places)
    pieces = [
        # A pipeline's unknown output stands in the script as the whole substitution.
        piece if piece.reason is None or piece.spans else piece._replace(text=shown, spans=places)
        for piece in found.pieces
    ]
    return Text(pieces)


def _assembled(found: Iterator[Atom], state: State) -> list[Text]:
    out: list[Text] = []
    current: list[Text] = []  # of the word so far; an empty text in it is a word all the same
    for atom in found:
        kind = atom.kind
        parts = splitting.split(atom.text, state) if kind == "split" else [None if kind == "break" else atom.text]
        for index, part in enumerate(parts):
            if current and (index or kind == "break"):
                out.append(Text.joined(current))
                current = []
            if part is not None:
                current.append(part)
        if len(out) > MAX_WORDS:
            break
    if current:
        out.append(Text.joined(current))
    return out


def _braces(raw: Text) -> list[Text]:
    """Brace expansion: ``{a,b}`` and ``{1..3}`` outside of quotes."""
    chars = raw.chars
    at = 0
    if "{" not in chars or ("," not in chars and ".." not in chars):
        return [raw]
    while (at := _brace(chars, at)) >= 0:
        end = _closing(chars, at)
        if end < 0:
            return [raw]
        before, after = raw.slice(0, at), raw.slice(end)
        options = _options(raw.slice(at, end))
        if options:
            rests = _braces(after)
            if len(options) * len(rests) > MAX_WORDS:
                return [raw]  # the word stays as it is written
            return [before + option + rest for option in options for rest in rests]
        at += 1
    return [raw]


def _brace(chars: str, at: int) -> int:
    while at < len(chars):
        if chars[at] == "{":
            return at
        at = words.skip(chars, at)
    return -1


def _closing(chars: str, at: int) -> int:
    depth = 0
    while at < len(chars):
        if chars[at] in "{}":
            depth += 1 if chars[at] == "{" else -1
            at += 1
            if depth == 0:
                return at
        else:
            at = words.skip(chars, at)
    return -1


def _options(braced: Text) -> list[Text]:
    chars = braced.chars
    sequence = _SEQUENCE.fullmatch(chars)
    if sequence is not None and len(chars) < 40:  # noqa: PLR2004 - longer numbers are no sequence that anyone wrote
        first, last = int(sequence[1]), int(sequence[2])
        step = abs(int(sequence[3] or 1)) or 1
        numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        width = max(len(sequence[1]), len(sequence[2])) if re.search(r"\b0[0-9]", chars) else 0
        if len(numbers) > MAX_WORDS:
            return []  # shards of a data set: the word stays as it is written
        return [written(str(number).zfill(width), *braced.spans) for number in numbers]
    parts, start, at = [], 1, 1
    while at < len(chars) - 1:
        if chars[at] == ",":
            parts.append(braced.slice(start, at))
            start = at = at + 1
        elif chars[at] == "{":
            at = max(_closing(chars, at), at + 1)
        else:
            at = words.skip(chars, at)
    if not parts:
        return []
    return [option for part in (*parts, braced.slice(start, len(chars) - 1)) for option in _braces(part)]


def _ansi(inner: Text) -> Text:
    if "\\" not in inner.chars:
        return inner
    return written(
        re.sub(r"\\(.)", lambda found: _ANSI.get(found[1], found[1]), inner.display, flags=re.DOTALL), *inner.spans
    )


def _unescaped(inner: Text) -> Text:
    """The command of an old-style substitution: one layer of backslashes removed."""
    out, start = [], 0
    for found in re.finditer(r"\\([`\\$])", inner.chars):
        out.append(inner.slice(start, found.start()))
        start = found.start() + 1
        out.append(inner.slice(start, start + 1))
        start += 1
    return Text.joined([*out, inner.slice(start)]) if out else inner


def _placeholder(shown: str, places: tuple[Span, ...]) -> Text:
    return unknowable(shown, "a placeholder, to be filled in", *places, filled=True)


def _places(raw: Text, at: int) -> tuple[Span, ...]:
    place = raw.place(at)
    return () if place is None else (place,)
