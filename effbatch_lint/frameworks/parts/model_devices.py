"""The devices of one model in a job of several: RL programs on Ray state them per model, whatever the cluster has.

Shared by the frameworks whose actor, critic and reference have node counts of their own.
"""

from __future__ import annotations

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, product, shown


def model_devices(role: str, nodes: Term, each: Term, given: Term) -> tuple[Term, tuple[Problem, ...]]:
    """``nodes x each``, and a job that is declared to have fewer.

    It may well have more: those of the other models and of generation. What submits the job may have any number.
    """
    world = product(nodes, each).named(f"{nodes.key} x {each.key}")
    if given.how != "declared" or world.value is None or given.value is None or given.value >= world.value:
        return world, ()
    conflict = Problem(
        "EB203",
        f"{world.key} is {shown(world.value)} devices, and the job has {shown(given.value)}",
        (nodes, each, given),
        help=f"start a job of {shown(world.value)} devices or more, or give the {role} fewer",
    )
    return world, (conflict,)
