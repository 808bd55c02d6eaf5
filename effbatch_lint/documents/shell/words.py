"""Where words begin and end: quotes, expansions and comments skipped over, nothing expanded.

Works on ``Text.chars``. The rules are those of the bash manual, section "Shell Syntax"; a construct that is never
closed reaches to the end of the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.text import Text

_BLANK = " \t\n"
# What may stand before "(" in an array assignment.
_ARRAY = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
# A template's placeholder: "--model <MODEL_PATH>", "DATA=<path to data>". For bash it is a redirection, and the script
# is not to be run before it is filled in.
PLACEHOLDER = re.compile(r"(?<![<\w])<[A-Za-z][\w./:,-]*(?: [A-Za-z-][\w./:,-]*)*>(?=[\s/\"'\\]|$)")
# Runs of characters that mean nothing to the scanner at hand are jumped over.
_IN_WORD = re.compile(r"[^ \t\n\\'\"`$<>(]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_IN_BRACKETS = re.compile(r"[^\\'\"`$<>(){}\[\]#ce]+")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?=)")


def skip(chars: str, at: int) -> int:
    """The index after the construct that begins at ``at``: a quoted string, an expansion, an escape, a character."""
    match chars[at]:
        case "\\":
            return min(at + 2, len(chars))
        case "'":
            return _after(chars, chars.find("'", at + 1), 1)
        case '"':
            return double_quotes(chars, at)
        case "`":
            return backquotes(chars, at)
        case "$":
            return _dollar(chars, at)
        case "<" | ">" if chars.startswith("(", at + 1):
            return parentheses(chars, at + 1)
        case "<":
            placeholder = PLACEHOLDER.match(chars, at)
            return at + 1 if placeholder is None else placeholder.end()
    return at + 1


def double_quotes(chars: str, at: int) -> int:
    """The index after the string whose opening quote stands at ``at``."""
    at += 1
    while at < len(chars):
        plain = _IN_QUOTES.match(chars, at)
        if plain is not None:
            at = plain.end()
            continue
        match chars[at]:
            case '"':
                return at + 1
            case "\\":
                at += 2
            case "$":
                # Quotes inside an expansion are its own; "$'" is no quote here.
                at = at + 1 if chars.startswith(("$'", '$"'), at) else _dollar(chars, at, quoted=True)
            case _:
                at = backquotes(chars, at)
    return len(chars)


def backquotes(chars: str, at: int) -> int:
    """The index after the old-style substitution that opens at ``at``."""
    at += 1
    while at < len(chars) and chars[at] != "`":
        at += 2 if chars[at] == "\\" else 1
    return min(at + 1, len(chars))


def parentheses(chars: str, at: int) -> int:
    """The index after the parenthesis that matches the one at ``at``; comments and ``case`` patterns as bash has them."""
    return _closed(chars, at, "(", ")")


def braces(chars: str, at: int, *, quoted: bool = False) -> int:
    """The index after the brace that matches the one at ``at`` (of a ``${...}``)."""
    return _closed(chars, at, "{", "}", quoted=quoted)


def brackets(chars: str, at: int) -> int:
    """The index after the bracket that matches the one at ``at`` (of a subscript)."""
    return _closed(chars, at, "[", "]")


def _closed(chars: str, at: int, opening: str, closing: str, *, quoted: bool = False) -> int:
    depth, cases = 0, 0
    while at < len(chars):
        plain = _IN_BRACKETS.match(chars, at)
        if plain is not None:
            at = plain.end()
            continue
        character = chars[at]
        if character == opening:
            depth += 1
            at += 1
        elif character == closing:
            # Inside `case ... esac` a lone ")" ends a pattern.
            if cases and depth == 1 and closing == ")":
                at += 1
                continue
            depth -= 1
            at += 1
            if depth == 0:
                return at
        elif character == "#" and opening == "(" and chars[at - 1] in " \t\n;(":
            at = _after(chars, chars.find("\n", at), 0)
        elif opening == "(" and character in "ce" and chars[at - 1] in " \t\n;(":
            if re.match(r"case\s", chars[at : at + 5]):
                cases += 1
            elif re.match(r"esac\b", chars[at : at + 5]):
                cases = max(cases - 1, 0)
            at += 1
        elif character in "<>" or (quoted and character == "'"):
            # A parenthesis after "<" is counted like any other; in "${X:-it's}" the apostrophe is no quote.
            at += 1
        else:
            at = skip(chars, at)
    return len(chars)


def _dollar(chars: str, at: int, *, quoted: bool = False) -> int:
    match chars[at + 1 : at + 2]:
        case "(":
            return parentheses(chars, at + 1)
        case "{":
            return braces(chars, at + 1, quoted=quoted)
        case "[":
            return brackets(chars, at + 1)
        case "'":
            end = at + 2
            while end < len(chars) and chars[end] != "'":
                end += 2 if chars[end] == "\\" else 1
            return min(end + 1, len(chars))
        case '"':
            return double_quotes(chars, at + 1)
    return at + 1


def _after(chars: str, found: int, width: int) -> int:
    return len(chars) if found < 0 else found + width


def split(text: Text) -> list[Text]:
    """The raw words of a text, comments and line continuations left out; an array assignment is one word."""
    return [word for line in lines(text) for word in line]


def lines(text: Text) -> list[list[Text]]:
    """The raw words of a text, line by line; a line break inside a word or after a backslash is none."""
    chars = text.chars
    words: list[Text] = []
    found = [words]
    at, size = 0, len(chars)
    while at < size:
        if chars[at] == "\n":
            if words:
                words = []
                found.append(words)
            at += 1
        elif chars[at] in _BLANK:
            at += 1
        elif chars.startswith("\\\n", at):
            at += 2
        elif chars[at] == "#":
            at = _after(chars, chars.find("\n", at), 0)
        else:
            start = at
            at = word_end(chars, at)
            words.append(text.slice(start, at))
    return found


def word_end(chars: str, at: int) -> int:
    """The index after the word that begins at ``at``."""
    start = at
    while at < len(chars) and chars[at] not in _BLANK:
        plain = _IN_WORD.match(chars, at)
        if plain is not None:
            at = plain.end()
        elif chars.startswith("\\\n", at) and (at + 2 >= len(chars) or chars[at + 2] in _BLANK):
            return at
        elif chars[at] == "(" and _ARRAY.fullmatch(chars, start, at):
            at = parentheses(chars, at)
        else:
            at = skip(chars, at)
    return at
