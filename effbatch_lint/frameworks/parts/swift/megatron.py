"""ms-swift on Megatron-Core: ``megatron sft|pt|rlhf``.

    B = global_batch_size (16 when it is not set) = micro_batch_size x accumulation x replicas
    replicas = processes / (tensor x pipeline x context);   expert parallelism divides none

Upstream: modelscope/ms-swift, swift/megatron/arguments/megatron_args.py (_init_distributed, _init_grpo),
swift/megatron/arguments/megatron_base_args.py, swift/ray/megatron/driver_utils.py (parse_ray_yaml: the ``train`` section
lies over the shared keys), 4.6. The names are Megatron's with underscores, the defaults ms-swift's own:
``expert_tensor_parallel_size`` is 1, whatever the tensor degree. GRPO counts completions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.compose.merge import layered
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.parts.megatron.layout import indivisible_groups
from effbatch_lint.frameworks.parts.megatron.microbatches import constant, interleaved
from effbatch_lint.frameworks.parts.swift import rollout as swift_rollout
from effbatch_lint.frameworks.parts.swift.checks import foreign, sizes
from effbatch_lint.frameworks.parts.swift.examples import example_of, tokens_of
from effbatch_lint.frameworks.parts.swift.processes import holding, processes
from effbatch_lint.terms import Term, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO, GLOBAL = "micro_batch_size", "global_batch_size"
TENSOR, PIPELINE = "tensor_model_parallel_size", "pipeline_model_parallel_size"
CONTEXT, EXPERT = "context_parallel_size", "expert_model_parallel_size"
EXPERT_TENSOR = "expert_tensor_parallel_size"
_TRAINER_ONLY = ("per_device_train_batch_size", "gradient_accumulation_steps")


def megatron_side(config: Config, launch: Launch, kind: str | None) -> Batch:
    """The batch of ``megatron sft`` (``kind`` None) or of ``megatron rlhf``."""
    world = processes(config, launch)
    config = _trained(config)
    micro, total = config.integer(MICRO, default=1), config.integer(GLOBAL, default=16)
    layout = _layout(config, world)
    division = constant(total, micro, layout.replicas)
    example = example_of(config, kind)
    return Batch(
        micro=micro,
        accumulation=division.accumulation,
        layout=layout,
        sequence_length=example.length,
        unit=example.unit,
        sequences_per_item=example.sequences,
        global_batch=total,
        declared=total if config.has(GLOBAL) else None,
        tokens=tokens_of(config, example),
        tokens_bound="at most",
        items_per_prompt=example.per_prompt,
        problems=(
            *sizes(micro, total),
            *division.problems,
            *_checks(config, launch, kind, total, micro, division.accumulation, layout),
        ),
        profile="Megatron",
    )


def _trained(config: Config) -> Config:
    """The keys of the workers that train: with Ray those of ``train`` over the shared ones."""
    section = config.node("train")
    if not isinstance(section, Mapping):
        return config
    return config.over(layered([config.root, section]), config.prefix)


def _layout(config: Config, world: Term) -> Layout:
    tensor, pipeline, context = (config.integer(key, default=1) for key in (TENSOR, PIPELINE, CONTEXT))
    experts = (config.integer(EXPERT_TENSOR, default=1), config.integer(EXPERT, default=1), pipeline)
    world = holding(world, tensor, pipeline, context, *experts[:2])
    found = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    if found.problems or not config.has(EXPERT, EXPERT_TENSOR):
        return found
    refused = indivisible_groups(found, "experts", experts)
    return found if refused is None else found._replace(problems=(refused,))


def _checks(
    config: Config, launch: Launch, kind: str | None, total: Term, micro: Term, accumulation: Term, layout: Layout
) -> Iterator[Problem]:
    yield from foreign(config, launch, _TRAINER_ONLY, "megatron")
    if config.has("sequence_parallel_size"):
        unused = config.integer("sequence_parallel_size")
        if unused.value != layout.context.value:
            yield Problem(
                "EB305",
                f"sequence_parallel_size {shown(unused.value)} has no effect: {CONTEXT} {shown(layout.context.value)} takes "
                "its place",
                (unused, layout.context),
                help=f"set {CONTEXT}",
            )
    if kind in ("grpo", "gkd"):
        yield from swift_rollout.of_megatron(config, kind, total, micro, layout)
    if config.has("virtual_pipeline_model_parallel_size"):
        stages = config.integer("virtual_pipeline_model_parallel_size")
        group = config.integer("microbatch_group_size_per_vp_stage")
        uneven = interleaved(accumulation, layout.pipeline, stages, group if group.known else None)
        if uneven is not None:
            yield uneven
    if kind == "kto" and config.text("loss_type") != "apo_zero_unpaired" and total.value == 1:
        reason = "KTO's KL term needs at least 2 rows in a step, and there is 1"
        yield Problem("EB304", reason, (total,), refuses=True, help=f"raise {GLOBAL}")
