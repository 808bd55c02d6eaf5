"""The project's Python files, looked at and never run: the syntax tree of those that hold a word."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.files import Files

# The largest module that registers anything is under 100 kB.
MAX_BYTES = 1_000_000


def modules(files: Files, paths: Iterable[str], *words: bytes) -> Iterator[tuple[str, ast.Module]]:
    """The path as a person sees it and the syntax tree of each file that holds one of the words.

    A file that cannot be read or parsed tells nothing, and is passed over.
    """
    for path in paths:
        text = files.peek(path)
        if text is None or len(text) > MAX_BYTES or not any(word in text for word in words):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # escapes that a future Python will refuse are not ours to report
                tree = ast.parse(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        yield files.shown(path), tree


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of names and attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
