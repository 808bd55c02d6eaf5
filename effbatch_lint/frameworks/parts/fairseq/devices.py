"""The devices of a fairseq run, and how many of them read different data.

    replicas = world / model_parallel_size, or the number of pipelines

Upstream: facebookresearch/fairseq, fairseq/distributed/utils.py (infer_init_method, _pipeline_parallel_pre_init,
get_data_parallel_world_size). A world size of 1 ends the search: the launcher's environment is not read any more.
Otherwise torchrun's and Slurm's number replaces the configured one without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.documents.nodes import Scalar, Sequence
from effbatch_lint.terms import ONE, Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_WORLD = ("distributed_training.distributed_world_size", "distributed-world-size")
_MODEL_PARALLEL = ("common.model_parallel_size", "model-parallel-size")
_PIPELINE = "distributed_training.pipeline_model_parallel"
_STAGES = (
    "distributed_training.pipeline_devices",
    "distributed_training.pipeline_encoder_devices",
    "distributed_training.pipeline_decoder_devices",
)


def devices(config: Config, launched: Term) -> Layout:
    """The layout; ``launched`` is what the launcher starts, unknown without one."""
    world, conflict = _world(config, launched)
    layout = Layout.of_world(
        world, tensor=config.integer(*_MODEL_PARALLEL, default=1), pipeline=_pipeline_devices(config)
    )
    return layout._replace(problems=(*conflict, *layout.problems))


def _world(config: Config, launched: Term) -> tuple[Term, tuple[Problem, ...]]:
    if not config.has(*_WORLD):
        reason = f"{_WORLD[0]} is not set: fairseq takes all devices that it sees, and no launcher is given"
        return (launched if launched.known else unknown(reason, key=_WORLD[0])), ()
    stated = config.integer(*_WORLD)
    if not launched.known or not stated.known or stated.value == launched.value:
        return (stated if stated.known else launched), ()
    alone = stated.value == 1
    problem = Problem(
        "EB203",
        f"{stated.key} is 1 and {shown(launched.value)} processes are started: each of them trains by itself"
        if alone
        else f"{stated.key} is {shown(stated.value)}, and the job is started on {shown(launched.value)} devices, which is "
        "what counts under torchrun and Slurm",
        (stated, launched),
        help=f"set {stated.key} to {shown(launched.value)}",
    )
    return (stated if alone else launched), (problem,)


def _pipeline_devices(config: Config) -> Term:
    """The devices of one pipeline: the different indices that its stages are put on."""
    if not config.flag(_PIPELINE):
        return ONE
    named = [key for key in _STAGES if config.has(key)]
    named = named[:1] if _STAGES[0] in named else named
    origins = tuple(origin for key in named if (origin := config.origin(key)) is not None)
    indices = {index for key in named for index in _indices(config, key)}
    if not indices:
        return unknown(f"{_PIPELINE} is set, and pipeline_devices names no devices", *origins, key=_STAGES[0])
    return Term(len(indices), "read", origins, "different devices", None, named[0])


def _indices(config: Config, key: str) -> list[str]:
    node = config.node(key)
    if isinstance(node, Sequence):
        return [item.text.strip() for item in node.items if isinstance(item, Scalar)]
    return [part.strip() for part in (config.text(key) or "").strip("[]() ").split(",") if part.strip()]
