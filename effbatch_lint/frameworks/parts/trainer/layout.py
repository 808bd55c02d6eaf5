"""The replicas of HF Trainer: processes // tensor // context // sequence parallel.

Upstream: huggingface/transformers, src/transformers/trainer.py (Trainer.get_total_train_batch_size, get_tp_size,
get_cp_size, get_sp_size, 5.24.0). 4.57 divided by the tensor-parallel degree only, in what it logs.

The divisions are floors and nothing checks them: processes that are left over are named here.
"""

from __future__ import annotations

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.terms import ONE, Term, near, product, shown


def trainer_layout(world: Term, *, tensor: Term = ONE, context: Term = ONE, sequence: Term = ONE) -> Layout:
    """The layout of a Trainer run on ``world`` processes; context and sequence parallelism both split a sequence."""
    split = sequence if context.value == 1 else context if sequence.value == 1 else product(context, sequence)
    layout = Layout.of_world(world, tensor=tensor, context=split, rounding="floor")
    model = layout.model_parallel
    if not world.value or not model.value or world.value % model.value == 0:
        return layout
    if world.value < model.value:
        return Layout.of_world(world, tensor=tensor, context=split)
    degrees = [term for term in (tensor, split) if term.value != 1]
    names = " x ".join(f"{term.key} {shown(term.value)}" for term in degrees)
    left_over = Problem(
        "EB201",
        f"{shown(world.value)} processes cannot be split into replicas of {shown(model.value)} ({names}): "
        f"{shown(world.value % model.value)} left over, which Trainer does not notice",
        (*degrees, world),
        help=f"start it on {near(world.value, model.value)} processes",
    )
    return layout._replace(problems=(left_over,))
