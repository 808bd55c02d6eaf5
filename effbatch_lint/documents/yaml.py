"""YAML text -> nodes, through libyaml's composer (the pure loader where libyaml is missing).

Composition only: no constructor runs, so no tag can build an object, and aliases stay shared nodes. An alias bomb
therefore costs nothing by itself; it is refused because whoever loads the file later would expand it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial

import yaml

from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import plain
from effbatch_lint.source import MAX_DEPTH, Source, Span, Unreadable


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
# YAML 1.1 ends a line at these too; editors, git and the rest of this tool do not.
_OTHER_BREAKS = ("\x85", "\u2028", "\u2029")
_NOT_PRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def parse(source: Source) -> list[Node]:
    """The documents of a YAML stream; empty documents are left out.

    Raises:
        Unreadable: a syntax error, nesting over the limit, or aliases that expand past the limit, at its place.
    """
    return [_convert(root, source.path, source.text) for root in _composed(source)]


def parse_and_look(source: Source) -> tuple[list[Node], Callable[[], tuple[tuple[str, Span], ...]]]:
    """As :func:`parse`, and a look for the keys that stand twice in one mapping, each at its later place.

    Raises:
        Unreadable: as :func:`parse`.
    """
    roots = _composed(source)
    nodes = [_convert(root, source.path, source.text) for root in roots]
    return nodes, lambda: tuple(found for root in roots for found in _repeated(root, source))


def _composed(source: Source) -> list[yaml.Node]:
    try:
        roots = [node for node in yaml.compose_all(source.text, Loader=LOADER) if node is not None]
    except yaml.reader.ReaderError as error:
        raise _not_printable(source, error.reason) from None
    except yaml.YAMLError as error:
        raise _refusal(source, error) from None
    except UnicodeEncodeError:  # half a surrogate pair, which only a command line can hold
        raise Unreadable(source.span(), "not valid YAML: text that is no Unicode") from None
    except RecursionError:
        raise Unreadable(source.span(), f"nested deeper than the limit of {MAX_DEPTH} levels") from None
    if any(mark in source.text for mark in _OTHER_BREAKS):
        for root in roots:
            _count_lines_as_editors_do(root, source.text)
    aliased = "*" in source.text and "&" in source.text  # an alias needs an anchor; a star alone is a glob or a product
    measure = _measure if aliased else _measure_depth if _may_be_deep(source.text) else None
    if measure is not None:
        for root in roots:
            measure(root, source)
    return roots


def _repeated(root: yaml.Node, source: Source) -> list[tuple[str, Span]]:
    """Text keys only: OmegaConf refuses those, and takes the last of two equal numbers. No node is converted."""
    found: list[tuple[str, Span]] = []
    stack = [] if isinstance(root, yaml.ScalarNode) else [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, yaml.MappingNode):
            if len({key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}) != len(node.value):
                found += _twice(node, source)
            children = [value for _, value in node.value]
        else:
            children = node.value
        for child in children:
            if not isinstance(child, yaml.ScalarNode) and id(child) not in seen:
                seen.add(id(child))
                stack.append(child)
    return found


def _twice(node: yaml.MappingNode, source: Source) -> list[tuple[str, Span]]:
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
    reason = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None)
    line, column = (1, 1) if mark is None else _place(source.text, min(mark.index, len(source.text)))
    if "nesting depth" in reason:
        reason = f"nested deeper than the limit of {MAX_DEPTH} levels"
    elif context:
        reason = f"not valid YAML: {context}, {reason}"
    else:
        reason = f"not valid YAML: {reason}"
    return Unreadable(source.span(line, column), reason)


def _not_printable(source: Source, reason: str) -> Unreadable:
    import re  # noqa: PLC0415 - PyYAML has imported it; named here for one error

    found = re.search(_NOT_PRINTABLE, source.text)
    if found is None:
        return Unreadable(source.span(), f"not valid YAML: {reason}")
    line, column = _place(source.text, found.start())
    return Unreadable(source.span(line, column), f"not valid YAML: the character U+{ord(found[0]):04X} is not allowed")


def _place(text: str, index: int) -> tuple[int, int]:
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _count_lines_as_editors_do(root: yaml.Node, text: str) -> None:
    lines = [-1, *(index for index, char in enumerate(text) if char == "\n")]
    stack, seen = [root], {id(root)}
    while stack:
        node = stack.pop()
        for name in ("start_mark", "end_mark"):
            index = getattr(node, name).index
            line = bisect_left(lines, index) - 1
            setattr(node, name, yaml.Mark("", index, line, index - lines[line] - 1, None, 0))
        new = [child for child in _children(node) if id(child) not in seen]
        seen.update(map(id, new))
        stack.extend(new)


def _may_be_deep(text: str) -> bool:
    """Whether the text could nest deeper than the limit: judged by its brackets and its indentation, without a walk.

    A level of a block takes a column of indentation, shared by a mapping and a list at most; one in brackets, or in a
    row of dashes, an opening that is followed by another.
    """
    import re  # noqa: PLC0415 - PyYAML has imported it

    nested = len(re.findall(r"[\[{][^\[\]{}]*(?=[\[{])|[-?][ \t]+(?=[-?][ \t])", text))
    return nested > MAX_DEPTH // 4 or "\n" + " " * (MAX_DEPTH // 4) in text


def _measure_depth(root: yaml.Node, source: Source) -> None:
    """Refuse a tree that is too deep; without aliases each node is met once."""
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            if not isinstance(node, yaml.ScalarNode)
            for child in _children(node)
            if not isinstance(child, yaml.ScalarNode)
        ]
        if not level:
            return
    raise Unreadable(_span(level[0], source.path), f"nested deeper than the limit of {MAX_DEPTH} levels")


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
        if len(open_nodes) >= MAX_DEPTH and not isinstance(node, yaml.ScalarNode):
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
        if not isinstance(key_node, yaml.ScalarNode):
            continue  # a mapping or list as a key: no framework has one
        if merges and _is_merge(key_node) and not isinstance(value_node, yaml.ScalarNode):
            continue  # merged above; ``<<: !include other.yaml`` stays as it is, for compose/inherit.py
        key = key_node.value
        entry = Entry(key, partial(_span, key_node, path), partial(_convert, value_node, path, text))
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
