"""verl's SFT trainer: train_batch_size sequences, divided among the replicas and rounded down.

    B = (data.train_batch_size // replicas) x replicas
    accumulation = B / replicas / data.micro_batch_size_per_gpu     (depends on the data with data.use_dynamic_bsz)

Upstream: verl-project/verl, verl/trainer/sft_trainer.py (_build_dataloader), verl/trainer/config/sft_trainer_engine.yaml
(use_dynamic_bsz is on); up to release 0.7 verl/trainer/fsdp_sft_trainer.py (_normalize_config_bsz), which asserts
instead of rounding. torchrun starts it: the files do not say on how many devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.frameworks.parts.verl.engines import engine_layout, sft_engine
from effbatch_lint.terms import Term, exact, floor, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_TOTAL, _MICRO = "data.train_batch_size", "data.micro_batch_size_per_gpu"
_DATA = (
    _TOTAL,
    _MICRO,
    "data.micro_batch_size",
    "data.max_length",
    "data.max_token_len_per_gpu",
    "data.use_dynamic_bsz",
)
_BESIDE = (
    "engine", "engine._target_", "model.partial_pretrain", "ulysses_sequence_parallel_size", "model.fsdp_config",
    "data.train_files", "trainer.total_epochs", "trainer.default_hdfs_dir", "data.pad_mode",
)  # fmt: skip
_OLD = ("model.partial_pretrain", "ulysses_sequence_parallel_size")


def is_sft(config: Config) -> int:
    """How many of the SFT trainer's keys there are; 0 without its data beside its engine, or the older trainer's model."""
    own = config.has(*_OLD) or (config.has("engine") and config.has(_TOTAL))
    return config.count(*_DATA, *_BESIDE) if own and config.has(*_DATA) and config.count(*_BESIDE) > 1 else 0


def sft_batch(config: Config, launch: Launch) -> Batch:
    """One batch of whole rows of at most ``data.max_length`` tokens."""
    old = config.has(*_OLD) or (launch.program or "").endswith("fsdp_sft_trainer")
    asked = config.integer(_TOTAL, default=256)
    layout = engine_layout(config, sft_engine(config, launch), launch.world_size)
    replicas = layout.replicas
    share = exact(asked, replicas) if old else floor(asked, replicas)
    batch = product(share, replicas).named(_TOTAL)
    micro, accumulation = _micro(config, share, old=old)
    return Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=config.integer("data.max_length", default=1024),
        global_batch=batch,
        declared=asked,
        tokens_bound="at most",
        problems=(*_division(asked, batch, replicas, old=old), *_micro_batches(share, micro), *_unread(config, micro)),
        profile="fsdp_sft_trainer (up to 0.7)" if old else None,
    )


def _micro(config: Config, share: Term, *, old: bool) -> tuple[Term, Term]:
    if not old and config.flag("data.use_dynamic_bsz", default=True):
        budget = config.integer("data.max_token_len_per_gpu", default=8192)
        reason = (
            f"data.use_dynamic_bsz fills a micro batch with up to {shown(budget.value)} tokens of a device: how many rows "
            "fit depends on their lengths"
        )
        origin = config.origin("data.use_dynamic_bsz")
        dynamic = unknown(reason, *([origin] if origin else []), key="data.use_dynamic_bsz")
        return dynamic, dynamic
    micro = config.integer(_MICRO, default=4)
    return micro, exact(share, micro)


def _division(asked: Term, batch: Term, replicas: Term, *, old: bool) -> tuple[Problem, ...]:
    if asked.value is None or not replicas.value or asked.value == batch.value:
        return ()
    nothing = asked.value < replicas.value
    return (
        Problem(
            "EB302" if old or nothing else "EB303",
            f"{asked.key} {shown(asked.value)} is not divisible by {shown(replicas.value)} replicas"
            + ("" if old or nothing else f", and is rounded down to {shown(batch.value)}"),
            (asked, replicas),
            refuses=old or nothing,
            help=f"set {asked.key} to a multiple of {shown(replicas.value)}",
        ),
    )


def _micro_batches(share: Term, micro: Term) -> tuple[Problem, ...]:
    if not share.value or not micro.value or exact(share, micro).known:
        return ()
    return (
        Problem(
            "EB302",
            f"a replica's {shown(share.value)} rows of a step are not divisible by {micro.key} {shown(micro.value)}",
            (micro, share),
            refuses=True,
            help=f"set {micro.key} to a divisor of {shown(share.value)}",
        ),
    )


def _unread(config: Config, micro: Term) -> tuple[Problem, ...]:
    """The older key is still in the tree, and no code reads it."""
    if not config.has("data.micro_batch_size"):
        return ()
    return (
        Problem(
            "EB305",
            f"data.micro_batch_size has no effect: {_MICRO} is what counts",
            (config.integer("data.micro_batch_size"), micro),
            help=f"set {_MICRO}, and remove data.micro_batch_size",
        ),
    )
