"""The devices of a NeMo-RL cluster that train the policy: all, less those that only generate, judge or teach.

Upstream: NVIDIA-NeMo/RL (2026-08), nemo_rl/algorithms/grpo.py, ppo.py and distillation.py (setup),
nemo_rl/models/policy/teacher_worker_group.py (create_teacher_configs_from_opd_config). On one node devices are set apart,
on several nodes whole nodes are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.terms import Term, computed, product, shown, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config

_ROLLOUT = ("grpo", "ppo", "distillation")
_INFERENCE = "policy.generation.colocated.resources"
_REWARD = "env.reward_model"
_TEACHERS = "on_policy_distillation.non_colocated_teachers"
NOTHING = Term(0, "default")


def policy_devices(config: Config, algorithm: str, launched: Term) -> tuple[Term, tuple[Problem, ...]]:
    """The world size of the policy, and what the set-up refuses. The whole cluster's size may be launched too."""
    nodes, per_node = config.integer("cluster.num_nodes"), config.integer("cluster.gpus_per_node")
    cluster = product(nodes, per_node).named("cluster.num_nodes x gpus_per_node")
    stated: Term = cluster
    problems: tuple[Problem, ...] = ()
    if algorithm in _ROLLOUT and nodes.value is not None:
        stated, problems = _less(config, algorithm, nodes, per_node)
    # NeMo-Gym's models run on nodes beside the cluster, in the same job.
    beside = product(config.integer("env.nemo_gym.num_gpu_nodes", default=0), per_node)
    if not launched.known or launched.value in (stated.value, cluster.value, total(cluster, beside).value):
        return stated, problems
    if not stated.known:
        return launched, problems
    conflict = Problem(
        "EB203",
        f"cluster.num_nodes x gpus_per_node is {shown(cluster.value)} devices, of which {shown(stated.value)} train the "
        f"policy, and the job has {shown(launched.value)}",
        (nodes, per_node, launched),
        help=f"set cluster.num_nodes and cluster.gpus_per_node to the {shown(launched.value)} devices of the job",
    )
    return launched, (*problems, conflict)


def _less(config: Config, algorithm: str, nodes: Term, per_node: Term) -> tuple[Term, tuple[Problem, ...]]:
    """What is left of the cluster for training."""
    alone = nodes.value == 1
    judges = algorithm != "distillation" and _judged(config)
    reward_nodes = config.integer(f"{_REWARD}.resources.num_nodes") if judges and not alone else NOTHING
    reward_devices = config.integer(f"{_REWARD}.resources.gpus_per_node") if judges and alone else NOTHING
    policy_nodes = _minus(nodes, reward_nodes, *_teacher_nodes(config))
    problems: tuple[Problem, ...] = ()
    if config.flag("policy.generation.colocated.enabled", default=True):
        policy_per_node = _minus(per_node, reward_devices)
    elif policy_nodes.value == 1:
        policy_per_node = _minus(per_node, config.integer(f"{_INFERENCE}.gpus_per_node"), reward_devices)
        problems = tuple(_one_node(config))
    else:
        policy_per_node = per_node
        policy_nodes = _minus(policy_nodes, config.integer(f"{_INFERENCE}.num_nodes"))
        problems = tuple(_whole_nodes(config, per_node))
    nothing_left = next(
        (left for left in (policy_nodes, policy_per_node) if left.value is not None and left.value < 1), None
    )
    if nothing_left is not None:
        problem = _refused(f"nothing of the cluster is left for training: {nothing_left.formula}", nothing_left)
        return nothing_left._replace(value=None, how="unknown", reason=problem.message), (*problems, problem)
    return product(policy_nodes, policy_per_node).named("policy devices"), problems


def _judged(config: Config) -> bool:
    """Whether a data set is rewarded by a model that has devices of its own (``enabled`` is the key of older releases)."""
    for key in ("data.train", "data.validation", "data.default"):
        lists = range(len(config.items(key)))
        names = [f"{key}.env_name", *(f"{key}.{index}.env_name" for index in lists)]
        if any(config.text(name) == "reward_model" for name in names):
            return True
    return config.flag(f"{_REWARD}.enabled")


def _minus(whole: Term, *parts: Term) -> Term:
    taken = [part for part in parts if part.value != 0]
    if not taken:
        return whole
    formula = " - ".join(shown(term.value) for term in (whole, *taken))
    return computed(lambda all_of_them, part: all_of_them - part, formula, whole, total(*taken)).named(whole.key or "")


def _teacher_nodes(config: Config) -> list[Term]:
    """Whole nodes of each teacher that has devices of its own; aliases of one checkpoint share them."""
    section = config.node("on_policy_distillation.teacher_model_by_agent_name")
    if not config.flag(f"{_TEACHERS}.enabled") or not isinstance(section, Mapping):
        return []
    shared = config.flag("on_policy_distillation.deduplicate_shared_teacher_checkpoints", default=True)
    aliases = {
        entry.value.text if shared and isinstance(entry.value, Scalar) else alias: alias
        for alias, entry in reversed(section.entries.items())
    }
    overrides, common = f"{_TEACHERS}.teacher_overrides", f"{_TEACHERS}.default_teacher_cfg.num_nodes"
    return [config.integer(f"{overrides}.{alias}.num_nodes", common, default=1) for alias in aliases.values()]


def _one_node(config: Config) -> Iterator[Problem]:
    nodes = config.integer(f"{_INFERENCE}.num_nodes", default=1)
    if nodes.value != 1 and nodes.known:
        yield _refused(f"{nodes.key} is {shown(nodes.value)}, and must be 1 where one node trains and generates", nodes)


def _whole_nodes(config: Config, per_node: Term) -> Iterator[Problem]:
    devices = config.integer(f"{_INFERENCE}.gpus_per_node")
    if devices.known and per_node.known and devices.value != per_node.value:
        yield _refused(
            f"{devices.key} is {shown(devices.value)}, and must be cluster.gpus_per_node {shown(per_node.value)} where "
            "whole nodes generate",
            devices,
            per_node,
        )


def _refused(message: str, *terms: Term) -> Problem:
    return Problem("EB304", message, terms, refuses=True)
