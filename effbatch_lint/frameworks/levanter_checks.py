"""What Levanter's trainer refuses of a batch.

Upstream: stanford-crfm/levanter 1.2, src/levanter/trainer.py (TrainerConfig._validate_and_set_defaults),
src/levanter/data/loader.py (DataLoader).

``allow_nondivisible_batch_size`` speaks to the data loader alone: a whole number that is no multiple of the replicas
still fails, because the parallelism was rounded down before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, exact, floor, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from effbatch_lint.batch import Stage
    from effbatch_lint.compose.config import Config


def divisions(
    config: Config, schedule: Sequence[Stage], batch: Term, parallelism: Term, replicas: Term
) -> Iterator[Problem]:
    """The first of its checks that fails, for every phase of a schedule."""
    stated = config.integer("trainer.train_batch_size", default=512)
    if stated.value == -1 and parallelism.value == -1 and not schedule:
        yield _refused(
            "train_batch_size and per_device_parallelism are both -1: one of them must be a number",
            stated,
            parallelism,
            help="set train_batch_size",
        )
        return
    loader = not config.flag("trainer.allow_nondivisible_batch_size")
    for phase in [stage.effective_batch for stage in schedule] or [batch]:
        share = parallelism if parallelism.value != -1 else floor(phase, replicas)
        if not (schedule and parallelism.value == -1):
            found = _phase(phase, share, parallelism, replicas)
        else:
            found = _loaded(phase, replicas) if loader else None
        if found is not None:
            yield found
            return


def _phase(batch: Term, share: Term, parallelism: Term, replicas: Term) -> Problem | None:
    if batch.value is None or share.value is None or not replicas.value:
        return None
    if share.value < 1:
        return _refused(
            f"train_batch_size {shown(batch.value)} is less than one sequence for each of {shown(replicas.value)} replicas",
            batch,
            replicas,
            help=f"raise train_batch_size to a multiple of {shown(replicas.value)}",
        )
    step = product(share, replicas)
    if exact(batch, step).known:
        return None
    rounded = ", rounded down" if parallelism.value == -1 else ""
    return _refused(
        f"train_batch_size {shown(batch.value)} is no multiple of {shown(share.value)} (per_device_parallelism{rounded}) x "
        f"{shown(replicas.value)} replicas = {shown(step.value)}",
        batch,
        share,
        replicas,
        help=f"use a multiple of {shown(step.value)}, or another number of devices",
    )


def _loaded(batch: Term, replicas: Term) -> Problem | None:
    if batch.value is None or not replicas.value or exact(batch, replicas).known:
        return None
    return _refused(
        f"train_batch_size {shown(batch.value)} is no multiple of {shown(replicas.value)} replicas",
        batch,
        replicas,
        help=f"use a multiple of {shown(replicas.value)}, or set allow_nondivisible_batch_size",
    )


def _refused(message: str, *terms: Term, help: str) -> Problem:
    return Problem("EB302", message, terms, refuses=True, help=help)
