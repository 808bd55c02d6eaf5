"""The DataLoader and the Accelerator of a training script, told from the settings that the script hands to them.

A section with the arguments of ``torch.utils.data.DataLoader`` (``batch_size`` beside ``num_workers``, ``pin_memory``,
...) is a loader's. Accelerate gives every process a loader of its own, so that the number counts per process.
``gradient_accumulation_steps`` is the name of the Accelerator's own argument.

Upstream: pytorch/pytorch, torch/utils/data/dataloader.py (DataLoader); huggingface/accelerate,
src/accelerate/data_loader.py (prepare_data_loader), src/accelerate/accelerator.py (Accelerator).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION

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
    loaders = (section for section in _sections(settings, _DEEPEST) if section.count(*_BESIDE))
    return _only("batch_size", loaders)


def accumulation(settings: Config) -> Term | None:
    """The only ``gradient_accumulation_steps`` in the settings, assumed to be what the script hands to its Accelerator."""
    return _only(ACCUMULATION, _sections(settings, _DEEPEST))


def _only(key: str, sections: Iterator[Config]) -> Term | None:
    found = [section for section in sections if section.has(key) and not _NOT_TRAINING.search(section.prefix)]
    if len(found) != 1:
        return None
    size = found[0].integer(key).named(f"{found[0].prefix}{key}")
    return size._replace(how="assumed") if size.known else size


def _sections(config: Config, depth: int) -> Iterator[Config]:
    """The settings and the sections in them, to a depth."""
    yield config
    for key, entry in config.root.entries.items():
        section = config.section(key) if depth and isinstance(entry.value, Mapping) else None
        if section is not None:
            yield from _sections(section, depth - 1)
