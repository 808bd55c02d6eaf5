"""Megatron's division of the devices, shared by the frameworks that train with Megatron-Core.

    replicas = world / (tensor x pipeline x context)

Upstream: NVIDIA/Megatron-LM, megatron/training/arguments.py (validate_args), megatron/core/parallel_state.py
(initialize_model_parallel), megatron/core/model_parallel_config.py (resolve_tensor_parallel_weight_shards),
megatron/training/yaml_arguments.py (validate_yaml).

Expert parallelism borrows ranks of tensor, context and data parallelism: it divides no replicas, and has a division
of its own that must be whole. Weight shards beyond the tensor degree do hold the weights together, yet every such
rank reads data of its own (megatron/training/global_vars.py multiplies them back), so that they count as replicas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.terms import ONE, Term, computed, exact, floor, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.compose.config import Config

TENSOR, PIPELINE, CONTEXT = "tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size"
EXPERT, EXPERT_TENSOR = "expert-model-parallel-size", "expert-tensor-parallel-size"
SHARDS = "tensor-parallel-num-weight-shards"


def megatron_layout(args: Config, world: Term) -> Layout:
    """The layout that the flags describe; the replicas are unknown when Megatron refuses it."""
    tensor, pipeline = args.integer(TENSOR, default=1), args.integer(PIPELINE, default=1)
    if args.flag("use-checkpoint-args") and args.flag("use-mp-args-from-checkpoint-args"):
        origin = args.origin("use-mp-args-from-checkpoint-args")
        tensor, pipeline = (
            unknown(f"{term.key} is taken from the checkpoint", *([origin] if origin else []), key=term.key)
            for term in (tensor, pipeline)
        )
    return divided(args, world, tensor, pipeline, args.integer(CONTEXT, default=1))


def clamped(args: Config, world: Term, *, context: Term, default: int | None = None) -> Layout:
    """The layout of ``--yaml-cfg`` and of Megatron-DeepSpeed, which cut degrees that are too large for the job before
    they divide it. ``default`` is that of the degrees, where there is one.
    """
    tensor, pipeline = args.integer(TENSOR, default=default), args.integer(PIPELINE, default=default)
    fitting = computed(min, "min(tensor, world)", tensor, world)
    room = floor(world, fitting)
    after = (cut(tensor, world), cut(pipeline, room))
    found = divided(args, world, after[0], after[1], context)
    return found._replace(problems=(*found.problems, *cuts((tensor, pipeline), after, world)))


def divided(args: Config, world: Term, tensor: Term, pipeline: Term, context: Term) -> Layout:
    """``world / (tensor x pipeline x context)``, with Megatron's other conditions on the layout."""
    found = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    others = [problem for problem in (_shards(args, found), _experts(args, found)) if problem is not None]
    if not others or found.problems:
        return found
    refused = unknown(others[0].message, *found.replicas.origins)
    return found._replace(replicas=refused, problems=(*found.problems, *others))


def weight_shards(args: Config, tensor: Term) -> Term:
    """How many ranks beyond the tensor degree share one copy of the weights (``gtp_weight_remat_size``)."""
    return exact(args.integer(SHARDS), tensor) if args.has(SHARDS) else ONE


def cut(degree: Term, room: Term) -> Term:
    """``min(degree, room)``; as written while the room is not known."""
    if degree.value is None or room.value is None or degree.value <= room.value:
        return degree
    return degree._replace(value=room.value, how="derived", formula=f"{shown(degree.value)} cut to {shown(room.value)}")


def cuts(written: Iterable[Term], after: Iterable[Term], world: Term) -> Iterator[Problem]:
    """What is silently cut."""
    for before, cut_to in zip(written, after, strict=True):
        if before.value != cut_to.value:
            yield Problem(
                "EB305",
                f"{before.key} {shown(before.value)} is silently cut to {shown(cut_to.value)}: the job has "
                f"{shown(world.value)} devices",
                (before, world),
                help=f"start it on more devices, or set {before.key} to {shown(cut_to.value)}",
            )


def _shards(args: Config, found: Layout) -> Problem | None:
    shards = weight_shards(args, found.tensor)
    total = args.integer(SHARDS)
    if total.known and found.tensor.known and not shards.value:
        return Problem(
            "EB304",
            f"{SHARDS} {shown(total.value)} is no multiple of {TENSOR} {shown(found.tensor.value)}",
            (total, found.tensor),
            refuses=True,
            help=f"use a multiple of {shown(found.tensor.value)}",
        )
    return (
        indivisible_groups(found, "weight shards", (total, found.pipeline, found.context)) if args.has(SHARDS) else None
    )


def _experts(args: Config, found: Layout) -> Problem | None:
    if not args.has(EXPERT):
        return None
    expert = args.integer(EXPERT)
    tensor = args.integer(EXPERT_TENSOR) if args.has(EXPERT_TENSOR) else found.tensor
    return indivisible_groups(found, "experts", (tensor, expert, found.pipeline))


def indivisible_groups(found: Layout, what: str, degrees: tuple[Term, ...]) -> Problem | None:
    """A second division of the devices, into groups of the ``degrees``, that is not whole."""
    group, world = product(*degrees), found.world
    if not (group.known and world.known) or exact(world, group).known:
        return None
    split = " x ".join(f"{shown(term.value)} ({term.key})" for term in degrees if term.value != 1)
    return Problem(
        "EB201",
        f"{shown(world.value)} devices cannot be divided into groups of {shown(group.value)} for the {what}: {split}",
        (*(term for term in degrees if term.value != 1), world),
        refuses=True,
        help=f"use a multiple of {shown(group.value)} devices, or smaller degrees",
    )
