"""ms-swift: one set of commands for two trainers, each with its own arithmetic.

    swift sft|pt|rlhf       swift_trainer: per_device_train_batch_size x gradient_accumulation_steps x replicas,
                            replicas = processes / sequence_parallel_size
    megatron sft|pt|rlhf    swift_megatron: global_batch_size, replicas = processes / (tensor x pipeline x context)

Upstream: modelscope/ms-swift, swift/cli/main.py, swift/arguments, swift/trainers/arguments.py,
swift/megatron/arguments/megatron_args.py, 4.6; swift/llm/utils/argument.py of 2.6.

A launch script, or a flat YAML or JSON that the command names first. The processes are NPROC_PER_NODE x NNODES of the
environment; without them there is one, which spreads the model over every visible GPU, and B does not grow with the
GPUs. ``tuner_type`` was ``train_type`` in 3.x, ``sft_type`` in 2.x.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import undashed
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.swift import megatron
from effbatch_lint.frameworks.parts.swift.checks import MEGATRON_ONLY
from effbatch_lint.frameworks.parts.swift.megatron import megatron_side
from effbatch_lint.frameworks.parts.swift.trainer import trainer_side
from effbatch_lint.frameworks.parts.trainer.batch import ACCUMULATION, MICRO

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_PROGRAM = re.compile(
    r"(?:swift|megatron) (?:sft|pt|rlhf|dpo|orpo|simpo|ppo)"
    r"|(?:.*/)?swift/cli/(?:_megatron/)?(?:sft|pt|rlhf)\.py"
    r"|swift\.cli\.(?:_megatron\.)?(?:sft|pt|rlhf)"
)
_OWN = ("tuner_type", "sft_type", "rlhf_type", "split_dataset_ratio")
_TUNERS = frozenset(
    ("full", "lora", "longlora", "adalora", "llamapro", "adapter", "vera", "boft", "fourierft", "reft", "bone")
)
_MODEL = ("model", "model_type", "model_id_or_path", "mcore_model", "load", "resume_from_checkpoint")
_DATA = ("dataset", "cached_dataset", "custom_train_dataset_path")
_TRAINING = (
    MICRO, ACCUMULATION, "batch_size", megatron.MICRO, megatron.GLOBAL, "learning_rate", "lr", "num_train_epochs",
    "max_steps", "train_iters", "rlhf_type",
)  # fmt: skip


def recognise(config: Config) -> int:
    """How the weights are tuned, or which preference method, beside a model, a data set and something to train with."""
    config = undashed(config)
    own = config.count(*_OWN) + (config.text("train_type") in _TUNERS)
    beside = config.count(*_TRAINING)
    if not (own and beside and config.count(*_MODEL) and config.count(*_DATA)):
        return 0
    return own + beside + config.count("model", "dataset", "max_length", *MEGATRON_ONLY)


def starts(launch: Launch) -> bool:
    """The commands of its own, or the files behind them below another launcher."""
    return _PROGRAM.fullmatch(launch.program or "") is not None


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; of Megatron's where the command, or without one the keys, say so."""
    config = undashed(config)
    kind = _kind(config, launch)
    yield megatron_side(config, launch, kind) if _on_megatron(config, launch) else trainer_side(config, launch, kind)


def _kind(config: Config, launch: Launch) -> str | None:
    """The ``rlhf_type``; None for sft and pt."""
    command = re.split(r"[ ./]", (launch.program or "").removesuffix(".py"))[-1]
    if command in ("dpo", "orpo", "simpo", "ppo"):
        return command
    return config.text("rlhf_type") or ("dpo" if command == "rlhf" and starts(launch) else None)


def _on_megatron(config: Config, launch: Launch) -> bool:
    if starts(launch):
        return "megatron" in (launch.program or "")
    return config.count(*MEGATRON_ONLY) > 0 and not config.count(MICRO, ACCUMULATION)


FRAMEWORK = Framework(
    name="ms-swift",
    formula="per_device_train_batch_size x gradient_accumulation_steps x (processes / sequence_parallel_size)",
    sources=(
        "modelscope/ms-swift swift/trainers/arguments.py",
        "modelscope/ms-swift swift/megatron/arguments/megatron_args.py",
        "modelscope/ms-swift swift/rlhf_trainers/args_mixin.py",
        "modelscope/ms-swift swift/cli/main.py",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
    profiles=("4.x", "Megatron", "3.x (train_type)", "2.x (sft_type)"),
)
