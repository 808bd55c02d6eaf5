"""speechbrain's curricula: ``train_steps``, which are trained one after the other, each with a loader of its own.

Upstream: speechbrain/speechbrain, recipes/LibriSpeech/G2P/train.py (words, then sentences, then homographs): a step
takes its own ``dataloader_opts``, the file's where it has none, and is skipped when its epoch counter's limit is
below 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.nodes import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term

_STEPS = "train_steps"


class Step(NamedTuple):
    """One step of a curriculum: its name, and what one process' loader gives."""

    name: str
    size: Term


def is_curriculum(config: Config) -> bool:
    """Whether a step of ``train_steps`` has an epoch counter and a batch size."""
    return any(
        config.has(f"{key}.epoch_counter") and config.has(f"{key}.dataloader_opts.batch_size") for key in _keys(config)
    )


def steps(config: Config) -> list[Step]:
    """The steps that are trained, in their order."""
    return [
        Step(
            config.text(f"{key}.name") or key,
            config.integer(f"{key}.dataloader_opts.batch_size", "dataloader_opts.batch_size"),
        )
        for key in _keys(config)
        if _epochs(config, f"{key}.epoch_counter") != 0
    ]


def _keys(config: Config) -> Iterator[str]:
    for index, item in enumerate(config.items(_STEPS)):
        if isinstance(item, Mapping):
            yield f"{_STEPS}.{index}"


def _epochs(config: Config, key: str) -> int | None:
    """The limit of the counter that ``!ref <counter>`` names; 0 below 1, None where it is not known."""
    node = config.node(key)
    if not isinstance(node, Scalar):
        return None
    limit = config.integer(f"{node.text.strip('<> ')}.limit").value
    return None if limit is None else max(int(limit), 0)
