"""A world size that the config states (devices x nodes) against the one that the launcher starts.

Lightning's cluster environments compare the two and stop (lightning/fabric/plugins/environments/torchelastic.py and
slurm.py, validate_settings); litgpt runs on Fabric and inherits the check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from effbatch_lint.terms import Term


def reconciled(stated: Term, launched: Term, keys: str) -> tuple[Term, tuple[Problem, ...]]:
    """The devices of the job, and EB203 where config and launcher differ; ``keys`` names what the config multiplies."""
    if not launched.known:
        return stated.named("world_size"), ()
    if not stated.known or stated.value == launched.value:
        return launched, ()
    # Plain digits: what is advised can be copied.
    if launched.how == "declared":
        other = f"world-size {shown(launched.value)} is declared"
        advice = f"declare world-size={stated.value}, or set {keys} to {shown(launched.value)} devices"
    else:
        other = f"the job is started on {shown(launched.value)}"
        advice = f"set {keys} to what is started, or start {shown(stated.value)} processes"
    problem = Problem(
        "EB203",
        f"{keys} is {shown(stated.value)} devices, and {other}",
        (stated, launched),
        refuses=True,
        help=advice,
    )
    return launched, (problem,)
