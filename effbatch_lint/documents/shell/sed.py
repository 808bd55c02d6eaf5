r"""``sed 's/old/new/'``: substitutions whose pattern is understood; whatever is put in keeps its places.

Scripts derive a config's path from their own (``sed 's#tests/suites#configs#'``) and take a suffix off a name
(``sed -E 's/-(fast|slow)$//'``). Source: POSIX, "Regular Expressions" and the manual of GNU sed. Everything else than a
substitution, its flags but ``g``, and references in the new text give None.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import MARK, Text, written

if TYPE_CHECKING:
    from collections.abc import Iterator

# Longer lines are not searched with an expression that repeats: it may take for ever.
_MAX_LINE = 400
_MAX_REPEATS = 3
_BLANKS = re.compile(r"(?:\\ )+[+*]")
_CLASS = re.compile(r"\[\^?[A-Za-z0-9_.,:/ -]+\]")


def edited(arguments: list[Text], stdin: Text | None) -> Text | None:
    """What ``sed`` with these arguments makes of its input; None when that is not known."""
    extended = any(word.chars in ("-E", "-r") for word in arguments)
    words = [word for word in arguments if word.chars not in ("-E", "-r")]
    expressions = [word for word in words if word.chars != "-e"]
    if stdin is None or not expressions or len(expressions) != max(1, len(words) - len(expressions)):
        return None
    text: Text | None = stdin
    for expression in expressions:
        text = None if text is None else _substituted(text, expression, extended=extended)
    return text


def _substituted(text: Text, expression: Text, *, extended: bool) -> Text | None:
    chars = expression.chars
    if not re.match(r"s[/|#,@:!~]", chars):
        return None
    ends = [found.end() - 1 for found in re.finditer(rf"(?:\\.|[^\\])*?{re.escape(chars[1])}", chars[2:])]
    if len(ends) != 2 or chars[ends[1] + 3 :] not in ("", "g"):  # noqa: PLR2004 - after the pattern, after the new text
        return None
    old, new = chars[2 : ends[0] + 2], expression.slice(ends[0] + 3, ends[1] + 2)
    pattern = _pattern(old, extended=extended)
    if pattern is None or re.search(r"[&\\\n]", new.chars):
        return None
    repeats = len(re.findall(r"[*+?]", pattern)) if _special(pattern) else 0
    # A pattern that is plain text, or a run of blanks, matches no character that is not known.
    if repeats > _MAX_REPEATS or (
        _special(pattern) and not _BLANKS.fullmatch(pattern) and not (text.known and len(text) <= _MAX_LINE)
    ):
        return None
    every = chars.endswith("g") and ends[1] + 3 < len(chars)
    lines = [Text.joined(_replaced(line, re.compile(pattern), new, every=every)) for line in text.split("\n")]
    return Text.joined(part for line in lines for part in (written("\n"), line)).slice(1)


def _special(pattern: str) -> bool:
    return re.search(r"(?<!\\)(?:\\\\)*[][.*+?()|^$]", pattern) is not None


def _pattern(old: str, *, extended: bool) -> str | None:
    """The pattern as Python writes it; None when a part of it means something that is not translated."""
    if not old or MARK in old:
        return None
    out, at = [], 0
    while at < len(old):
        character, group = old[at], _CLASS.match(old, at)
        at += 1
        if character == "\\":
            escaped = old[at : at + 1]
            at += 1
            if not escaped or escaped.isalnum() or (not extended and escaped in "(){}|"):
                return None
            # GNU: in a basic expression they repeat with a backslash, and stand for themselves without.
            out.append(escaped if not extended and escaped in "+?" else re.escape(escaped))
        elif group is not None:
            out.append(group[0])
            at = group.end()
        elif character in "[]" or (character in "{}" and extended):
            return None
        elif character == "^" and (at == 1 or extended):
            out.append("^")
        elif character == "$" and (at == len(old) or extended):
            out.append("$")
        elif character in ".*" or (extended and character in "()|+?"):
            out.append(character)
        else:
            out.append(re.escape(character))
    try:
        re.compile("".join(out))
    except re.error:
        return None
    # A repeated group may take for ever.
    return None if re.search(r"\)[*+]", "".join(out)) else "".join(out)


def _replaced(line: Text, pattern: re.Pattern[str], new: Text, *, every: bool) -> Iterator[Text]:
    at = 0
    for found in pattern.finditer(line.chars):
        yield line.slice(at, found.start())
        yield new
        at = found.end()
        if not every:
            break
    yield line.slice(at)
