"""What DeepSpeed's engine makes of a batch that Megatron's flags decide.

Upstream: deepspeedai/Megatron-DeepSpeed, megatron/training.py (_create_ds_config_dict, train: set_train_batch_size before
every step; train_step); deepspeedai/DeepSpeed, deepspeed/runtime/config.py (the triple), deepspeed/runtime/engine.py and
deepspeed/runtime/pipe/engine.py (set_train_batch_size), deepspeed/runtime/data_pipeline (curriculum).

The engine's triple has to be consistent for the data-parallel ranks when it is made. Afterwards every step sets B, and the
engine takes B / (train_micro_batch_size_per_gpu x replicas) micro batches: of the size that the flag says. Where the two
sizes differ, the pipeline engine, which draws the micro batches itself, trains with another batch than B.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO
from effbatch_lint.frameworks.parts.deepspeed.triple import complete
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config

STAGE = "zero_optimization.stage"


def engine(args: Config) -> Config | None:
    """DeepSpeed's JSON; None without ``--deepspeed``, and where the project does not hold the file.

    A file that is not there is taken as one that goes with the flags: it could only stop the run, or contradict them.
    """
    return args.companion("deepspeed-config") if args.flag("deepspeed") else None


def shortened(args: Config, json: Config | None) -> bool:
    """Whether rows are shorter than ``seq-length`` in a part of the training."""
    curriculum = json is not None and json.flag("curriculum_learning.enabled")
    return curriculum or args.flag("data-efficiency-curriculum-learning") or args.flag("random-ltd")


def through(batch: Batch, json: Config, *, pipelined: bool) -> Batch:
    """The batch with the engine's checks, and with the number of samples that its pipeline really takes."""
    total, replicas = batch.effective, batch.layout.replicas
    batch_size, micro, accumulation = (deepspeed_json.stated(json, key) for key in (BATCH, MICRO, ACCUMULATION))
    triple = complete(batch_size, micro, accumulation, replicas)
    batch = batch._replace(
        problems=(
            *batch.problems,
            *triple.problems,
            *_stage(json, pipelined=pipelined),
            *_replaced(batch, total, batch_size, accumulation),
        )
    )
    if batch_size is None and micro is None:
        return batch
    return _divided(batch, triple.micro, total, pipelined=pipelined)


def _divided(batch: Batch, engines: Term, total: Term, *, pipelined: bool) -> Batch:
    """B / (the engine's micro batch x replicas) micro batches of the flag's size."""
    micro, replicas = batch.micro, batch.layout.replicas
    if not engines.value or not micro.value or engines.value == micro.value:
        return batch
    step = product(engines, replicas)
    differ = f"{MICRO} is {shown(engines.value)} in DeepSpeed's configuration, and {micro.key} is {shown(micro.value)}"
    advice = f"make the two equal: {MICRO} {shown(micro.value)}"
    taken = exact(total, step)
    refused = total.known and step.known and not taken.known
    real = exact(product(total, micro), engines)
    if refused:
        message = f"{differ}: {shown(total.value)} is not divisible by {shown(engines.value)} x {shown(replicas.value)} replicas"
    elif not pipelined:
        message = f"{differ}: the gradient is averaged over another number of micro batches than are summed"
    else:
        samples = "another batch" if not real.known else f"{shown(real.value)} sequences"
        message = f"{differ}: a step takes as many micro batches as DeepSpeed counts, {samples} instead of {shown(total.value)}"
    problem = Problem("EB301", message, (engines, micro, total), refuses=refused, help=advice)
    batch = batch._replace(problems=(*batch.problems, problem))
    if refused or not pipelined:
        return batch
    return batch._replace(accumulation=taken, global_batch=real, schedule=())


def _replaced(batch: Batch, total: Term, whole: Term | None, accumulation: Term | None) -> Iterator[Problem]:
    """Numbers of the JSON that the first step replaces."""
    stages = {stage.effective_batch.value for stage in batch.schedule}
    if whole is not None and whole.known and total.known and whole.value not in {total.value, *stages}:
        yield Problem(
            "EB305",
            f"{BATCH} {shown(whole.value)} has no effect: every step sets it to {shown(total.value)}"
            f" ({total.key or 'what the flags say'})",
            (whole, total),
            help=f"write {shown(total.value)}, or set --global-batch-size to {shown(whole.value)} if that is meant",
        )
    elif accumulation is not None and _differ(accumulation, batch.accumulation) and not stages:
        yield Problem(
            "EB305",
            f"{ACCUMULATION} {shown(accumulation.value)} has no effect: the flags make it "
            f"{shown(batch.accumulation.value)} in every step",
            (accumulation, total, batch.micro),
            help=f"leave {ACCUMULATION} out: it follows from --global-batch-size",
        )


def _differ(first: Term, second: Term) -> bool:
    return first.known and second.known and first.value != second.value


def _stage(json: Config, *, pipelined: bool) -> Iterator[Problem]:
    stage = json.integer(STAGE, default=0)
    if pipelined and stage.value is not None and stage.value > 1:
        yield Problem(
            "EB304",
            f"ZeRO stage {shown(stage.value)} does not go with DeepSpeed's pipeline engine, which is used without "
            "--no-pipeline-parallel also for a single stage",
            (stage,),
            refuses=True,
            help="add --no-pipeline-parallel, or use ZeRO stage 1",
        )
