r"""OmegaConf's interpolations as a tree: ``${a.b}``, ``${..x}``, ``${a[0].${k}}``, ``${name:1,'two',[3]}``, ``\${no}``.

The grammar is OmegaConf's own (omegaconf/grammar/OmegaConfGrammarLexer.g4 and OmegaConfGrammarParser.g4, 2.3), parsed
by hand: reading it with OmegaConf would import antlr and cost more than a whole composition.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from effbatch_lint.compose.override_values import BOOL, ESC, FLOAT, ID, INT, NULL, typed

if TYPE_CHECKING:
    from effbatch_lint.compose.sweeps import Element

MAX_LENGTH = 20_000
MAX_DEPTH = 50


class Reference(NamedTuple):
    """``${a.b[0]}``: the pieces of a key, dots and brackets among them; a nested interpolation gives a piece."""

    pieces: Text


class Call(NamedTuple):
    """``${name:arguments}``: a resolver."""

    name: Text
    arguments: tuple[Argument, ...]


Interpolation: TypeAlias = Reference | Call
Text: TypeAlias = "tuple[str | Interpolation, ...]"


class Literal(NamedTuple):
    """An argument without interpolation: a number, a truth value, null or text."""

    value: Element


class Bare(NamedTuple):
    """Unquoted text with interpolations; a single one keeps the type of what it gives."""

    parts: Text


class InQuotes(NamedTuple):
    """Quoted text with interpolations: always text."""

    parts: Text


class Items(NamedTuple):
    """A list."""

    items: tuple[Argument, ...]


class Pairs(NamedTuple):
    """A mapping."""

    pairs: tuple[tuple[Literal, Argument], ...]


Argument: TypeAlias = Literal | Bare | InQuotes | Items | Pairs

_KEY = r"[^\\{}()\[\]:. \t'\"]+"
# By the order of the grammar, which decides between tokens of one length.
_TOKENS = (
    ("{", r"\{[ \t]*"),
    ("}", r"[ \t]*\}"),
    (",", r"[ \t]*,[ \t]*"),
    ("[", r"\[[ \t]*"),
    ("]", r"[ \t]*\]"),
    (":", r"[ \t]*:[ \t]*"),
    ("float", FLOAT),
    ("int", INT),
    ("bool", BOOL),
    ("null", NULL),
    ("char", r"[/\-\\+.$%*@?|]"),
    ("id", ID),
    ("esc", ESC),
    ("space", r"[ \t]+"),
)
_IN_KEY = frozenset(("id", "null", "int", "float", "bool", "char", "esc", "space"))
_TYPED = frozenset(("int", "float", "bool", "null"))


@lru_cache(maxsize=4096)
def parse(text: str) -> Text:
    """The literal text and the interpolations of a value.

    Raises:
        ValueError: text that the grammar refuses.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"an interpolation of {len(text):,} characters, over the limit of {MAX_LENGTH:,}")
    scanner = _Scanner(text)
    return scanner.text_until("")


def parse_value(text: str) -> Argument:
    """A value as ``oc.decode`` reads it.

    Raises:
        ValueError: text that the grammar refuses.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"a value of {len(text):,} characters, over the limit of {MAX_LENGTH:,}")
    scanner = _Scanner(text)
    argument = scanner.argument()
    if scanner.at != len(text):
        raise scanner.wrong()
    return argument


class _Scanner:
    """Recursive descent over the characters; the grammar's modes are the functions."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.depth = 0

    def wrong(self) -> ValueError:
        found = self.source[self.at : self.at + 10]
        what = f"{found!r} cannot stand at character {self.at + 1}" if found else "the end comes too early"
        return ValueError(f"not an interpolation that OmegaConf can parse: {what}")

    def peek(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def take(self, pattern: str) -> str | None:
        found = re.compile(pattern).match(self.source, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def expect(self, pattern: str) -> str:
        found = self.take(pattern)
        if found is None:
            raise self.wrong()
        return found

    # -- text, at the top or in quotes -----------------------------------------------------------------------------

    def text_until(self, quote: str) -> Text:
        r"""Up to the quote (the end, without one). Backslashes count before ``${`` and before the quote only."""
        parts: list[str | Interpolation] = []
        literal = ""
        while self.at < len(self.source) and not (quote and self.peek(quote)):
            if self.peek("${"):
                if literal:
                    parts.append(literal)
                    literal = ""
                parts.append(self.interpolation())
                continue
            run = self.take(r"\\+")
            if run is None:
                literal += self.expect(rf"[^\\${quote}]+|\$")
                continue
            half = run[: len(run) // 2]
            if self.peek("${"):
                literal += half
                if len(run) % 2:
                    literal += "${"
                    self.at += 2
            elif quote and self.peek(quote):
                literal += half
                if len(run) % 2:
                    literal += quote
                    self.at += 1
            else:
                literal += run
        if literal:
            parts.append(literal)
        return tuple(parts)

    # -- interpolations --------------------------------------------------------------------------------------------

    def interpolation(self) -> Interpolation:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ValueError(f"interpolations nested deeper than {MAX_DEPTH} levels")
        self.expect(r"\$\{[ \t]*")
        pieces: list[str | Interpolation] = list(self.take(r"\.+") or "")
        named = not pieces
        if self.take(r"\["):
            named = False
            pieces += ["[", self.key(), self.expect(r"\]")]
        else:
            pieces.append(self.key())
        while True:
            if self.take(r"\."):
                pieces += [".", self.key()]
            elif self.take(r"\["):
                named = False
                pieces += ["[", self.key(), self.expect(r"\]")]
            else:
                break
        if self.take(r"[ \t]*\}") is not None:
            self.depth -= 1
            return Reference(tuple(pieces))
        if not named or not all(not isinstance(p, str) or p == "." or re.fullmatch(ID, p, re.ASCII) for p in pieces):
            raise self.wrong()
        self.expect(r"[ \t]*:[ \t]*")
        arguments = self.sequence(r"[ \t]*\}")
        self.depth -= 1
        return Call(tuple(pieces), arguments)

    def key(self) -> str | Interpolation:
        return self.interpolation() if self.peek("${") else self.expect(_KEY)

    # -- arguments -------------------------------------------------------------------------------------------------

    def sequence(self, closing: str) -> tuple[Argument, ...]:
        """Up to the closing bracket; an element left out (``a,,b``) is the empty text."""
        if self.take(closing) is not None:
            return ()
        found: list[Argument] = []
        while True:
            empty = self.token()[0] in (",", "}", "]")
            found.append(Literal("") if empty else self.argument())
            if self.take(r"[ \t]*,[ \t]*") is None:
                self.expect(closing)
                return tuple(found)

    def argument(self) -> Argument:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ValueError(f"arguments nested deeper than {MAX_DEPTH} levels")
        argument = self._argument()
        self.depth -= 1
        return argument

    def _argument(self) -> Argument:
        if self.take(r"\[[ \t]*"):
            return Items(self.sequence(r"[ \t]*\]"))
        if self.take(r"\{[ \t]*"):
            return self._pairs()
        quote = self.take("['\"]")
        if quote is not None:
            parts = self.text_until(quote)
            self.expect(quote)
            return Literal("".join(map(str, parts))) if all(isinstance(p, str) for p in parts) else InQuotes(parts)
        return self._primitive(in_key=False)

    def _pairs(self) -> Pairs:
        pairs: list[tuple[Literal, Argument]] = []
        if self.take(r"[ \t]*\}") is None:
            while True:
                key = self._primitive(in_key=True)
                assert isinstance(key, Literal)
                self.expect(r"[ \t]*:[ \t]*")
                pairs.append((key, self.argument()))
                if self.take(r"[ \t]*,[ \t]*") is None:
                    break
            self.expect(r"[ \t]*\}")
        return Pairs(tuple(pairs))

    def _primitive(self, *, in_key: bool) -> Literal | Bare:
        parts: list[str | Interpolation] = []
        single: Literal | None = None
        while True:
            kind, text = self.token()
            if kind == "${" and not in_key:
                parts.append(self.interpolation())
                single = None
                continue
            if kind not in _IN_KEY and (in_key or kind != ":"):
                break
            self.at += len(text)
            value = text[1::2] if kind == "esc" else text
            single = Literal(typed(text) if kind in _TYPED else value)
            parts.append(value)
        if not parts:
            raise self.wrong()
        if len(parts) == 1 and single is not None:
            return single
        if all(isinstance(part, str) for part in parts):
            return Literal("".join(map(str, parts)))
        return Bare(tuple(parts))

    def token(self) -> tuple[str, str]:
        """The longest token that starts here, the earlier one of the grammar on a tie; nothing is consumed."""
        if self.peek("${"):
            return "${", "${"
        best = ("", "")
        for kind, pattern in _TOKENS:
            found = re.compile(pattern).match(self.source, self.at)
            if found is not None and len(found[0]) > len(best[1]):
                best = (kind, found[0])
        return best
