"""Whether a file is one that Hydra composes. Asked of every file, before anything of the composition is imported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.documents.document import Document


def lists_defaults(data: bytes) -> bool:
    """Whether the bytes may hold a defaults list; nothing is parsed for it."""
    return data.startswith(b"defaults:") or b"\ndefaults:" in data


def is_primary(document: Document, overrides: Iterable[str]) -> bool:
    """Whether Hydra composes this file: it has a defaults list, or the call chooses an option of a group beside it.

    A defaults list of names of YAML files is NeMo-RL's inheritance, and not Hydra's.
    """
    if document.kind != "yaml" or len(document.mappings) != 1:
        return False
    defaults = document.mappings[0].get("defaults")
    if isinstance(defaults, Sequence):
        texts = [getattr(item, "text", "") for item in defaults.items]
        return not texts or not all(text.endswith((".yaml", ".yml")) for text in texts)
    return defaults is None and any(_chooses(document, word) for word in overrides)


def is_legacy(text: str) -> bool:
    """Whether a primary config is of the time before version_base 1.2: ``# @package _group_`` means nothing later."""
    return "@package _group_" in text[:512]


def _chooses(document: Document, word: str) -> bool:
    """Whether an override names a folder beside the file: ``+run_config=four_nodes``."""
    key = word.partition("=")[0].lstrip("+").partition("@")[0]
    return bool(key) and os.path.isdir(os.path.join(os.path.dirname(document.source.real), key))
