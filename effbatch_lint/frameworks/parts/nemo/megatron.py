"""What NeMo 1 and NeMo 2 add to Megatron: degrees cut to the job, and a batch handed to Megatron's own calculator.

    replicas = world / (min(tensor, world) x min(pipeline, world) x min(context, world))     NeMo 1
    replicas = world / (tensor x pipeline x context)                                         NeMo 2
    accumulation = global_batch_size / (micro_batch_size x replicas)

Upstream: NVIDIA/NeMo v2.0.0, nemo/collections/nlp/modules/common/megatron/megatron_init.py
(fake_initialize_model_parallel, initialize_model_parallel_for_nemo); main, nemo/lightning/data.py
(setup_microbatch_calculator). Experts: megatron/core/parallel_state.py. NeMo 2's megatron_init.py still cuts, but
nemo/collections/{llm,speechlm}/api.py (_validate_config) has refused such a layout before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.frameworks.parts.megatron.flags import values
from effbatch_lint.frameworks.parts.megatron.layout import cut, cuts, indivisible_groups
from effbatch_lint.frameworks.parts.megatron.microbatches import Division, constant, interleaved, staged
from effbatch_lint.frameworks.parts.megatron.schedule import ramp
from effbatch_lint.terms import Term, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_DEGREES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
_VIRTUAL = "virtual_pipeline_model_parallel_size"


def nemo_layout(config: Config, section: str, world: Term, *, default: int | None = 1, cutting: bool = True) -> Layout:
    """The layout that ``section`` (``model.``, ``strategy.``) describes; with ``default`` None, absent is not known."""
    written = [config.integer(f"{section}{name}", default=default) for name in _DEGREES]
    tensor, pipeline, context = after = [cut(degree, world) for degree in written] if cutting else written
    found = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    if found.problems:
        return found._replace(tensor=written[0], pipeline=written[1], context=written[2])
    experts = _experts(config, section, found)
    return found._replace(problems=(*cuts(written, after, world), *experts))


def nemo_division(config: Config, section: str, total: Term, micro: Term, layout: Layout, ramp_key: str) -> Division:
    """The batch of Megatron's calculator; ``section`` holds the number of virtual pipeline stages."""
    found = constant(total, micro, layout.replicas)
    if config.has(ramp_key):
        origin = config.origin(ramp_key)
        at = unknown(f"{ramp_key} is no ramp", *([origin] if origin else []), key=ramp_key)
        stages, problem = ramp(values(config, ramp_key), total, at)
        found = staged(stages, micro, layout.replicas) if stages else found
        found = found if problem is None else found._replace(problems=(problem,))
    virtual = config.integer(f"{section}{_VIRTUAL}", default=1)
    unfilled = interleaved(found.accumulation, layout.pipeline, virtual)
    return found if unfilled is None else found._replace(problems=(*found.problems, unfilled))


def one_micro_batch(packed: Term | None, micro: Term) -> tuple[Problem, ...]:
    """A packed row is a whole micro batch: more than one is refused."""
    if packed is None or micro.value is None or micro.value == 1:
        return ()
    return (
        Problem(
            "EB304",
            f"{micro.key} is {shown(micro.value)}, and packed sequences need a micro batch of 1",
            (micro, packed),
            refuses=True,
            help=f"set {micro.key} to 1, and divide the global batch by {shown(micro.value)} when the packs grow as much",
        ),
    )


def doubled_accumulation(config: Config) -> tuple[Problem, ...]:
    """Accumulation is Megatron's; the Trainer's own must be 1."""
    given = config.integer("trainer.accumulate_grad_batches", default=1)
    if given.value is None or given.value <= 1:
        return ()
    return (
        Problem(
            "EB304",
            f"trainer.accumulate_grad_batches is {shown(given.value)}: a Megatron model accumulates inside its step, and "
            "refuses any number but 1",
            (given,),
            refuses=True,
            help="set it to 1, and let global_batch_size say how much is accumulated",
        ),
    )


def _experts(config: Config, section: str, found: Layout) -> tuple[Problem, ...]:
    """Experts borrow data-parallel ranks; their own division of the devices must be whole."""
    expert = config.integer(f"{section}expert_model_parallel_size", default=1)
    tensor_key = f"{section}expert_tensor_parallel_size"
    tensor = config.integer(tensor_key) if config.has(tensor_key) else found.tensor
    problem = indivisible_groups(found, "experts", (tensor, expert, found.pipeline)) if expert.value != 1 else None
    return () if problem is None else (problem,)


def follows(micro: Term, replicas: Term, accumulation: Term) -> Division:
    """A batch that no key fixes: micro batch x replicas x the Trainer's accumulation."""
    return Division(product(micro, replicas, accumulation), accumulation, pinned=False)
