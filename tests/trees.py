"""Trees of nodes as plain values, and the text that a span covers: what the tests of the readers compare."""

from __future__ import annotations

from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import Dialect, resolve
from effbatch_lint.source import Source, Span


def source(text: str, path: str = "conf") -> Source:
    """A file with this text."""
    return Source(path, f"/project/{path}", text)


def plain_value(node: Node, dialect: Dialect) -> object:
    """The node as a loader of the dialect would give it; keys stay text."""
    if isinstance(node, Scalar):
        return resolve(node, dialect)
    if isinstance(node, Sequence):
        return [plain_value(item, dialect) for item in node.items]
    return {key: plain_value(entry.value, dialect) for key, entry in node.entries.items()}


def covered(text: str, span: Span | None) -> str:
    """The text that a span on one line covers; columns are characters, lines end at a line feed."""
    assert span is not None
    assert span.line == span.end_line
    return text.split("\n")[span.line - 1][span.column - 1 : span.end_column - 1]


def entries(root: Node) -> list[Entry]:
    """Every entry of the tree that counts, parents first."""
    if isinstance(root, Scalar):
        return []
    if isinstance(root, Sequence):
        return [entry for item in root.items for entry in entries(item)]
    return [found for entry in root.entries.values() for found in (entry, *entries(entry.value))]


def only(roots: list[Node]) -> Mapping:
    """The one document, a mapping."""
    assert len(roots) == 1
    assert isinstance(roots[0], Mapping)
    return roots[0]
