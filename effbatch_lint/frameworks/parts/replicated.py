"""Replicas that are left, some of them grouped (hybrid sharding): torchtitan's ParallelDims, and torchtune's copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout
    from effbatch_lint.terms import Term


def replicated(rest: Layout, replicate: Term) -> Layout:
    """The replicas that are left to the sharding degree -1, which the replicate degree must divide.

    Source: pytorch/torchtitan torchtitan/distributed/parallel_dims.py, pytorch/torchtune torchtune/training/
    _distributed.py (ParallelDims._validate).
    """
    if rest.replicas.value is None or not replicate.value or rest.replicas.value % replicate.value == 0:
        return rest
    key = (replicate.key or "the replicate degree").rpartition(".")[2]
    problem = Problem(
        "EB201",
        f"{shown(rest.world.value)} devices are {shown(rest.replicas.value)} replicas, which is no multiple of "
        f"{key} {shown(replicate.value)}",
        (replicate, rest.world),
        refuses=True,
        help=f"set {key} to a divisor of {shown(rest.replicas.value)}",
    )
    return rest._replace(replicas=unknown(problem.message, *replicate.origins), problems=(problem,))
