"""What Megatron-Bridge's configuration refuses, and the batch keys that it takes and does not use.

Upstream: NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/training/config.py (ConfigContainer.validate,
TrainingConfig.finalize), src/megatron/bridge/training/initialize.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config

_LENGTHS = ("train.train_iters", "train.train_samples", "train.num_epochs")
_PACKED = "dataset.packed_sequence_specs.packed_sequence_size"
_OFFLINE = "dataset.offline_packing_specs.packed_sequence_size"


def start_checks(config: Config, micro: Term, replicas: Term) -> Iterator[Problem]:
    """The checks on the batch, in the order in which they are made; a key that the file leaves out is not judged."""
    yield from _length_of_run(config)
    yield from _packing(config, micro)
    yield from _sequence(config)
    yield from _evaluation(config, micro, replicas)
    yield from _ignored(config)


def _length_of_run(config: Config) -> Iterator[Problem]:
    stated = [key for key in _LENGTHS if config.has(key)]
    if len(stated) > 1:
        yield _refused(
            f"{' and '.join(stated)} are both set: a run has one length",
            *(config.place(key) for key in stated),
            help="keep one, and set the others to null",
        )
    if config.has("train.rampup_batch_size") and config.has(*_LENGTHS[1:]):
        counted = config.present(*_LENGTHS[1:]) or ""
        yield _refused(
            f"train.rampup_batch_size does not go with {counted}",
            config.place("train.rampup_batch_size"),
            config.place(counted),
            help="drop rampup_batch_size, which has no effect any more",
        )


def _packing(config: Config, micro: Term) -> Iterator[Problem]:
    size = config.integer(_PACKED, _OFFLINE)
    if (size.value or 0) > 0 and (micro.value or 1) > 1:
        yield _refused(
            f"packed sequences need train.micro_batch_size 1, and it is {shown(micro.value)}",
            micro,
            size,
            help="set train.micro_batch_size to 1: a row is a whole pack",
        )
    if config.flag("dataset.enable_in_batch_packing") and micro.value == 1:
        yield _refused(
            "packing within the batch needs a train.micro_batch_size above 1: it joins the samples of a micro batch",
            micro,
            config.place("dataset.enable_in_batch_packing"),
            help="raise train.micro_batch_size, or drop enable_in_batch_packing",
        )


def _sequence(config: Config) -> Iterator[Problem]:
    own, rows = config.integer("model.seq_length"), config.integer("dataset.seq_length")
    if own.known and rows.known and own.value != rows.value:
        yield _refused(
            f"model.seq_length {shown(own.value)} and dataset.seq_length {shown(rows.value)} must be equal",
            own,
            rows,
            help="make the two equal",
        )


def _evaluation(config: Config, micro: Term, replicas: Term) -> Iterator[Problem]:
    if not config.has("validation.eval_global_batch_size"):
        return
    total = config.integer("validation.eval_global_batch_size")
    own = config.integer("validation.eval_micro_batch_size")
    step = product(own if own.known else micro, replicas)
    if total.known and step.value and not exact(total, step).known:
        yield _refused(
            f"eval_global_batch_size {shown(total.value)} is not divisible by micro batch x replicas = {shown(step.value)}",
            total,
            own if own.known else micro,
            help=f"use a multiple of {shown(step.value)}",
        )


def _ignored(config: Config) -> Iterator[Problem]:
    for key in ("train.rampup_batch_size", "train.step_batch_size_schedule"):
        if config.count(key) and (config.has(key) or config.items(key)):
            yield Problem(
                "EB305",
                f"{key} has no effect: training starts at train.global_batch_size",
                (config.place(key),),
                help="remove it",
            )


def _refused(message: str, *terms: Term, help: str) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)
