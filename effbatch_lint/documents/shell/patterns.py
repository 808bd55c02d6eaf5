"""Shell patterns (``*``, ``?``, ``[a-z]``, ``@(a|b)``) -> regular expressions.

The expressions never backtrack past a fixed part (atomic groups, as :mod:`fnmatch` writes them), so that a hostile
pattern costs no more than a long one.
"""

from __future__ import annotations

import re

_EXTENDED = {"@": "", "?": "?", "*": "*", "+": "+"}


def longest(expression: str) -> int:
    """The longest text that is matched against an expression: repeated groups try each way to share a text among them."""
    repeated = len(re.findall(r"\)[*+]", expression))
    if repeated and "|" in expression:
        return 24
    if repeated > 1:
        return 60
    return 400 if expression.count(".*") - expression.count("(?>.*") > 1 else 10_000


def regex(parts: list[tuple[str, bool]]) -> str:
    """The expression for a pattern given in stretches: text, and whether its characters are special."""
    return "".join(_glob(text) if special else re.escape(text) for text, special in parts)


def whole(parts: list[tuple[str, bool]]) -> re.Pattern[str]:
    """An expression that matches a whole text against a pattern without backtracking over its stars."""
    fixed: list[str] = [""]
    for text, special in parts:
        pieces = re.split(r"\*+(?!\()", text) if special else [text]
        fixed[-1] += regex([(pieces[0], special)])
        fixed.extend(regex([(piece, special)]) for piece in pieces[1:])
    if len(fixed) == 1:
        return re.compile(fixed[0], re.DOTALL)
    middle = "".join(f"(?>.*?{part})" for part in fixed[1:-1])
    return re.compile(f"{fixed[0]}{middle}.*{fixed[-1]}", re.DOTALL)


def _glob(text: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character in "@?*+!" and text.startswith("(", at + 1) and (end := text.find(")", at)) > 0:
            inner = "|".join(_glob(option) for option in text[at + 2 : end].split("|"))
            out.append(f"(?:(?!(?:{inner})$).*)" if character == "!" else f"(?:{inner}){_EXTENDED[character]}")
            at = end + 1
        elif character == "*":
            out.append(".*")
            at += 1
        elif character == "?":
            out.append(".")
            at += 1
        elif character == "[" and (end := _bracket_end(text, at)) > 0:
            out.append(_bracket(text[at + 1 : end]))
            at = end + 1
        else:
            out.append(re.escape(character))
            at += 1
    return "".join(out)


def _bracket_end(text: str, at: int) -> int:
    # A "]" that comes first, or first after the negation, is a member; "[:digit:]" has one of its own.
    start = at + 2 if text[at + 1 : at + 2] in ("!", "^") else at + 1
    end = text.find("]", start + 1)
    while end > 0 and text.rfind("[:", at + 1, end) > text.rfind(":]", at + 1, end):
        end = text.find("]", end + 1)
    return end


CLASSES = {
    "[:digit:]": "0-9", "[:alpha:]": "a-zA-Z", "[:alnum:]": "a-zA-Z0-9", "[:space:]": r"\s",
    "[:upper:]": "A-Z", "[:lower:]": "a-z", "[:blank:]": r" \t",
}  # fmt: skip


def _bracket(inner: str) -> str:
    negated = inner[:1] in ("!", "^")
    inner = inner[1:] if negated else inner
    for name, members in CLASSES.items():
        inner = inner.replace(name, f"\0{members}\0")
    stretches = inner.split("\0")
    members = "".join(
        stretch if index % 2 else re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", stretch)
        for index, stretch in enumerate(stretches)
    )
    return f"[{'^' if negated else ''}{members}]"
