"""``!include path``: the file's content in place of the tag, as draccus (Levanter) reads it.

Source: dlwh/draccus draccus/parsers/yaml_loader.py (include_constructor; ``<<: !include path`` in flatten_mapping).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from effbatch_lint.compose.named_files import Chain, Named


def included(named: Named, root: Mapping, chain: Chain, key: str = "") -> Mapping:
    """The mapping with every ``!include`` below it replaced; what ``<<: !include`` brings in lies under its own keys.

    Raises:
        Unreadable: the file cannot be read (EB901); a cycle, or no mapping where one must be (EB902).
    """
    entries: dict[str, Entry] = {}
    merged = root.entries.get("<<")
    if merged is not None and isinstance(merged.value, Scalar) and merged.value.tag == "!include":
        below = _content(named, merged.value, chain, key or "<<")
        if not isinstance(below, (Mapping, Scalar)):
            raise refusal(
                merged.span,
                f"{merged.value.text} holds {'a list' if isinstance(below, Sequence) else 'a value'}, and << merges mappings",
            )
        entries.update(below.entries if isinstance(below, Mapping) else {})
    for name, entry in root.entries.items():
        if entry is merged:
            continue
        value = _node(named, entry.value, chain, f"{key}.{name}" if key else name)
        old = entries.get(name)
        previous = entry.previous if old is None else (*entry.previous, old, *old.previous)
        entries[name] = Entry(name, entry.span, value, previous, entry.note)
    return Mapping(lambda: (entries, root.duplicates), root.span)


def _node(named: Named, node: Node, chain: Chain, key: str) -> Node:
    if isinstance(node, Scalar):
        return _content(named, node, chain, key) if node.tag == "!include" else node
    if isinstance(node, Mapping):
        return included(named, node, chain, key)
    return Sequence([_node(named, item, chain, key) for item in node.items], node.span)


def _content(named: Named, name: Scalar, chain: Chain, key: str) -> Node:
    """What the file holds, its own ``!include`` replaced; the tag itself when the project has no such file."""
    document = named.document(key, name, chain)
    if document is None:
        return name
    if not document.roots:
        return Scalar("null", name.span)
    return _node(named, document.roots[0], (*chain, document), key)
