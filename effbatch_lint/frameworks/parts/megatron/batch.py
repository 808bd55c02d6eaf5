"""The batch of Megatron's flags, shared by the frameworks that pass them to Megatron-Core's own calculator.

    accumulation = global_batch_size / (micro_batch_size x replicas)

Upstream: NVIDIA/Megatron-LM, megatron/training/arguments.py (validate_args: the defaults), megatron/training/global_vars.py
(what the calculator is given), megatron/core/num_microbatches_calculator.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.compose.config import Unresolved
from effbatch_lint.frameworks.parts.megatron.checks import (
    GLOBAL,
    MICRO,
    RAMP,
    SCHEDULE,
    evaluation_checks,
    start_checks,
)
from effbatch_lint.frameworks.parts.megatron.flags import values, written
from effbatch_lint.frameworks.parts.megatron.layout import weight_shards
from effbatch_lint.frameworks.parts.megatron.microbatches import Division, constant, staged, undeclared
from effbatch_lint.frameworks.parts.megatron.schedule import ramp, steps
from effbatch_lint.terms import Term, exact, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config


def megatron_batch(
    args: Config, layout: Layout, *, name: str = "train", profile: str | None = None, ramps: bool = False
) -> Batch:
    """The batch of Megatron's flags (:func:`~effbatch_lint.frameworks.parts.megatron_flags.flags`) on a layout.

    ``ramps``: a release up to 0.17, in which ``rampup-batch-size`` still counts.
    """
    micro = args.integer(MICRO)
    division = _division(args, micro, layout, ramps=ramps)
    length, tokens = _length(args)
    completions = args.flag("perform-rl-step")
    return Batch(
        micro=micro,
        accumulation=division.accumulation,
        layout=layout,
        sequence_length=length,
        name=name,
        unit="completions" if completions else "sequences",
        global_batch=division.global_batch if division.pinned else None,
        declared=args.integer(GLOBAL) if args.has(GLOBAL) else None,
        tokens=tokens,
        tokens_bound="at most" if completions or args.flag("sft") else "exact",
        schedule=division.schedule,
        problems=(
            *division.problems,
            *start_checks(args, layout, division),
            # Since 0.18 as well, when the evaluation got a batch of its own.
            *(() if ramps else evaluation_checks(args, layout)),
            *_ramp_checks(args, ramps=ramps),
        ),
        profile=profile,
    )


def _division(args: Config, micro: Term, layout: Layout, *, ramps: bool) -> Division:
    replicas = layout.replicas
    if args.has(SCHEDULE):
        return _scheduled(args, micro, replicas)
    shards = weight_shards(args, layout.tensor)
    if args.has(GLOBAL) or shards.value != 1:
        # The default leaves out the ranks that share weights, and is then less than one micro batch of each replica.
        default = exact(product(micro, replicas), shards).named(f"{GLOBAL} (not set: its default)")
        total = args.integer(GLOBAL) if args.has(GLOBAL) else default
        found = constant(total, micro, replicas, decrease=args.flag("decrease-batch-size-if-needed"))
    else:
        found = undeclared(micro, replicas, GLOBAL)
    if not ramps or not args.has(RAMP) or isinstance(args.value(RAMP), Unresolved):
        return found
    stages, problem = ramp(values(args, RAMP), found.global_batch, _placed(args, RAMP))
    found = staged(stages, micro, replicas) if stages else found
    return found if problem is None else found._replace(problems=(problem,))


def _scheduled(args: Config, micro: Term, replicas: Term) -> Division:
    at = _placed(args, SCHEDULE)
    text = written(args, SCHEDULE)
    length = args.integer("seq-length", "encoder-seq-length")
    stages, problem = ((), None) if "$" in text else steps(text, length, at)
    problems: tuple[Problem, ...] = () if problem is None else (problem,)
    for other in (GLOBAL, "decrease-batch-size-if-needed"):
        if args.has(other) if other == GLOBAL else args.flag(other):
            reason = f"--{SCHEDULE} and --{other} cannot both be given"
            problems += (Problem("EB304", reason, (at, _placed(args, other)), refuses=True, help="remove one of them"),)
    if not stages:
        total = at._replace(reason=f"{SCHEDULE} is {text}, which is not resolved")
        return Division(total, total, problems=problems)
    found = staged(stages, micro, replicas)
    return found._replace(problems=(*problems, *found.problems))


def _length(args: Config) -> tuple[Term, Term | None]:
    """The tokens of a row, and T where it is not B x that: what holds two kinds of rows has no single length."""
    length = args.integer("seq-length", "encoder-seq-length")
    if args.has("dataloader-seq-length"):
        reason = "the sequence length counts image tokens, and the rows are made by the multimodal data loader"
        return unknown(reason, key="seq-length"), unknown(reason)
    if args.has("decoder-seq-length"):
        return length, unknown("a sample has an encoder's and a decoder's sequence, of two lengths")
    return length, None


def _ramp_checks(args: Config, *, ramps: bool) -> Iterator[Problem]:
    if ramps and args.has(RAMP) and args.integer("train-iters").value:
        reason = f"--{RAMP} needs --train-samples: a run counted in iterations cannot ramp up"
        yield Problem("EB304", reason, (_placed(args, RAMP), args.integer("train-iters")), refuses=True)
    if not ramps and args.has(RAMP):
        yield Problem(
            "EB305",
            f"--{RAMP} has no effect since Megatron-Core 0.18: training starts at the full batch",
            (_placed(args, RAMP),),
            help=f"write it as --{SCHEDULE}, without --{GLOBAL}",
        )


def _placed(args: Config, flag: str) -> Term:
    origin = args.origin(flag)
    return unknown(f"{flag}: {written(args, flag)}", *([origin] if origin else []), key=flag)
