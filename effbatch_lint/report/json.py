"""The text of the contract's JSON."""

from __future__ import annotations

import json


def dumps(data: dict[str, object]) -> str:
    """A JSON document, indented, its characters as they are."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
