"""The equation from bare numbers: ``effbatch-lint calc --micro-batch 8 --replicas 64 --accumulation 4``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.call import UsageError
from effbatch_lint.launch import Launch
from effbatch_lint.report import explain
from effbatch_lint.terms import ONE, Term, unknown

if TYPE_CHECKING:
    import argparse

    from effbatch_lint.report.style import Style


def view(given: argparse.Namespace, style: Style) -> str:
    """The view of ``explain`` for the numbers given.

    Raises:
        UsageError: neither replicas nor a world size, or both of them and they disagree.
    """
    batch = _batch(given)
    if batch.refused is not None:
        raise UsageError(batch.refused)
    return explain.view(batch, Launch(batch.layout.world), style=style) + "\n"


def _batch(given: argparse.Namespace) -> Batch:
    def term(name: str, absent: Term) -> Term:
        value = getattr(given, name.replace("-", "_"))
        return absent if value is None else Term(value, "read", key=f"--{name}")

    tensor, pipeline, context = (term(f"{axis}-parallel", ONE) for axis in ("tensor", "pipeline", "context"))
    world = term("world-size", unknown("no --world-size is given"))
    replicas = term("replicas", unknown("no --replicas are given"))
    if not replicas.known and not world.known:
        raise UsageError("calc needs --replicas, or --world-size with the model-parallel degrees")
    layout = (
        Layout.of_replicas(
            replicas, world=world if world.known else None, tensor=tensor, pipeline=pipeline, context=context
        )
        if replicas.known
        else Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    )
    return Batch(
        micro=term("micro-batch", ONE),
        accumulation=term("accumulation", ONE.named("--accumulation")),
        layout=layout,
        sequence_length=None if given.sequence_length is None else term("sequence-length", ONE),
    )
