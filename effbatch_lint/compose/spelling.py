"""Keys that a framework treats as one although they are spelled differently: ``model-parallel-size`` and
``model_parallel_size``, ``--micro-batch-size`` and ``micro_batch_size``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.merge import before
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
