"""The text of the contract's JSON."""

from __future__ import annotations

import json


def dumps(data: dict[str, object]) -> str:
    """The text of a JSON document; what does not print (control characters, half a surrogate pair) is escaped."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if text.isascii():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
