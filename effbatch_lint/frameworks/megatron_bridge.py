"""Megatron-Bridge: override files over a recipe written in Python.

    accumulation = train.global_batch_size / (train.micro_batch_size x replicas)
    replicas = world / (tensor x pipeline x context), expert parallelism divides nothing

Upstream: NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/training/config.py (ConfigContainer, TrainingConfig.finalize,
get_data_parallel_size), src/megatron/bridge/training/initialize.py; the division is Megatron-Core's own.

A size that the file leaves out is the recipe's, a Python function that this tool does not run: it is unknown, and no
default. The number of GPUs in a recipe's name is only what it was written for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.megatron.bridge_checks import start_checks
from effbatch_lint.frameworks.parts.megatron.microbatches import constant

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch
    from effbatch_lint.terms import Term

MICRO, GLOBAL = "train.micro_batch_size", "train.global_batch_size"
TENSOR, PIPELINE = "model.tensor_model_parallel_size", "model.pipeline_model_parallel_size"
CONTEXT, EXPERT = "model.context_parallel_size", "model.expert_model_parallel_size"
_BESIDE = (
    TENSOR, PIPELINE, CONTEXT, EXPERT, "model.seq_length", "dataset.seq_length", "train.train_iters", "train.eval_iters",
    "train.train_samples", "scheduler.lr_warmup_iters", "scheduler.lr_decay_style", "checkpoint.save",
    "checkpoint.pretrained_checkpoint", "logger.log_interval", "dist", "ddp", "rng", "mixed_precision", "comm_overlap",
    "peft", "validation.eval_iters",
)  # fmt: skip
_MIXED_LENGTHS = (
    "dataset.enable_in_batch_packing",
    "dataset.packed_sequence_specs",
    "dataset.offline_packing_specs",
    "peft",
)


def recognise(config: Config) -> int:
    """A ``train`` section with Megatron's sizes beside other sections of a ConfigContainer; no ``trainer``."""
    beside = config.count(*_BESIDE)
    if config.has("trainer") or not config.count(MICRO, GLOBAL) or beside < 2:  # noqa: PLR2004 - litgpt has the train section too
        return 0
    return beside + config.count(MICRO, GLOBAL)


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; what the recipe decides stays unknown."""
    micro, declared = _stated(config, MICRO), _stated(config, GLOBAL)
    layout = Layout.of_world(
        launch.world_size,
        tensor=_stated(config, TENSOR),
        pipeline=_stated(config, PIPELINE),
        context=_stated(config, CONTEXT),
    )
    division = constant(declared, micro, layout.replicas, decrease=config.flag("train.decrease_batch_size_if_needed"))
    yield Batch(
        micro=micro,
        accumulation=division.accumulation,
        layout=layout,
        sequence_length=_stated(config, "model.seq_length", "dataset.seq_length"),
        global_batch=division.global_batch,
        declared=declared if declared.known else None,
        tokens_bound="at most" if config.count(*_MIXED_LENGTHS) else "exact",
        problems=(*division.problems, *start_checks(config, micro, layout.replicas)),
    )


def _stated(config: Config, *keys: str) -> Term:
    """The number that the file states; the recipe's, and thus unknown, where it does not."""
    term = config.integer(*keys)
    if term.known or term.origins:
        return term
    return term._replace(reason=f"{keys[0]} is not set here: it is the Python recipe's")


FRAMEWORK = Framework(
    name="megatron-bridge",
    formula="global_batch_size = micro_batch_size x accumulation x world / (tensor x pipeline x context)",
    sources=(
        "NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/config.py",
        "NVIDIA/Megatron-LM megatron/core/num_microbatches_calculator.py",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
)
