"""What Megatron's argument validation refuses beside the division of the batch itself.

Upstream: NVIDIA/Megatron-LM, megatron/training/arguments.py (validate_args). Checks of the model alone (layers over
pipeline stages, heads over tensor ranks) are left to Megatron: they say nothing of the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.compose.spelling import hyphenated
from effbatch_lint.frameworks.parts.megatron.flags import values
from effbatch_lint.frameworks.parts.megatron.layout import CONTEXT, EXPERT, PIPELINE, TENSOR, weight_shards
from effbatch_lint.frameworks.parts.megatron.microbatches import interleaved
from effbatch_lint.frameworks.parts.megatron.stages import virtual_stages, written_stages
from effbatch_lint.frameworks.parts.repeated_flags import repeated_flags
from effbatch_lint.terms import Term, exact, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.megatron.microbatches import Division

MICRO, GLOBAL = "micro-batch-size", "global-batch-size"
SCHEDULE, RAMP = "step-batch-size-schedule", "rampup-batch-size"
DECISIVE = (MICRO, GLOBAL, SCHEDULE, RAMP, TENSOR, PIPELINE, CONTEXT, "seq-length", "encoder-seq-length")

# Renamed in 2020; the old flag still exists to say so.
_RENAMED = {"batch-size": MICRO, "model-parallel-size": TENSOR}

# Training is counted in iterations or in samples, and so is its schedule; a warm-up of 0 is none.
_COUNTED = {
    "train-iters": ("train-samples", "lr-decay-samples", "lr-warmup-samples"),
    "train-samples": ("train-iters", "lr-decay-iters", "lr-warmup-iters"),
}


def start_checks(args: Config, layout: Layout, division: Division) -> Iterator[Problem]:
    """The checks of ``validate_args`` that touch the batch, in its order, and the repeats that nobody checks."""
    for old, new in _RENAMED.items():
        if args.has(old):
            yield _refused(f"--{old} is no longer valid", args.integer(old), help=f"write --{new}")
    yield from _positive(args)
    yield from _reinforcement(args)
    sizes = [_number(word) for word in values(args, "hierarchical-context-parallel-sizes")]
    if sizes and layout.context.known and product(*sizes).value != layout.context.value:
        split = " x ".join(shown(size.value) for size in sizes)
        yield _refused(
            f"--hierarchical-context-parallel-sizes {split} do not multiply to {CONTEXT} {shown(layout.context.value)}",
            layout.context,
        )
    experts, parallel = args.integer("num-experts"), args.integer(EXPERT)
    if _indivisible(experts, parallel):
        yield _refused(
            f"num-experts {shown(experts.value)} is not divisible by {EXPERT} {shown(parallel.value)}",
            experts,
            parallel,
        )
    stages = written_stages(args, layout.pipeline)
    if _indivisible(stages, layout.pipeline):
        yield _refused(
            f"{stages.key} has {shown(stages.value)} stages, no multiple of {PIPELINE} {shown(layout.pipeline.value)}",
            stages,
            layout.pipeline,
        )
    virtual = virtual_stages(args, layout.pipeline)
    found = interleaved(
        division.accumulation,
        layout.pipeline,
        virtual,
        args.integer("microbatch-group-size-per-virtual-pipeline-stage"),
    )
    if found is not None:
        yield found
    yield from _few_stages(args, layout.pipeline, virtual)
    yield from _length(args, args.integer(CONTEXT, default=1))
    yield from _counted(args)
    yield from repeated(args)


def _few_stages(args: Config, pipeline: Term, virtual: Term) -> Iterator[Problem]:
    """Between two ranks there are several sends at a time, which only overlapped communication keeps apart."""
    apart = args.flag("no-overlap-p2p-communication")
    fewest = 3 if apart else 2
    if pipeline.value is not None and (virtual.value or 1) > 1 and pipeline.value < fewest:
        how = "without overlapped communication " if apart else ""
        yield _refused(
            f"the interleaved schedule {how}needs at least {fewest} pipeline stages, and {PIPELINE} is {shown(pipeline.value)}",
            pipeline,
            virtual,
            help=f"set {PIPELINE} to {fewest} or more, or train without virtual stages",
        )


def repeated(args: Config) -> Iterator[Problem]:
    """A flag of the batch that stands twice with two values."""
    return repeated_flags(args.root, hyphenated, DECISIVE)


def _positive(args: Config) -> Iterator[Problem]:
    if not args.has(MICRO):
        yield _refused(f"--{MICRO} is not set, and has no default", args.integer(GLOBAL))
    for flag in (MICRO, GLOBAL, TENSOR, PIPELINE, CONTEXT):
        size = args.integer(flag)
        if size.value is not None and size.value < 1:
            yield _refused(f"{flag} {shown(size.value)} must be greater than 0", size)


def _reinforcement(args: Config) -> Iterator[Problem]:
    if not args.flag("perform-rl-step"):
        return
    micro, total = args.integer(MICRO), args.integer(GLOBAL)
    if args.flag("rl-use-sequence-packing") and micro.known and micro.value != 1:
        yield _refused("--rl-use-sequence-packing needs micro-batch-size 1", micro, help=f"{MICRO} 1")
    parts = (("grpo-prompts-per-step", 32), ("grpo-group-size", 2), ("grpo-iterations", 2))
    counts = [args.integer(flag, default=number) for flag, number in parts]
    collected = product(*counts)
    if _indivisible(collected, total):
        yield _refused(
            f"{' x '.join(flag for flag, _ in parts)} = {shown(collected.value)} completions are no multiple of {GLOBAL} "
            f"{shown(total.value)}",
            total,
            *counts,
        )


def evaluation_checks(args: Config, layout: Layout) -> Iterator[Problem]:
    """The evaluation batch: the training batch as declared, or as it is without a declaration, unless it is set.

    That default is taken before the ranks that share weights are counted as the replicas they are.
    """
    micro = args.integer("eval-micro-batch-size", MICRO)
    step = product(micro, layout.replicas)
    shards = weight_shards(args, layout.tensor)
    own = args.has("eval-global-batch-size") or args.has("eval-micro-batch-size")
    if args.has("eval-global-batch-size") or args.has(GLOBAL):
        total = args.integer("eval-global-batch-size", GLOBAL)
    else:
        total = exact(product(args.integer(MICRO), layout.replicas), shards).named(f"{MICRO} x replicas")
    if (own or shards.value != 1 or args.flag("decrease-batch-size-if-needed")) and _indivisible(total, step):
        yield _refused(
            f"the evaluation batch, {total.key} {shown(total.value)}, is not divisible by {shown(micro.value)} "
            f"({micro.key}) x {shown(layout.replicas.value)} replicas = {shown(step.value)}",
            total,
            micro,
            layout.replicas,
            help=f"set --eval-global-batch-size to a multiple of {shown(step.value)}",
        )


def _length(args: Config, context: Term) -> Iterator[Problem]:
    length, other = args.integer("seq-length"), args.integer("encoder-seq-length")
    if length.known and other.known:
        yield _refused("--seq-length and --encoder-seq-length are two names of one number: give one", length, other)
    if (context.value or 1) > 1 and _indivisible(length, product(Term(2, "default"), context)):
        yield _refused(
            f"seq-length {shown(length.value)} is not divisible by 2 x {shown(context.value)} ({CONTEXT})",
            length,
            context,
        )


def _counted(args: Config) -> Iterator[Problem]:
    if args.flag("skip-train"):
        return
    for counted, others in _COUNTED.items():
        length = args.integer(counted)
        for other in others if length.value else ():
            wrong = args.integer(other)
            if wrong.known and (wrong.value or not other.startswith("lr-warmup")):
                yield _refused(f"{counted} does not go with {other}: count in iterations or in samples", length, wrong)


def _indivisible(dividend: Term, divisor: Term) -> bool:
    return dividend.value is not None and bool(divisor.value) and not exact(dividend, divisor).known


def _number(word: str) -> Term:
    return Term(int(word), "read") if word.isdecimal() and len(word) < 20 else unknown(f"{word} is no number")  # noqa: PLR2004


def _refused(message: str, *terms: Term, help: str | None = None) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)
