"""Megatron-DeepSpeed: Megatron's flags decide the batch, and tell DeepSpeed's engine in every step.

    B = global-batch-size                       (micro-batch-size x replicas when it is not set)
    accumulation = B / (micro-batch-size x replicas)
    replicas = world / (tensor x pipeline x ds-sequence-parallel-size)

Upstream: deepspeedai/Megatron-DeepSpeed, megatron/arguments.py (validate_args), megatron/microbatches.py,
megatron/training.py (train: set_train_batch_size); bigscience-workshop/Megatron-DeepSpeed is the same in all of them.

A Megatron-LM of before 2023: ``rampup-batch-size`` counts, and degrees that are too large for the job are silently cut.
DeepSpeed's JSON has to be consistent when the engine is made, and its ``train_batch_size`` is then replaced; what of it
matters is in :mod:`effbatch_lint.frameworks.parts.megatron.deepspeed_engine`. Experts divide no replicas. A curriculum
over sequence lengths and random layer token dropping shorten rows: B x L is what a step sees at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import hyphenated
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.megatron.batch import megatron_batch
from effbatch_lint.frameworks.parts.megatron.checks import GLOBAL, MICRO
from effbatch_lint.frameworks.parts.megatron.deepspeed_engine import engine, shortened, through
from effbatch_lint.frameworks.parts.megatron.deepspeed_layout import SEQUENCE, layout_checks
from effbatch_lint.frameworks.parts.megatron.flags import flags
from effbatch_lint.frameworks.parts.megatron.layout import PIPELINE, TENSOR, clamped
from effbatch_lint.frameworks.parts.megatron.programs import trains

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_OWN = frozenset((
    "deepspeed-config", "zero-stage", "no-pipeline-parallel", SEQUENCE, "moe-expert-parallel-size",
    "deepspeed-activation-checkpointing", "pp-partition-method",
))  # fmt: skip
_BATCH = frozenset((MICRO, GLOBAL))
# Evaluation and conversion take the model's flags and a micro batch, and neither a length nor a learning rate.
_TRAINING = frozenset(("train-iters", "train-samples", "train-tokens", "lr"))
_BESIDE = frozenset((TENSOR, PIPELINE, "seq-length", "num-layers", "hidden-size", "rampup-batch-size"))


def recognise(config: Config) -> int:
    """Megatron's flags of a training run on a launch line, and one of DeepSpeed's."""
    names = {hyphenated(key) for key in config.root.entries}
    if not (names & _OWN and names & _BATCH and names & _TRAINING and names & _BESIDE):
        return 0
    return len(names & (_OWN | _BATCH | _TRAINING | _BESIDE))


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """The run of the flags, as DeepSpeed's engine carries it out; none where the program only converts or evaluates."""
    args = flags(config, launch=launch)
    if not trains(args, launch):
        return
    layout = clamped(args, launch.world_size, context=args.integer(SEQUENCE, default=1), default=1)
    batch = megatron_batch(args, layout, ramps=True)
    json = engine(args)
    batch = batch._replace(
        tokens_bound="at most" if shortened(args, json) else batch.tokens_bound,
        problems=(*layout_checks(args, layout), *batch.problems),
    )
    yield batch if json is None else through(batch, json, pipelined=not args.flag("no-pipeline-parallel"))


FRAMEWORK = Framework(
    name="megatron-deepspeed",
    formula="global-batch-size = micro-batch-size x accumulation x world / (tensor x pipeline x ds-sequence-parallel-size)",
    sources=(
        "deepspeedai/Megatron-DeepSpeed megatron/arguments.py",
        "deepspeedai/Megatron-DeepSpeed megatron/microbatches.py",
        "deepspeedai/Megatron-DeepSpeed megatron/training.py",
        "deepspeedai/DeepSpeed deepspeed/runtime/engine.py",
    ),
    recognise=recognise,
    read=read,
)
