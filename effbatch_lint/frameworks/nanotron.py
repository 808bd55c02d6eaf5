"""nanotron: micro_batch_size x batch_accumulation_per_replica x dp.

Upstream: huggingface/nanotron, src/nanotron/config/config.py (Config.global_batch_size, TokensArgs),
src/nanotron/config/parallelism_config.py, src/nanotron/parallel/context.py (the world-size assertion),
src/nanotron/parallel/pipeline_parallel/engine.py (OneForwardOneBackwardPipelineEngine),
src/nanotron/data/clm_collator.py (a rank's slice of the sequence), run_train.py (the stages of the data).

The replicas are written in the file: the world size only has to match ``dp x tp x pp x context_parallel_size``. Since
2025-03 that leaves ``expert_parallel_size`` out, the grid of ranks does not, and no world size satisfies both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch
    from effbatch_lint.terms import Term


def recognise(config: Config) -> int:
    """The accumulation key is nanotron's alone; ``parallelism.dp`` beside it."""
    if not config.has("tokens.batch_accumulation_per_replica", "tokens.micro_batch_size"):
        return 0
    return config.count(
        "tokens.batch_accumulation_per_replica", "tokens.micro_batch_size", "tokens.sequence_length",
        "parallelism.dp", "parallelism.tp", "parallelism.pp",
    )  # fmt: skip


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; rows are whole sequences, so the tokens are exact."""
    expert = config.integer("parallelism.expert_parallel_size", default=1)
    layout = Layout.of_replicas(
        config.integer("parallelism.dp"),
        tensor=config.integer("parallelism.tp"),
        pipeline=config.integer("parallelism.pp"),
        context=config.integer("parallelism.context_parallel_size", default=1),
        world=launch.world_size if expert.value == 1 else None,
    )
    accumulation = config.integer("tokens.batch_accumulation_per_replica")
    length = config.integer("tokens.sequence_length")
    yield Batch(
        micro=config.integer("tokens.micro_batch_size"),
        accumulation=accumulation,
        layout=layout,
        sequence_length=length,
        problems=(
            *_experts(expert),
            *_unfilled(config, accumulation, layout.pipeline),
            *_unsliced(length, layout.context),
            *_stages(config, length),
        ),
    )


def _experts(expert: Term) -> Iterator[Problem]:
    if expert.value is not None and expert.value > 1:
        yield Problem(
            "EB304",
            f"no number of devices fits expert_parallel_size {shown(expert.value)}: the check of the world size leaves it "
            "out, and the grid of ranks counts it",
            (expert,),
            refuses=True,
            help="expert_parallel_size: 1",
        )


def _unsliced(length: Term, context: Term) -> Iterator[Problem]:
    if length.value and context.value and context.value > 0 and length.value % context.value:
        yield Problem(
            "EB304",
            f"sequence_length {shown(length.value)} is not divisible by context_parallel_size {shown(context.value)}",
            (length, context),
            refuses=True,
            help=f"use a multiple of {shown(context.value)}",
        )


def _stages(config: Config, length: Term) -> Iterator[Problem]:
    """A stage of the data may not have a length of its own, though it has a key for one."""
    for number in range(len(config.items("data_stages"))):
        key = f"data_stages.{number}.sequence_length"
        stage = config.integer(key)
        if config.has(key) and stage.known and length.known and stage.value != length.value:
            yield Problem(
                "EB304",
                f"a data stage has sequence_length {shown(stage.value)} and tokens.sequence_length is "
                f"{shown(length.value)}: nanotron wants them equal",
                (stage, length),
                refuses=True,
                help="remove it from the stage; another length is another run",
            )
            return


def _unfilled(config: Config, accumulation: Term, pipeline: Term) -> Iterator[Problem]:
    """The 1F1B engine asserts that its micro batches reach the last stage but one; the other one is the default."""
    if not accumulation.value or not pipeline.value or config.text("parallelism.pp_engine") != "1f1b":
        return
    if accumulation.value < pipeline.value - 1:
        least = shown(pipeline.value - 1)
        yield Problem(
            "EB304",
            f"{accumulation.key} {shown(accumulation.value)} is below {least}: the 1f1b engine wants at least pp - 1 "
            "micro batches",
            (accumulation, pipeline),
            refuses=True,
            help=f"set batch_accumulation_per_replica to {least} or more, or pp_engine to afab",
        )


FRAMEWORK = Framework(
    name="nanotron",
    formula="micro_batch_size x batch_accumulation_per_replica x dp",
    sources=("huggingface/nanotron src/nanotron/config/config.py",),
    recognise=recognise,
    read=read,
)
