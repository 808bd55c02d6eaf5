"""The devices of verl's training pool: trainer.nnodes x trainer.n_gpus_per_node, 1 x 8 unless given.

Upstream: verl-project/verl, verl/trainer/ppo/v1/trainer_base.py (_init_resource_pool_mgr), verl/trainer/config/
ppo_trainer.yaml. Pools of their own for rollout, reward and distillation hold no training replicas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


def pool(config: Config, launched: Term) -> tuple[Term, tuple[Problem, ...]]:
    """The world size of training, and a launch that states another."""
    nodes = config.integer("trainer.nnodes", default=1)
    per_node = config.integer("trainer.n_gpus_per_node", default=8)
    stated = product(nodes, per_node).named("trainer.nnodes x n_gpus_per_node")
    if not launched.known or launched.value == stated.value:
        return stated, ()
    if not stated.known:
        return launched, ()
    conflict = Problem(
        "EB203",
        f"trainer.nnodes x n_gpus_per_node is {shown(stated.value)} devices, and the job has {shown(launched.value)}",
        (nodes, per_node, launched),
        help=f"set trainer.nnodes and trainer.n_gpus_per_node to the {shown(launched.value)} devices of the job",
    )
    return launched, (conflict,)
