"""NeMo AutoModel's mesh: replicas as written, or what tensor, context and pipeline degrees leave.

Upstream: NVIDIA-NeMo/Automodel, nemo_automodel/components/distributed/mesh_utils.py (_infer_dp_size and the checks
around it). ``null``, ``none``, 0 and less mean 1, and for ``dp_size`` that it is derived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.terms import ONE, Term, exact, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

# Diffusion recipes have the sizes in a section named after the strategy.
SECTIONS = ("distributed", "fsdp", "ddp")


def layout(config: Config, world: Term) -> Layout:
    """The layout of the recipe's section of sizes."""
    tensor, pipeline, context = (size(config, name) for name in ("tp_size", "pp_size", "cp_size"))
    written = size(config, "dp_size")
    if written is ONE:
        found = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    else:
        found = Layout.of_replicas(written, world=world, tensor=tensor, pipeline=pipeline, context=context)
    further = [problem for problem in (_replicated(config, found), _experts(config, found)) if problem is not None]
    return found if found.problems else found._replace(problems=tuple(further))


def size(config: Config, name: str) -> Term:
    """A degree; ONE itself where the recipe leaves it to be 1 or to be derived."""
    for section in SECTIONS:
        key = f"{section}.{name}"
        if not config.has(key):
            continue
        if (config.text(key) or "").strip().lower() in ("none", "null"):
            return ONE
        term = config.integer(key)
        return ONE if term.value is not None and term.value <= 0 else term
    return ONE


def _replicated(config: Config, found: Layout) -> Problem | None:
    """Hybrid sharding groups the replicas: the groups are whole, and more than one device each."""
    replicate, replicas = size(config, "dp_replicate_size"), found.replicas
    if replicate.value in (None, 1) or replicas.value is None:
        return None
    if exact(replicas, replicate).known and (replicate.value or 0) < replicas.value:
        return None
    return Problem(
        "EB201",
        f"dp_replicate_size {shown(replicate.value)} must divide the {shown(replicas.value)} replicas and be less than them",
        (replicate, found.world),
        refuses=True,
        help=f"set dp_replicate_size to a proper divisor of {shown(replicas.value)}",
    )


def _experts(config: Config, found: Layout) -> Problem | None:
    experts = size(config, "ep_size")
    group = product(found.replicas, found.context, found.tensor)
    if experts.value in (None, 1) or group.value is None or exact(group, experts).known:
        return None
    return Problem(
        "EB201",
        f"{shown(group.value)} devices (replicas x cp_size x tp_size) cannot be divided into groups of ep_size "
        f"{shown(experts.value)}",
        (experts, found.world),
        refuses=True,
        help=f"set ep_size to a divisor of {shown(group.value)}",
    )
