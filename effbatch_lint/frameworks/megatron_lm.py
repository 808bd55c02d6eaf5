"""Megatron-LM: one declared global batch, which replicas and micro batches divide among themselves.

    B = global_batch_size                       (micro_batch_size x replicas when it is not set)
    accumulation = B / (micro_batch_size x replicas)
    replicas = world / (tensor x pipeline x context)

Upstream: NVIDIA/Megatron-LM, megatron/training/arguments.py (validate_args), megatron/training/global_vars.py,
megatron/core/num_microbatches_calculator.py; megatron/training/yaml_arguments.py for ``--yaml-cfg``;
tests/functional_tests/shell_test_utils/run_ci_test.sh for the runs of a test file.

Read as Megatron-Core 0.20 does: ``--rampup-batch-size`` is accepted and ignored (since 0.18), and
``--decrease-batch-size-if-needed`` needs an evaluation batch of its own that is divisible. A ``--yaml-cfg`` file
without ``step_batch_size_schedule`` is from before 0.18 (later releases read that key), and its ramp counts. Such a
file has no defaults, ignores every flag, and cuts degrees that exceed the job instead of refusing them. A launch line
with a flag that no release since September 2023 accepts is one of an older release: its ramp counts, and its degrees are
cut (until August 2024).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import hyphenated
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.megatron.batch import megatron_batch
from effbatch_lint.frameworks.parts.megatron.checks import GLOBAL, MICRO, SCHEDULE
from effbatch_lint.frameworks.parts.megatron.flags import flags
from effbatch_lint.frameworks.parts.megatron.layout import CONTEXT, EXPERT, PIPELINE, TENSOR, clamped, megatron_layout
from effbatch_lint.frameworks.parts.megatron.programs import trains
from effbatch_lint.terms import Term, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_RUN = re.compile(r"MODEL_ARGS(?:_(\d{1,6}))?")
_BATCH = frozenset((MICRO, GLOBAL))
_BESIDE = frozenset((
    TENSOR, PIPELINE, CONTEXT, EXPERT, SCHEDULE, "seq-length", "encoder-seq-length", "num-layers", "hidden-size",
    "train-iters", "train-samples",
))  # fmt: skip
# Programs that take Megatron's flags and these, with another arithmetic: Megatron-DeepSpeed, slime, Megatron-Bridge's
# MegatronMIMO (a micro batch is cut over the language model's replicas, and each part has a grid of its own), and
# projects that only borrow the names and accumulate by a flag, which Megatron does not have (X-PLUG/mPLUG-Owl).
_OTHERS = frozenset((
    "deepspeed", "deepspeed-config", "zero-stage", "no-pipeline-parallel", "ds-sequence-parallel-size",
    "moe-expert-parallel-size", "pp-partition-method", "actor-num-nodes", "rollout-batch-size", "freeze-llm",
    "gradient-accumulation-steps",
))  # fmt: skip
# Flags of the programs that generate text or analyse data (tools/run_text_generation_server.py, examples/*/
# *generation*.py, analyze_data.py): they take the sizes too, train nothing, and give no length of a run.
_GENERATING = frozenset((
    "out-seq-length", "num-tokens-to-generate", "temperature", "top-p", "top-k", "port", "genfile", "sample-output-file",
    "sample-input-file", "analyzing-task", "inference-max-requests",
))  # fmt: skip
# Gone from arguments.py in August 2021, April and May 2022, August and September 2023.
_RETIRED = frozenset((
    "checkpoint-activations", "distribute-checkpointed-activations", "checkpoint-num-layers",
    "activations-checkpoint-method", "activations-checkpoint-num-layers", "DDP-impl", "data-impl",
    "no-contiguous-buffers-in-local-ddp",
))  # fmt: skip
_LENGTH = frozenset(("train-iters", "train-samples", "train-tokens", "epochs"))


def recognise(config: Config) -> int:
    """``MODEL_ARGS`` of ``--`` flags, a ``model_parallel`` section (--yaml-cfg), or flags of a launch line."""
    if config.text("MODE") == "inference":
        return 0
    main = config.node("MODEL_ARGS")
    if isinstance(main, Mapping):
        return _count(key for key in main.entries if key.startswith("--"))
    section = config.node("model_parallel")
    if isinstance(section, Mapping):
        found = _count(key for key in config.root.entries if "-" not in key)
        return found and found + sum(hyphenated(key) in _BESIDE for key in section.entries)
    given = {hyphenated(key) for key in config.root.entries}
    if given & _OTHERS or (given & _GENERATING and not given & _LENGTH):
        return 0
    return _count(key for key in config.root.entries if "_" not in key)


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """The run of the flags, unless the program trains nothing; for a test file, every run that it describes,
    ``MODEL_ARGS`` first.
    """
    section = config.node("model_parallel")
    if isinstance(section, Mapping):
        model = config.node("language_model")
        args = flags(config, *([model] if isinstance(model, Mapping) else []), section, config.root)
        layout = clamped(args, launch.world_size, context=args.integer(CONTEXT))
        yield megatron_batch(args, layout, profile="--yaml-cfg", ramps=SCHEDULE not in args.root.entries)
        return
    runs = _runs(config)
    for name, section in runs.items():
        args = flags(config, section, launch=launch)
        layout = megatron_layout(args, _world(config, name, launch))
        yield megatron_batch(args, layout, name="train" if len(runs) == 1 else name)
    if not runs:
        args = flags(config, launch=launch)
        if trains(args, launch):
            yield _launched(args, launch.world_size)


def _launched(args: Config, world: Term) -> Batch:
    """The run of a launch line, by the arithmetic of the releases that accept its flags."""
    if not _RETIRED & args.root.entries.keys():
        return megatron_batch(args, megatron_layout(args, world))
    layout = clamped(args, world, context=args.integer(CONTEXT, default=1), default=1)
    return megatron_batch(args, layout, profile="before September 2023", ramps=True)


def _runs(config: Config) -> dict[str, Mapping]:
    """The sections of a test file, each the flags of one run, in order of the runs."""
    found = {key: entry.value for key, entry in config.root.entries.items() if _RUN.fullmatch(key)}
    ordered = sorted(found, key=lambda key: int(key.rpartition("_")[2]) if key != "MODEL_ARGS" else 1)
    return {key: section for key in ordered if isinstance(section := found[key], Mapping)}


def _world(config: Config, run: str, launch: Launch) -> Term:
    """The devices of one run: ``MODEL_ENV_VARS`` may state how many of each node it takes."""
    key = f"MODEL_ENV_VARS.{run}.GPUS_PER_NODE"
    if not config.has(key):
        return launch.world_size
    taken = config.integer(key)
    if launch.nodes.known:
        return product(launch.nodes, taken)
    if taken.known and taken.value == launch.world_size.value:
        return launch.world_size
    reason = (
        f"{run} takes {shown(taken.value)} devices of each node (GPUS_PER_NODE), and nothing states the number of nodes"
    )
    return unknown(reason, *taken.origins, key="GPUS_PER_NODE")


def _count(keys: Iterable[str]) -> int:
    """How many of Megatron's flags are among the keys; 0 without a batch size and another flag beside it."""
    names = {hyphenated(key) for key in keys}
    return len(names & (_BATCH | _BESIDE)) if names & _BATCH and names & _BESIDE else 0


FRAMEWORK = Framework(
    name="megatron-lm",
    formula="global_batch_size = micro_batch_size x accumulation x world / (tensor x pipeline x context)",
    sources=(
        "NVIDIA/Megatron-LM megatron/training/arguments.py",
        "NVIDIA/Megatron-LM megatron/core/num_microbatches_calculator.py",
    ),
    recognise=recognise,
    read=read,
)
