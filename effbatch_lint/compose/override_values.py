r"""The right-hand side of a Hydra override: ``8``, ``[1,2]``, ``{a: 1}``, ``'8'``, ``a,b``, ``range(1, 4)``, ``a\,b``.

The grammar is Hydra's own (hydra/grammar/OverrideLexer.g4 and OverrideParser.g4, 1.3): the longest token wins, the
earlier rule on a tie. It is not YAML: ``010``, ``0x10``, ``on`` and ``1:30`` are text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from effbatch_lint.compose import override_functions
from effbatch_lint.compose.sweeps import Choices, Element, Quoted

MAX_LENGTH = 20_000
MAX_DEPTH = 100

_DIGITS = r"[0-9](?:_?[0-9])*"
_WHOLE = r"(?:0|[1-9](?:_?[0-9])*)"
_POINT = rf"{_WHOLE}\.{_DIGITS}|\.{_DIGITS}|{_WHOLE}\."
FLOAT = rf"[+-]?(?:(?:{_POINT}|{_WHOLE})[eE][+-]?{_DIGITS}|{_POINT}|[Ii][Nn][Ff]|[Nn][Aa][Nn])"
INT = rf"[+-]?{_WHOLE}"
BOOL = "[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]"
NULL = "[Nn][Uu][Ll][Ll]"
ID = "[a-zA-Z_][a-zA-Z0-9_-]*"
ESC = r"(?:\\[\\()\[\]{}:=, \t])+"

# In the order of the grammar, which decides between tokens of one length.
_RULES = (
    ("(", r"[ \t]*\([ \t]*"),
    (",", r"[ \t]*,[ \t]*"),
    (")", r"[ \t]*\)"),
    ("[", r"\[[ \t]*"),
    ("]", r"[ \t]*\]"),
    ("{", r"\{[ \t]*"),
    ("}", r"[ \t]*\}"),
    (":", r"[ \t]*:[ \t]*"),
    ("=", r"[ \t]*=[ \t]*"),
    ("float", FLOAT),
    ("int", INT),
    ("bool", BOOL),
    ("null", NULL),
    ("char", r"[/\-\\+.$%*@?|]"),
    ("id", ID),
    ("esc", ESC),
    ("space", r"[ \t]+"),
    ("quoted", r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""),
    ("interpolation", r"\$\{[^}]+\}"),
)
_PLAIN = r"[\w/.+$%*@?|-]+"
_TYPED = rf"(?P<float>{FLOAT})|(?P<int>{INT})|(?P<bool>{BOOL})|(?P<null>{NULL})"
_IN_KEY = frozenset(("id", "null", "int", "float", "bool", "char", "esc", "space"))
_IN_PRIMITIVE = _IN_KEY | {"interpolation", ":"}


class Token(NamedTuple):
    """A token of the grammar and its text."""

    kind: str
    text: str


def parse(text: str) -> Element:
    """The value that the text after ``=`` spells; the empty text is the empty string.

    Raises:
        ValueError: text that the grammar refuses, with what is wrong and where.
    """
    if re.fullmatch(_PLAIN, text, re.ASCII):
        return typed(text)
    text = text.lstrip(" \t")
    if not text:
        return ""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"a value of {len(text):,} characters, over the limit of {MAX_LENGTH:,}")
    parser = _Parser(_tokens(text), text)
    first = parser.element()
    if not parser.at(","):
        parser.finish()
        return first
    values = [first]
    while parser.take(","):
        values.append(parser.element())
    parser.finish()
    return Choices(values, simple=True)


def typed(text: str) -> Element:
    """One unquoted token: a number, a truth value, null, or else text."""
    found = re.fullmatch(_TYPED, text)
    match found and found.lastgroup:
        case "int":
            return _whole(text)
        case "float":
            return float(text)
        case "bool":
            return text.lower() == "true"
        case "null":
            return None
    return text


def _whole(text: str) -> int:
    if len(text) > 1_000:  # noqa: PLR2004 - Python itself stops at 4,300 digits
        raise ValueError(f"a number of {len(text):,} digits")
    return int(text)


def _tokens(text: str) -> list[Token]:
    rules = [(kind, re.compile(pattern, re.DOTALL)) for kind, pattern in _RULES]
    tokens = []
    position = 0
    while position < len(text):
        best = Token("", "")
        for kind, rule in rules:
            found = rule.match(text, position)
            if found is not None and len(found[0]) > len(best.text):
                best = Token(kind, found[0])
        if not best.text:
            raise ValueError(f"{text[position]!r} cannot stand at character {position + 1} of the value {text!r}")
        tokens.append(best)
        position += len(best.text)
    return tokens


class _Parser:
    """Recursive descent over the tokens of one value."""

    def __init__(self, tokens: list[Token], text: str) -> None:
        self.tokens = [*tokens, Token("end", "")]
        self.text = text
        self.next = 0
        self.depth = 0

    def at(self, *kinds: str) -> bool:
        return self.tokens[self.next].kind in kinds

    def take(self, kind: str) -> bool:
        if not self.at(kind):
            return False
        self.next += 1
        return True

    def expect(self, kind: str) -> None:
        if not self.take(kind):
            raise self.wrong()

    def wrong(self) -> ValueError:
        found = self.tokens[self.next]
        what = f"{found.text.strip() or found.text!r} cannot stand there" if found.text else "it ends too early"
        return ValueError(f"{what}, in the value {self.text!r}")

    def finish(self) -> None:
        self.expect("end")

    def element(self) -> Element:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ValueError(f"a value nested deeper than {MAX_DEPTH} levels")
        value = self._element()
        self.depth -= 1
        return value

    def _element(self) -> Element:
        if self.take("["):
            return self._list()
        if self.take("{"):
            return self._dict()
        if self.at("quoted"):
            text = self.tokens[self.next].text
            self.next += 1
            return _unquoted(text)
        if self.at("id") and self.tokens[self.next + 1].kind == "(":
            return self._call()
        return self._primitive(_IN_PRIMITIVE)

    def _list(self) -> list[Element]:
        values: list[Element] = []
        if self.take("]"):
            return values
        values.append(self.element())
        while self.take(","):
            values.append(self.element())
        self.expect("]")
        return values

    def _dict(self) -> dict[Element, Element]:
        values: dict[Element, Element] = {}
        if self.take("}"):
            return values
        while True:
            key = self._primitive(_IN_KEY)
            self.expect(":")
            values[key] = self.element()
            if not self.take(","):
                break
        self.expect("}")
        return values

    def _call(self) -> Element:
        name = self.tokens[self.next].text
        self.next += 2
        positional: list[Element] = []
        named: dict[str, Element] = {}
        while not self.at(")"):
            if self.at("id") and self.tokens[self.next + 1].kind == "=":
                argument = self.tokens[self.next].text
                self.next += 2
                named[argument] = self.element()
            elif named:
                raise ValueError("positional argument follows keyword argument")
            else:
                positional.append(self.element())
            if not self.take(","):
                break
            if self.at(")"):
                raise self.wrong()
        self.expect(")")
        return override_functions.call(name, positional, named)

    def _primitive(self, allowed: frozenset[str]) -> Element:
        start = self.next
        while self.at(*allowed):
            self.next += 1
        tokens = self.tokens[start : self.next]
        if not tokens:
            raise self.wrong()
        if tokens[0].kind == "space":
            tokens = tokens[1:]
        if tokens and tokens[-1].kind == "space":
            tokens = tokens[:-1]
        if not tokens:
            raise ValueError("a value that is all whitespace")
        if len(tokens) == 1 and tokens[0].kind in ("int", "float", "bool", "null"):
            return typed(tokens[0].text)
        return "".join(token.text[1::2] if token.kind == "esc" else token.text for token in tokens)


def _unquoted(text: str) -> Quoted:
    r"""The text between the quotation marks: backslashes are taken as they stand, but for those before such a mark."""
    mark, inner = text[0], text[1:-1]
    if "\\" in inner:
        inner = re.sub(r"(\\+)" + mark, lambda found: found[1][1::2] + mark, inner)
        tail = len(inner) - len(inner.rstrip("\\"))
        inner = inner[: len(inner) - tail] + "\\" * (tail // 2)
    return Quoted(inner, mark)
