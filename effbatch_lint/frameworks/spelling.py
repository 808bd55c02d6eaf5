"""Key spellings that a framework's command line takes for the same key: ``--training.local-batch-size``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.merge import layered
from effbatch_lint.documents.nodes import Entry, Mapping

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


def underscored(config: Config) -> Config:
    """The same configuration, its dashed keys (to the second level) laid over their underscored spelling.

    A dashed key can only come from the command line: the frameworks that accept both spellings there (tyro,
    argparse) refuse dashes in the file. So the dashed one is the newer.
    """
    if not _dashed(config.root, depth=2):
        return config
    plain, dashed = _split(config.root, depth=2)
    return config.over(layered([plain, dashed]), config.prefix)


def _dashed(mapping: Mapping, depth: int) -> bool:
    return any(
        "-" in key or (depth > 1 and isinstance(entry.value, Mapping) and _dashed(entry.value, depth - 1))
        for key, entry in mapping.entries.items()
    )


def _split(mapping: Mapping, depth: int) -> tuple[Mapping, Mapping]:
    """The mapping without its dashed keys, and those keys alone with underscores."""
    plain: dict[str, Entry] = {}
    dashed: dict[str, Entry] = {}
    for key, entry in mapping.entries.items():
        target, name = (dashed, key.replace("-", "_")) if "-" in key else (plain, key)
        if depth > 1 and isinstance(entry.value, Mapping):
            below, renamed = _split(entry.value, depth - 1)
            target[name] = Entry(name, entry.span, below, entry.previous, entry.note)
            if renamed.entries:
                dashed[name] = Entry(name, entry.span, layered([below, renamed]) if target is dashed else renamed)
        else:
            target[name] = Entry(name, entry.span, entry.value, entry.previous, entry.note)
    return Mapping(plain, mapping.span), Mapping(dashed, mapping.span)
