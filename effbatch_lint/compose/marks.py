"""Whether a file is one that Hydra composes. Asked of every file, before anything of the composition is imported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def listed_groups(document: Document) -> Iterator[str]:
    """The keys of the groups from which a defaults list chooses: ``experiment``, ``db@source``."""
    defaults = document.mappings[0].get("defaults") if document.mappings else None
    for item in defaults.items if isinstance(defaults, Sequence) else ():
        for name in item.entries if isinstance(item, Mapping) else ():
            *words, group = name.split(" ")
            if "override" not in words:
                yield group.lstrip("/")


def listed_names(document: Document) -> Iterator[str]:
    """The names of the configs in a defaults list, without their folders; ``${model}_actor`` as it is written."""
    defaults = document.mappings[0].get("defaults") if document.mappings else None
    for item in defaults.items if isinstance(defaults, Sequence) else ():
        for chosen in item.entries.values() if isinstance(item, Mapping) else ():
            several = chosen.value.items if isinstance(chosen.value, Sequence) else (chosen.value,)
            yield from (_name(one.text) for one in several if isinstance(one, Scalar))
        if isinstance(item, Scalar):
            yield _name(item.text.partition("@")[0])


def _name(text: str) -> str:
    return text if "${" in text else text.rpartition("/")[2].removesuffix(".yaml")


def is_legacy(text: str) -> bool:
    """Whether a primary config is of the time before version_base 1.2: ``# @package _group_`` means nothing later."""
    return "@package _group_" in text[:512]


def _chooses(document: Document, word: str) -> bool:
    """Whether an override names a folder beside the file: ``+run_config=four_nodes``."""
    key = word.partition("=")[0].lstrip("+").partition("@")[0]
    return bool(key) and os.path.isdir(os.path.join(os.path.dirname(document.source.real), key))
