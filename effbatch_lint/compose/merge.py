"""Putting trees together: an override on top of a file, a later file on top of an earlier one."""

from __future__ import annotations

from collections.abc import Iterable

from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.source import MAX_DEPTH, Source


def override(root: Mapping, word: str, *, note: str | None = None) -> Mapping:
    """``root`` with one ``KEY=VALUE`` word applied; ``root`` itself is not changed.

    The key is dotted, with or without Hydra's ``+``; missing sections are made. The value is a YAML flow value. ``note``
    says who set it, when it was not the command line.

    Raises:
        ValueError: see :func:`key_and_text`.
    """
    key, text = key_and_text(word)
    return _set(root, key, Entry(key.rpartition(".")[2], None, parsed_value(text), note=note or f"--override {word}"))


def key_and_text(word: str) -> tuple[str, str]:
    """The key of a ``KEY=VALUE`` word without ``+`` or dashes, and the text of its value.

    Raises:
        ValueError: no ``=``, no key, or a key of too many parts, in a sentence.
    """
    key, equals, text = word.partition("=")
    key = key.strip().lstrip("+-")
    if not equals or not key:
        raise ValueError(f"{word!r} is no KEY=VALUE")
    if key.count(".") >= MAX_DEPTH:
        raise ValueError(f"a key of {key.count('.') + 1:,} parts, over the limit of {MAX_DEPTH}")
    return key, text


def environment(words: Iterable[str]) -> dict[str, str]:
    """The variables that ``env:NAME=VALUE`` words state."""
    stated = (word.removeprefix("env:").partition("=") for word in words if word.startswith("env:"))
    return {name: value for name, _, value in stated}


def parsed_value(text: str) -> Node:
    """The node of an override's value: a YAML flow list or mapping is taken apart, all else is a scalar."""
    if text[:1] in ("[", "{", '"', "'"):
        from effbatch_lint.documents import yaml  # noqa: PLC0415 - few overrides are lists or quoted
        from effbatch_lint.source import Unreadable  # noqa: PLC0415 - as above

        try:
            return _placeless(yaml.parse(Source("--override", "", text))[0])
        except Unreadable:
            return Scalar(text, None)
    return Scalar(text, None)


def _placeless(node: Node) -> Node:
    """The node without places: an override stands in no file."""
    if isinstance(node, Scalar):
        return Scalar(node.text, None, plain=node.plain, tag=node.tag)
    if isinstance(node, Sequence):
        return Sequence([_placeless(item) for item in node.items], None)
    return Mapping({key: Entry(key, None, _placeless(entry.value)) for key, entry in node.entries.items()}, None)


def _set(root: Mapping, key: str, entry: Entry) -> Mapping:
    entries = dict(root.entries)
    head, dot, tail = key.partition(".")
    if key in entries or not dot:
        old = entries.get(key)
        entries[key] = Entry(key, entry.span, entry.value, before(old), entry.note)
        return Mapping(entries, root.span)
    below = entries[head].value if head in entries else None
    if isinstance(below, Sequence) and tail.partition(".")[0].isdecimal():
        entries[head] = Entry(head, entries[head].span, _set_item(below, tail, entry))
    else:
        section = below if isinstance(below, Mapping) else Mapping({}, None)
        entries[head] = Entry(head, entries[head].span if head in entries else None, _set(section, tail, entry))
    return Mapping(entries, root.span)


def _set_item(items: Sequence, key: str, entry: Entry) -> Sequence:
    head, dot, tail = key.partition(".")
    changed = list(items.items)
    if int(head[:6]) < len(changed):
        old = changed[int(head[:6])]
        changed[int(head[:6])] = _set(old, tail, entry) if dot and isinstance(old, Mapping) else entry.value
    return Sequence(changed, items.span)


def before(old: Entry | None) -> tuple[Entry, ...]:
    """What an entry that replaces ``old`` overrode: the newest first."""
    return () if old is None else (Entry(old.key, old.span, old.value, (), old.note), *old.previous)


def layered(roots: list[Mapping]) -> Mapping:
    """Several trees as one, a later one on top of an earlier one: mappings are joined, all else is replaced."""
    result = roots[0]
    for root in roots[1:]:
        result = _layer(result, root)
    return result


def stacked(roots: list[Mapping]) -> Mapping:
    """Several trees as one by their top-level keys alone: a later entry replaces an earlier one whole, which is kept
    among the ``duplicates``."""
    entries: dict[str, Entry] = {}
    lost: list[Entry] = [entry for root in roots for entry in root.duplicates]
    for root in roots:
        for key, entry in root.entries.items():
            old = entries.get(key)
            if old is not None:
                lost.append(old)
            entries[key] = Entry(key, entry.span, entry.value, (*entry.previous, *before(old)), entry.note)
    return Mapping(lambda: (entries, lost), roots[0].span)


def _layer(below: Mapping, above: Mapping) -> Mapping:
    entries = dict(below.entries)
    for key, entry in above.entries.items():
        old = entries.get(key)
        if old is not None and isinstance(old.value, Mapping) and isinstance(entry.value, Mapping):
            value: Node = _layer(old.value, entry.value)
            entries[key] = Entry(key, entry.span, value)
        else:
            entries[key] = Entry(key, entry.span, entry.value, (*entry.previous, *before(old)), entry.note)
    return Mapping(entries, above.span)
