"""What slime refuses, and the completions that a rollout collects for nothing.

Upstream: THUDM/slime, slime/utils/arguments.py (slime_validate_args), slime/utils/dp_schedule.py (build_dp_schedule). A
rollout function of the user's own may return another number of completions than the flags say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.megatron.stages import virtual_stages
from effbatch_lint.frameworks.parts.slime.steps import BUDGET, DYNAMIC, GLOBAL, MICRO, PROMPTS, SAMPLES, STEPS
from effbatch_lint.terms import Term, product, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.slime.steps import Step
    from effbatch_lint.launch import Launch

_GROUP = "microbatch-group-size-per-virtual-pipeline-stage"


def checks(args: Config, layout: Layout, step: Step, launch: Launch) -> Iterator[Problem]:
    """The checks in the order in which slime comes to them.

    A flag that is absent may be given after all by a variable of the line that nobody gave.
    """
    if not launch.unset:
        yield from _absent(args, launch)
    yield from _contradicted(args, step)
    yield from _sampled(args)
    yield from step.problems
    yield from _collected(args, step)
    yield from _interleaved(args, layout, step)
    micro = args.integer(MICRO, default=1)
    if args.flag(DYNAMIC) and micro.value not in (None, 1):
        yield Problem(
            "EB305",
            f"--{MICRO} {shown(micro.value)} sizes no micro batch: --{DYNAMIC} packs them by tokens",
            (micro,),
            help=f"remove --{MICRO}, or --{DYNAMIC}",
        )


def _absent(args: Config, launch: Launch) -> Iterator[Problem]:
    if not args.has(PROMPTS):
        last = next((word for word in reversed(launch.arguments) if word.origins), None)
        yield _refused(
            f"--{PROMPTS} is required, and the command that starts slime does not give it",
            unknown("the command ends here", *(last.origins[-1:] if last else ())),
            help="a line of the command without a backslash at its end loses all that follows",
        )
    if args.flag(DYNAMIC) and not args.has(BUDGET):
        yield _refused(f"--{DYNAMIC} needs --{BUDGET}", args.place(DYNAMIC), help=f"set --{BUDGET}")
    if args.flag("balance-by-flops") and not args.flag(DYNAMIC):
        yield _refused(f"--balance-by-flops needs --{DYNAMIC}", args.place("balance-by-flops"), help=f"add --{DYNAMIC}")


def _contradicted(args: Config, step: Step) -> Iterator[Problem]:
    declared, taken = args.integer(GLOBAL), step.size
    if args.has(STEPS) and declared.known and taken.known and declared.value != taken.value:
        prompts, samples, steps = args.integer(PROMPTS), args.integer(SAMPLES, default=1), args.integer(STEPS)
        yield Problem(
            "EB301",
            f"{GLOBAL} is {shown(declared.value)}, and {shown(prompts.value)} prompts x {shown(samples.value)} samples / "
            f"{shown(steps.value)} steps per rollout are {shown(taken.value)}",
            (declared, prompts, samples, steps),
            refuses=True,
            help=f"remove --{GLOBAL} or --{STEPS}: either gives the other",
        )


def _sampled(args: Config) -> Iterator[Problem]:
    taken, wanted = args.integer("over-sampling-batch-size"), args.integer(PROMPTS)
    if taken.value is not None and wanted.value is not None and taken.value < wanted.value:
        yield _refused(
            f"over-sampling-batch-size {shown(taken.value)} is below {PROMPTS} {shown(wanted.value)}",
            taken,
            wanted,
            help=f"set it to {shown(wanted.value)} prompts or more",
        )


def _collected(args: Config, step: Step) -> Iterator[Problem]:
    """Whole steps are cut out of a rollout, at least one; what is left over was generated for nothing."""
    size, rollout = step.size, step.rollout
    own = args.text("rollout-function-path")
    if not size.value or not rollout.value or (own is not None and not own.startswith("slime.")):
        return
    steps, rest = divmod(rollout.value, size.value)
    parts = (size, args.integer(PROMPTS), args.integer(SAMPLES, default=1))
    if not steps:
        yield _refused(
            f"a rollout of {shown(rollout.value)} completions ({PROMPTS} x {SAMPLES}) is less than one step of "
            f"{shown(size.value)}",
            *parts,
            help=f"set --{GLOBAL} to {shown(rollout.value)} or a part of it; it counts completions, not prompts",
        )
    elif rest:
        yield Problem(
            "EB303",
            f"a rollout of {shown(rollout.value)} completions ({PROMPTS} x {SAMPLES}) makes {shown(steps)} steps of "
            f"{shown(size.value)}: {shown(rest)} are generated and never trained on",
            parts,
            help=f"let the step divide {shown(rollout.value)}",
        )


def _interleaved(args: Config, layout: Layout, step: Step) -> Iterator[Problem]:
    """With virtual pipeline stages every replica runs whole groups of micro batches."""
    virtual = virtual_stages(args, layout.pipeline)
    group: Term = args.integer(_GROUP) if args.has(_GROUP) else layout.pipeline
    if (virtual.value or 1) < 2 or not group.value:  # noqa: PLR2004 - no interleaving below two
        return
    if args.flag(DYNAMIC):
        least, size = product(layout.replicas, group), step.size
        if least.value is not None and size.value is not None and size.value < least.value:
            yield _refused(
                f"a step of {shown(size.value)} completions cannot fill {shown(group.value)} micro batches of each of "
                f"{shown(layout.replicas.value)} replicas",
                size,
                virtual,
                layout.pipeline,
                help=f"{shown(least.value)} completions per step or more",
            )
    elif step.accumulation.value and step.accumulation.value % group.value:
        yield _refused(
            f"{shown(step.accumulation.value)} micro batches of each replica are no multiple of {shown(group.value)}, "
            "which the interleaved pipeline takes at a time",
            virtual,
            layout.pipeline,
            step.size,
            help=f"let the step be {MICRO} x replicas x a multiple of {shown(group.value)}",
        )


def _refused(message: str, *terms: Term, help: str) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)
