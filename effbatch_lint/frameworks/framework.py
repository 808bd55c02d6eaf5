"""The record of a framework: how it is recognised and how its batch is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.nodes import Mapping
    from effbatch_lint.documents.scalars import Dialect
    from effbatch_lint.launch import Launch


class Framework(NamedTuple):
    """What the tool knows of one framework.

    Attributes:
        name: as users write it (``megatron-lm``).
        formula: the framework's own arithmetic in one line.
        sources: where upstream defines it.
        recognise: how many of the framework's distinctive keys the config holds; 0 when it is not this framework.
        read: the batches that the config describes, the main one first.
        dialect: how the framework's loader types unquoted scalars.
        profiles: eras of keys or units, newest first.
        role: ``trainer`` reads a whole run; ``launcher`` (accelerate) and ``engine`` (DeepSpeed) files are also part of
            another trainer's run.
        merges: whether the trees of files handed together, in that order, are one run, merged by their top-level keys
            (``gpt-neox``); None where a run never is several files.
        starts: whether a launch line starts this framework's own program (``verl.trainer.main_ppo``), whatever its
            flags are called; None where the keys alone tell.
    """

    name: str
    formula: str
    sources: tuple[str, ...]
    recognise: Callable[[Config], int]
    read: Callable[[Config, Launch], Iterator[Batch]]
    dialect: Dialect = "pyyaml"
    profiles: tuple[str, ...] = ()
    role: Literal["trainer", "launcher", "engine"] = "trainer"
    merges: Callable[[Sequence[Mapping]], bool] | None = None
    starts: Callable[[Launch], bool] | None = None
