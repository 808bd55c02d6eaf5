"""OLMo-core's saved ``config.json``: every batch key counts tokens.

    accumulation = data_loader.global_batch_size / (train_module.rank_microbatch_size x replicas)
    replicas = devices / (tensor x pipeline x context)      expert parallelism borrows data-parallel ranks

Upstream: allenai/OLMo-core 2.5, src/olmo_core/train/train_module/transformer/train_module.py (pre_train),
src/olmo_core/distributed/parallel/__init__.py (build_world_mesh).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

GLOBAL, MICRO = "data_loader.global_batch_size", "train_module.rank_microbatch_size"
_LENGTH = ("dataset.sequence_length", "sequence_length", "sequence-length", "train_module.max_sequence_length")


def recognised(config: Config) -> int:
    """How many of OLMo-core's keys there are; both batch keys must be."""
    if not (config.has(GLOBAL) and config.has(MICRO)):
        return 0
    return config.count(GLOBAL, MICRO, *_LENGTH, "train_module.dp_config", "trainer", "dataset", "model")


def batch(config: Config, world: Term) -> Batch:
    """The batch in sequences of the data set's length; its tokens are what is declared."""
    tokens, rank = config.integer(GLOBAL), config.integer(MICRO)
    degree = {name: config.integer(f"train_module.{name}_config.degree", default=1) for name in ("tp", "pp", "cp")}
    layout = Layout.of_world(world, tensor=degree["tp"], pipeline=degree["pp"], context=degree["cp"])
    length = config.integer(*_LENGTH)
    step = product(rank, layout.replicas)
    return Batch(
        micro=exact(rank, length),
        accumulation=exact(tokens, step),
        layout=layout,
        sequence_length=length,
        global_batch=exact(tokens, length).because(f"{shown(tokens.value)} tokens / {shown(length.value)}"),
        declared=tokens,
        tokens=tokens,
        problems=tuple(_checks(config, tokens, rank, step, length)),
        profile="OLMo-core (tokens)",
    )


def _checks(config: Config, tokens: Term, rank: Term, step: Term, length: Term) -> Iterator[Problem]:
    if tokens.known and step.value and not exact(tokens, step).known:
        yield Problem(
            "EB302",
            f"{GLOBAL} {shown(tokens.value)} tokens is not divisible by {MICRO} x replicas = {shown(step.value)} tokens",
            (tokens, rank),
            refuses=True,
            help=f"use a multiple of {shown(step.value)} tokens",
        )
    limit = config.integer("train_module.max_sequence_length")
    if rank.known and limit.value and not exact(rank, limit).known:
        yield Problem(
            "EB304",
            f"{MICRO} {shown(rank.value)} tokens is no multiple of max_sequence_length {shown(limit.value)}",
            (rank, limit),
            refuses=True,
            help=f"write {MICRO} as sequences x {shown(limit.value)}",
        )
    elif rank.value is not None and length.value is not None and length.value > rank.value:
        yield Problem(
            "EB304",
            f"a row of {shown(length.value)} tokens is longer than {MICRO} {shown(rank.value)}",
            (rank, length),
            refuses=True,
            help=f"write {MICRO} as sequences x {shown(length.value)}",
        )
    degrees = [f"{name}_config" for name in ("tp", "pp", "cp", "ep") if config.has(f"train_module.{name}_config")]
    if degrees and not config.has("train_module.dp_config"):
        yield Problem(
            "EB304",
            f"{' and '.join(degrees)} of the train module need a dp_config beside them",
            (config.integer(f"train_module.{degrees[0]}.degree"),),
            refuses=True,
            help="add dp_config",
        )
