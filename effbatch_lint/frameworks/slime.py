"""slime: one declared global batch of completions, cut out of a rollout; Megatron divides it.

    B = global-batch-size                           completions ("samples"), not prompts
      = rollout-batch-size x n-samples-per-prompt // num-steps-per-rollout
    replicas = actor-num-nodes x actor-num-gpus-per-node / (tensor x pipeline x context)

Upstream: THUDM/slime, slime/utils/arguments.py (slime_validate_args, the defaults), slime/utils/dp_schedule.py
(build_dp_schedule), slime/backends/megatron_utils/arguments.py and initialize.py (Megatron's own checks).

The flags are Megatron's with slime's own beside them, always in a launch line; those that do not exist are dropped without
a word. A file behind ``--custom-config-path`` is laid over them at last. Micro batches are packed by tokens
(``--use-dynamic-batch-size``) or have a fixed size. Generation has devices of its own, or borrows the trainer's
(``--colocate``); PPO's critic has as many as the actor, and the same batch. Supervised fine-tuning is a rollout that reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.compose.spelling import hyphenated
from effbatch_lint.documents.nodes import Entry, Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.megatron.layout import megatron_layout
from effbatch_lint.frameworks.parts.namespace import flags_of
from effbatch_lint.frameworks.parts.slime.checks import checks
from effbatch_lint.frameworks.parts.slime.steps import GLOBAL, MICRO, PROMPTS, SAMPLES, STEPS, step
from effbatch_lint.terms import Term, product, shown, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

NODES, DEVICES = "actor-num-nodes", "actor-num-gpus-per-node"
_FILE = "custom-config-path"
_KEYS = (
    NODES, DEVICES, PROMPTS, SAMPLES, STEPS, "rollout-num-gpus", "rollout-num-gpus-per-engine", "rollout-max-response-len",
    "over-sampling-batch-size", "num-rollout", "prompt-data", "hf-checkpoint", "ref-load", "colocate", "max-tokens-per-gpu",
    "rollout-function-path",
)  # fmt: skip
_DECISIVE = (MICRO, GLOBAL, PROMPTS, SAMPLES, STEPS, NODES, DEVICES)


def recognise(config: Config) -> int:
    """The devices or the rollout of the actor, with hyphens (OpenRLHF writes underscores), in a run that trains."""
    if not config.count(NODES, DEVICES, PROMPTS) or config.flag("debug-rollout-only"):
        return 0
    found = config.count(*_KEYS)
    return found if found > 1 else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """The actor's batch, and the critic's for PPO."""
    args = _arguments(config, launch)
    world, conflict = _devices(args, launch)
    layout = megatron_layout(args, world)
    division = step(args, layout)
    supervised = args.text("loss-type") == "sft_loss"
    actor = Batch(
        micro=division.micro,
        accumulation=division.accumulation,
        layout=layout,
        sequence_length=_length(args),
        unit="sequences" if supervised else "completions",
        global_batch=division.size if division.pinned else None,
        declared=args.integer(GLOBAL) if args.has(GLOBAL) else None,
        tokens_bound="at most",
        items_per_prompt=None if supervised else args.integer(SAMPLES, default=1),
        problems=(*conflict, *_dropped(config, launch), *checks(args, layout, division, launch)),
    )
    yield actor
    if args.text("advantage-estimator") == "ppo" and not args.has("megatron-config-path"):
        yield actor._replace(name="critic", problems=())


def _arguments(config: Config, launch: Launch) -> Config:
    """The flags that exist, and over them what the custom file sets under the names of the parsed attributes."""
    if not launch.arguments:
        return flags_of(config, launch)
    given = {word.name for word in launch.arguments}
    flags = {key: entry for key, entry in config.root.entries.items() if key in given or entry.note is not None}
    file = config.root.entries.items() if _FILE in given else ()
    over = {hyphenated(key): _over(flags, key, entry) for key, entry in file if key not in flags}
    return config.over(Mapping({**flags, **over}, config.root.span))


def _over(flags: dict[str, Entry], key: str, entry: Entry) -> Entry:
    replaced = flags.get(hyphenated(key))
    return (
        entry if replaced is None else Entry(key, entry.span, entry.value, (replaced, *replaced.previous), entry.note)
    )


def _devices(args: Config, launch: Launch) -> tuple[Term, tuple[Problem, ...]]:
    """The accelerators that train: the flags', which hold whatever the cluster has."""
    nodes, per_node = args.integer(NODES, default=1), args.integer(DEVICES, default=8)
    stated, declared = product(nodes, per_node).named(f"{NODES} x {DEVICES}"), launch.world_size
    if declared.how != "declared" or declared.value == stated.value:
        return stated, ()
    if not stated.known or any(origin.span is not None for origin in declared.origins):
        return declared, ()  # what the files declare against the launch line is compared for every framework
    conflict = Problem(
        "EB203",
        f"{NODES} x {DEVICES} is {shown(stated.value)} devices, and the job has {shown(declared.value)}",
        (nodes, per_node, declared),
        help=f"set --{NODES} and --{DEVICES} to the {shown(declared.value)} devices that train",
    )
    return declared, (conflict,)


def _length(args: Config) -> Term | None:
    """Prompts longer than their limit are filtered out; a loop of the user's own may add to the response."""
    limits = ("rollout-max-prompt-len", "rollout-max-response-len")
    if not all(args.has(limit) for limit in limits) or args.has("custom-generate-function-path"):
        missing = next((limit for limit in limits if not args.has(limit)), "custom-generate-function-path")
        reason = f"--{missing} is not set: a row has no limit" if not args.has(missing) else f"--{missing} decides it"
        return unknown(reason, key=missing)
    return total(*(args.integer(limit) for limit in limits)).named(" + ".join(limits))


def _dropped(config: Config, launch: Launch) -> Iterator[Problem]:
    """A flag of the batch with an underscore: the parser ignores what it does not know."""
    for word in launch.arguments:
        name = hyphenated(word.name)
        if "_" in word.name and word.dashes and name in _DECISIVE:
            yield Problem(
                "EB305",
                f"--{word.name} has no effect: slime drops flags that it does not know, and this one is --{name}",
                (config.place(word.name),),
                help=f"write --{name}",
            )


FRAMEWORK = Framework(
    name="slime",
    formula="global-batch-size = rollout-batch-size x n-samples-per-prompt // num-steps-per-rollout",
    sources=(
        "THUDM/slime slime/utils/arguments.py",
        "THUDM/slime slime/utils/dp_schedule.py",
        "THUDM/slime slime/backends/megatron_utils/arguments.py",
    ),
    recognise=recognise,
    read=read,
)
