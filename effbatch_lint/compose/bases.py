"""Whether a text names files that its config stands on. Asked of every file, so that nothing is parsed for it."""

from __future__ import annotations

import re
from typing import AnyStr

BASES = ("_BASE_", "defaults", "base_config")
_NAMED = r"^(?:_BASE_|defaults|base_config):\s*(?:\[|-\s)?\s*[\"']?[^\s\"'#]+\.ya?ml\b"


def names_bases(text: AnyStr) -> bool:
    """Whether a key of inheritance is followed by the name of a YAML file (compose/inherit.py has the forms)."""
    if isinstance(text, str):
        return any(key in text for key in BASES) and re.search(_NAMED, text, re.MULTILINE) is not None
    return any(key.encode() in text for key in BASES) and re.search(_NAMED.encode(), text, re.MULTILINE) is not None


def names_parts(text: str) -> bool:
    """Whether a tag takes in another file."""
    return "!include " in text
