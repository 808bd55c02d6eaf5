"""JSON text -> nodes, by the YAML composer: JSON is a subset of YAML but for three things, mended here in place.

DeepSpeed reads its JSON with hjson, so comments, trailing commas and unquoted words are met in real files; comments
are blanked out, character for character, so that every position stays true.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents import yaml

if TYPE_CHECKING:
    from effbatch_lint.documents.nodes import Node
    from effbatch_lint.source import Source

# A string, or a comment; strings come first so that "http://x" is none.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|#[^\n]*', re.DOTALL)
# Escaped surrogates (an emoji in JSON): valid JSON, and no valid YAML.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def parse(source: Source) -> tuple[list[Node], bool]:
    """The document, and whether it holds comments (which strict JSON forbids: a note, no error).

    Raises:
        Unreadable: text that is neither JSON nor hjson-like, at its place.
    """
    text = source.text
    commented = False
    if "//" in text or "/*" in text or "#" in text:
        blanked = _TOKEN.sub(_blank, text)
        commented, text = blanked != text, blanked
    if "\\u" in text:
        text = _SURROGATE.sub("\\\\u003f", text)
    return yaml.parse(source, text), commented


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)
