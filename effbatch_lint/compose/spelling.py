"""Keys that a framework treats as one although they are spelled differently: ``model-parallel-size`` and
``model_parallel_size``, ``--micro-batch-size`` and ``micro_batch_size``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.merge import before
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.source import Span


def underscored(key: str) -> str:
    """``model-parallel-size`` as ``model_parallel_size``."""
    return key.replace("-", "_")


def hyphenated(key: str) -> str:
    """``--micro-batch-size`` and ``micro_batch_size`` as ``micro-batch-size``."""
    return key.lstrip("-").replace("_", "-")


def respelled(layers: Iterable[Mapping], rule: Callable[[str], str]) -> Mapping:
    """The layers' own entries as one tree, each key spelled by ``rule``; of two entries with one key the later counts.

    Later means: a later layer, then a later line; what the command line overrides counts over any file. The entries that
    lost are the tree's ``duplicates``, also those that lost inside a layer already.
    """
    layers = list(layers)
    entries: dict[str, Entry] = {}
    lost: list[Entry] = [entry for layer in layers for entry in layer.duplicates]
    written = [entry for layer in layers for entry in layer.entries.values()]
    for entry in sorted(written, key=lambda entry: entry.note is not None):
        key = rule(entry.key)
        old = entries.get(key)
        if old is not None and entry.note is None:
            lost.append(old)
        entries[key] = Entry(entry.key, entry.span, entry.value, (*entry.previous, *before(old)), entry.note)
    return Mapping(lambda: (entries, lost), layers[0].span if layers else None)


def undashed(config: Config, levels: int = 1) -> Config:
    """The configuration with ``-`` as ``_`` in the keys of its first ``levels``: ``--training.local-batch-size 4``.

    HfArgumentParser, tyro and axolotl's command line declare a field under both spellings; what the command line says
    counts over the file.
    """
    root = _undashed(config.root, levels)
    return config if root is config.root else config.over(root, config.prefix)


def _undashed(mapping: Mapping, depth: int) -> Mapping:
    """The mapping itself where no key of it has a dash, which is nearly always."""
    entries = mapping.entries
    sections = {
        key: changed
        for key, entry in (entries.items() if depth > 1 else ())
        if isinstance(entry.value, Mapping) and (changed := _undashed(entry.value, depth - 1)) is not entry.value
    }
    if not sections and not any("-" in key for key in entries):
        return mapping
    changed_entries = {
        key: Entry(entry.key, entry.span, sections[key], entry.previous, entry.note) if key in sections else entry
        for key, entry in entries.items()
    }
    return respelled([Mapping(changed_entries, mapping.span)], underscored)


def repeats(tree: Mapping, rule: Callable[[str], str], keys: Iterable[str]) -> Iterator[tuple[Entry, Entry]]:
    """The entries of :func:`respelled` trees that lost and the one that counts, for ``keys`` whose values differ.

    A key that stands twice in its one spelling is not among them: the rule EB307 sees that without a framework's help.
    """
    wanted = set(keys)
    for earlier in tree.duplicates:
        key = rule(earlier.key)
        counting = tree.entries[key]
        plain = earlier.key == counting.key == key and path_of(earlier.span) == path_of(counting.span)
        if key in wanted and not plain and counting.note is None and text_of(earlier) != text_of(counting):
            yield earlier, counting


def path_of(span: Span | None) -> str | None:
    """The file of a place."""
    return None if span is None else span.path


def text_of(entry: Entry) -> str:
    """What is written as the value, for a message."""
    return entry.value.text if isinstance(entry.value, Scalar) else "a list or mapping"
