"""YAML text -> nodes, through libyaml's composer (the pure loader where libyaml is missing).

Composition only: no constructor runs, so no tag can build an object, and aliases stay shared nodes. An alias bomb
therefore costs nothing by itself; it is refused because whoever loads the file later would expand it.
"""

from __future__ import annotations

import yaml

from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import plain
from effbatch_lint.source import Source, Span, Unreadable


class _Untyped:
    """A composer that leaves scalars untyped, so that a node has a tag only where one is written.

    What a scalar means is the dialect's business; guessing a tag for each costs two thirds of a parse.
    """

    def descend_resolver(self, _node: object, _index: object) -> None:
        """No path resolvers."""

    def ascend_resolver(self) -> None:
        """No path resolvers."""

    def resolve(self, _kind: object, _value: object, _implicit: object) -> None:
        """No tag."""


LOADER = type("Loader", (_Untyped, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), {})

# OmegaConf 2.4 refuses more than 10,000 expanded nodes; ten times that leaves room for every honest file.
MAX_EXPANDED_NODES = 100_000
MAX_DEPTH = 200


def parse(source: Source, text: str | None = None) -> list[Node]:
    """The documents of a YAML stream; empty documents are left out.

    Raises:
        Unreadable: a syntax error, nesting over the limit, or aliases that expand past the limit, at its place.
    """
    text = source.text if text is None else text
    return [_convert(root, source.path, text) for root in _composed(source, text)[0]]


def parse_and_look(source: Source) -> tuple[list[Node], tuple[tuple[str, Span], ...]]:
    """As :func:`parse`, and the keys that stand twice in one mapping, each at its later place.

    Raises:
        Unreadable: as :func:`parse`.
    """
    roots, repeated = _composed(source, source.text)
    return [_convert(root, source.path, source.text) for root in roots], tuple(repeated)


def _composed(source: Source, text: str) -> tuple[list[yaml.Node], list[tuple[str, Span]]]:
    try:
        roots = [node for node in yaml.compose_all(text, Loader=LOADER) if node is not None]
    except yaml.YAMLError as error:
        raise _refusal(source, error) from None
    except RecursionError:
        raise Unreadable(source.span(), f"nested deeper than the limit of {MAX_DEPTH} levels") from None
    return roots, [found for root in roots for found in _looked_at(root, source)]


def _looked_at(root: yaml.Node, source: Source) -> list[tuple[str, Span]]:
    """Keys that stand twice; a tree that is too deep or that aliases blow up is refused. No node is converted."""
    repeated: list[tuple[str, Span]] = []
    stack = [] if isinstance(root, yaml.ScalarNode) else [(root, 1)]
    seen: set[int] = set()
    shared = False
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise Unreadable(_span(node, source.path), f"nested deeper than the limit of {MAX_DEPTH} levels")
        if isinstance(node, yaml.MappingNode):
            if len({key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}) != len(node.value):
                repeated += _twice(node, source)
            children = [value for _, value in node.value]
        else:
            children = node.value
        for child in children:
            if not isinstance(child, yaml.ScalarNode):
                if id(child) in seen:
                    shared = True
                    continue
                seen.add(id(child))
                stack.append((child, depth + 1))
    if shared:
        _measure(root, source)
    return repeated


def _twice(node: yaml.MappingNode, source: Source) -> list[tuple[str, Span]]:
    """Text keys only: OmegaConf refuses those, and takes the last of two equal numbers."""
    first: set[str] = set()
    found = []
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and not _is_merge(key):
            if key.value in first and (key.style or isinstance(plain(key.value, "omegaconf"), str)):
                found.append((key.value, _span(key, source.path)))
            first.add(key.value)
    return found


def _refusal(source: Source, error: yaml.YAMLError) -> Unreadable:
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    line = mark.line + 1 if mark is not None else 1
    column = mark.column + 1 if mark is not None else 1
    if "nesting depth" in reason:
        reason = "nested deeper than the limit of 1,000 levels"
    elif context:
        reason = f"not valid YAML: {context}, {reason}"
    else:
        reason = f"not valid YAML: {reason}"
    return Unreadable(source.span(line, column), reason)


def _measure(root: yaml.Node, source: Source) -> None:
    """Refuse a tree that is too deep or that aliases blow up; every node is visited once, without recursion."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        key = id(node)
        children = _children(node)
        if done:
            open_nodes.discard(key)
            sizes[key] = 1 + sum(sizes.get(id(child), 1) for child in children)
            if sizes[key] > MAX_EXPANDED_NODES:
                raise Unreadable(
                    _span(node, source.path),
                    f"aliases expand to more than the limit of {MAX_EXPANDED_NODES:,} nodes (an alias bomb)",
                )
            continue
        if key in sizes:
            continue
        if key in open_nodes:
            raise Unreadable(_span(node, source.path), "an alias that contains itself")
        if len(open_nodes) >= MAX_DEPTH:
            raise Unreadable(_span(node, source.path), f"nested deeper than the limit of {MAX_DEPTH} levels")
        open_nodes.add(key)
        stack.append((node, True))
        stack.extend((child, False) for child in children)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    return []


def _span(node: yaml.Node, path: str) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(path, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _convert(node: yaml.Node, path: str, text: str) -> Node:
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, path, text)
    if isinstance(node, yaml.SequenceNode):
        items = node.value
        return Sequence(lambda: [_convert(item, path, text) for item in items], _span(node, path))
    mapping = node
    assert isinstance(mapping, yaml.MappingNode)
    return Mapping(lambda: _entries(mapping, path, text, frozenset()), _span(node, path))


def _scalar(node: yaml.ScalarNode, path: str, text: str) -> Scalar:
    unquoted = not node.style  # libyaml says '', the pure loader None
    span = _span(node, path)
    if (
        unquoted
        and span.line == span.end_line
        and text[node.start_mark.index : node.start_mark.index + 1] in ("&", "!")
    ):
        span = span._replace(column=span.end_column - len(node.value))  # an anchor or a tag stands before the text
    return Scalar(node.value, span, plain=unquoted, tag=node.tag)


def _entries(
    node: yaml.MappingNode, path: str, text: str, seen: frozenset[int]
) -> tuple[dict[str, Entry], list[Entry]]:
    """The entries that count and those that a later one of the same key replaced.

    What ``<<`` merges in comes first, and the mapping's own keys replace it in place (PyYAML, flatten_mapping).
    """
    entries: dict[str, Entry] = {}
    duplicates: list[Entry] = []
    merges = [value for key, value in node.value if key.value == "<<" and _is_merge(key)]
    for key, entry in _merged(merges, path, text, seen | {id(node)}):
        before = entries.get(key)
        entries[key] = entry if before is None else _on_top(entry, before)
    merged = set(entries)
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode) or (merges and _is_merge(key_node)):
            continue  # a mapping or list as a key: no framework has one
        key = key_node.value
        entry = Entry(key, _span(key_node, path), _convert(value_node, path, text))
        before = entries.get(key)
        if before is None:
            entries[key] = entry
            continue
        if key in merged:
            merged.discard(key)
            entry = _on_top(entry, before)
        else:
            duplicates.append(before)
            entry.previous = before.previous
        entries[key] = entry
    return entries, duplicates


def _merged(merges: list[yaml.Node], path: str, text: str, seen: frozenset[int]) -> list[tuple[str, Entry]]:
    """What ``<<`` brings in: of a list of mappings the first counts, so that it comes last."""
    found: list[tuple[str, Entry]] = []
    for value in merges:
        for parent in reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value]:
            if isinstance(parent, yaml.MappingNode) and id(parent) not in seen:
                found.extend(_entries(parent, path, text, seen)[0].items())
    return found


def _is_merge(key: yaml.ScalarNode) -> bool:
    return bool(key.value == "<<" and not key.style)


def _on_top(entry: Entry, before: Entry) -> Entry:
    return Entry(entry.key, entry.span, entry.value, previous=(*entry.previous, before))
