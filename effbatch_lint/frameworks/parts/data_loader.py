"""The DataLoader of a training script, told from the settings that the script hands to it.

A section with the arguments of ``torch.utils.data.DataLoader`` (``batch_size`` beside ``num_workers``, ``pin_memory``,
...) is a loader's. Accelerate gives every process a loader of its own, so that the number counts per process.

Upstream: pytorch/pytorch, torch/utils/data/dataloader.py (DataLoader); huggingface/accelerate,
src/accelerate/data_loader.py (prepare_data_loader).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term

_BESIDE = ("num_workers", "pin_memory", "drop_last", "prefetch_factor", "persistent_workers")
_NOT_TRAINING = re.compile(r"(?:^|[._])(?:val|valid|validation|eval|evaluation|test|predict|infer|inference)(?:$|[._])")
_DEEPEST = 4


def loader_batch(settings: Config) -> Term | None:
    """The ``batch_size`` of the only training loader in the settings, assumed to be the script's; None without one.

    Two sections that may both be the training loader's decide nothing.
    """
    found = [section for section in _loaders(settings, _DEEPEST) if not _NOT_TRAINING.search(section.prefix)]
    if len(found) != 1:
        return None
    size = found[0].integer("batch_size").named(f"{found[0].prefix}batch_size")
    return size._replace(how="assumed") if size.known else size


def _loaders(config: Config, depth: int) -> Iterator[Config]:
    for key, entry in config.root.entries.items():
        section = config.section(key) if depth and isinstance(entry.value, Mapping) else None
        if section is None:
            continue
        if section.has("batch_size") and section.count(*_BESIDE):
            yield section
        else:
            yield from _loaders(section, depth - 1)
