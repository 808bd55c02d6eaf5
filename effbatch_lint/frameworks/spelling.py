"""Keys that a command line spells in two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


def underscored(config: Config) -> Config:
    """The same configuration with ``-`` as ``_`` in its top-level keys; of two spellings the later one wins.

    HfArgumentParser (transformers) and axolotl's command line declare a field under both.
    """
    entries = config.root.entries
    if not any("-" in key for key in entries):
        return config
    return config.over(Mapping({key.replace("-", "_"): entry for key, entry in entries.items()}, config.root.span))
