"""What torchtitan and flame refuse at start besides the layout, and the keys that they drop in silence.

Upstream: pytorch/torchtitan v0.2.2, torchtitan/train.py (Trainer.__init__), torchtitan/config/manager.py
(_dict_to_dataclass: "Invalid field names"), torchtitan/distributed/pipeline_parallel.py (build_pipeline_schedule),
torchtitan/distributed/parallel_dims.py (seq_len_divisor); main, torchtitan/trainer.py; fla-org/flame, flame/train.py
and flame/data.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.frameworks.parts.torchtitan import eras
from effbatch_lint.terms import ONE, Term, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.torchtitan.eras import Era

_TWO = Term(2, "default")


def indivisible(era: Era, declared: Term, micro: Term, replicas: Term) -> Iterator[Problem]:
    """The global batch must be a positive multiple of the local batch times the replicas."""
    if declared.value == 0:
        yield _refusal(f"{declared.key} is 0; torchtitan takes -1 or a positive number", declared)
    step = product(micro, replicas)
    if not declared.value or not step.value or declared.value % step.value == 0:
        return
    below = declared.value // step.value * step.value
    reachable = " or ".join(shown(number) for number in (below, below + step.value) if number)
    yield Problem(
        "EB302",
        f"{declared.key} {shown(declared.value)} is no multiple of {era.micro} {shown(micro.value)} x "
        f"{shown(replicas.value)} replicas = {shown(step.value)}",
        (declared, micro, replicas),
        refuses=True,
        help=f"set {declared.key} to {reachable}",
    )


def of_sequences(config: Config, local: Term, length: Term | None, dims: Layout) -> Iterator[Problem]:
    """v0.2: pipeline microbatches split the local batch; tensor and 2 x context split every sequence."""
    slices = config.integer("parallelism.pipeline_parallel_microbatch_size", default=1)
    if dims.pipeline.value not in (None, 1) and local.value and slices.value and local.value % slices.value:
        yield _refusal(
            f"{local.key} {shown(local.value)} is no multiple of pipeline_parallel_microbatch_size "
            f"{shown(slices.value)}",
            slices if slices.origins else local,
            local,
            help=f"set pipeline_parallel_microbatch_size to a divisor of {shown(local.value)}",
        )
    if length is not None and product(dims.tensor, dims.context).value != 1:
        yield from _uneven(length, product(_TWO, dims.tensor, dims.context), dims)


def of_tokens(config: Config, tokens: Term, dims: Layout) -> Iterator[Problem]:
    """The token era: tensor (with sequence parallelism) and 2 x context split the tokens of a microbatch."""
    tensor = dims.tensor if config.flag("parallelism.enable_sequence_parallel", default=True) else ONE
    yield from _uneven(tokens, product(tensor, ONE if dims.context.value == 1 else product(_TWO, dims.context)), dims)
    slices = config.integer("parallelism.num_pp_microbatches", default=1)
    if slices.value is not None and slices.value > 1 and dims.pipeline.value == 1:
        yield Problem(
            "EB305",
            f"num_pp_microbatches {shown(slices.value)} has no effect: pipeline_parallel_degree is 1",
            (slices,),
            help="remove num_pp_microbatches; it multiplies the tokens per step only with pipeline parallelism",
        )


def of_flame(config: Config, micro: Term, dims: Layout) -> Iterator[Problem]:
    """Flame runs no pipelines; with ``varlen`` it packs one long row to a batch."""
    if dims.pipeline.value is not None and dims.pipeline.value > 1:
        yield _refusal(f"flame does not support pipeline_parallel_degree {shown(dims.pipeline.value)}", dims.pipeline)
    if config.flag("training.varlen") and micro.value is not None and micro.value != 1:
        yield _refusal(
            f"training.batch_size is {shown(micro.value)}; with training.varlen it must be 1",
            micro if micro.origins else config.integer("training.varlen"),
            help="set training.batch_size to 1 and lengthen training.seq_len",
        )


def stale(config: Config, era: Era) -> Iterator[Problem]:
    """Batch keys of another era: refused since the typed JobConfig, dropped in silence before."""
    if era.strict and config.has("job.custom_config_module", "experimental.custom_args_module"):
        return  # such a module may add the key to the loader's fields
    for key in dict.fromkeys(key for other in eras.ERAS for key in other.keys if key not in era.keys):
        term = config.integer(key, default=1)
        if not config.has(key) or (not era.strict and term.value in (1, -1)):
            continue
        fate = "the loader refuses it" if era.strict else "it has no effect"
        yield Problem(
            "EB304" if era.strict else "EB305",
            f"torchtitan {era.profile} has no key {key}: {fate}",
            (term,),
            refuses=era.strict,
            help=_instead(key, era),
        )


def _instead(key: str, era: Era) -> str:
    """What the era has in place of a key."""
    for other in eras.ERAS:
        for field in ("micro", "length", "declared", *eras.DEGREES):
            if getattr(other, field) == key and getattr(era, field):
                return f"use {getattr(era, field)}"
    return f"remove it; accumulation follows from {era.declared}" if era.declared else "remove it"


def _uneven(number: Term, divisor: Term, dims: Layout) -> Iterator[Problem]:
    if number.value and divisor.value and number.value % divisor.value:
        yield _refusal(
            f"{number.key} {shown(number.value)} cannot be split by tensor {shown(dims.tensor.value)} and context "
            f"{shown(dims.context.value)}: it must be a multiple of {shown(divisor.value)}",
            *(term for term in (number, dims.tensor, dims.context) if term.origins),
            help=f"set {number.key} to a multiple of {shown(divisor.value)}",
        )


def _refusal(message: str, *terms: Term, help: str | None = None) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)
