"""HF Trainer: per_device_train_batch_size x gradient_accumulation_steps x (processes // tp // cp // sp).

Upstream: huggingface/transformers, src/transformers/training_args.py (TrainingArguments), src/transformers/trainer.py
(Trainer.get_total_train_batch_size), 5.24.0. The arithmetic is :mod:`effbatch_lint.frameworks.parts.trainer.batch`.

A flat YAML or JSON of TrainingArguments, as HfArgumentParser reads it, also for the programs that build on Trainer and
add keys of their own (trl, alignment-handbook, peft, LLaMA-Factory without Megatron). Nothing in such a file states the
number of processes; plain ``python`` on several visible GPUs counts each of them as one (DataParallel). With
``auto_find_batch_size`` the batch may shrink when memory runs out: the numbers here are those of the start.

A program of Hydra's keeps the arguments in a section (``trainer.args``, ``training_args``) beside sections of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import undashed
from effbatch_lint.documents.document import kind_of
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.trainer.batch import ACCUMULATION, MICRO, OLD_MICRO, trainer_batch
from effbatch_lint.frameworks.parts.trainer.example import chat_step, example_of
from effbatch_lint.terms import unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

# Keys of programs that take Trainer's names and count otherwise, and of the companion files of a run.
OTHERS = (
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "hyper_parallel_cp_size",
    "sequence_parallel_size", "tuner_type", "train_type", "sft_type", "rlhf_type", "split_dataset_ratio",
    "distributed_type", "zero_optimization", "train_micro_batch_size_per_gpu",
)  # fmt: skip

_DEEPEST = 3


def recognise(config: Config) -> int:
    """A batch key of TrainingArguments and another of its keys; few, so that programs with more of their own win."""
    config = _arguments(config)
    if config.count(*OTHERS) or not config.count(MICRO, OLD_MICRO, ACCUMULATION):
        return 0
    rest = config.count(
        "output_dir", "num_train_epochs", "max_steps", "lr_scheduler_type", "per_device_eval_batch_size",
        "learning_rate", "warmup_ratio", "weight_decay", "model_name_or_path", "logging_steps", "save_steps",
    )  # fmt: skip
    if not config.count(MICRO, OLD_MICRO) and rest < 3:  # noqa: PLR2004 - the accumulation key alone is many frameworks'
        return 0
    return config.count(MICRO, OLD_MICRO, ACCUMULATION) + min(rest, 1) if rest else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; the unit is what the keys beside Trainer's tell of the data set."""
    found = _arguments(config)
    if found.prefix and (kind_of(config.path) == "shell" or config.path == launch.script):
        found = found.hiding("the program's own configuration, over which the launch line lies, is not in the project")
    example, step = example_of(found), chat_step(found, launch.program)
    if step == "2":
        example = example._replace(unit="pairs", sequences=2)
    batch = trainer_batch(found, launch, example)
    if step == "?" and example.unit == "sequences":
        reason = "the same flags start DeepSpeed-Chat's supervised training and its DPO, whose rows are pairs"
        batch = batch._replace(unit="samples", tokens=unknown(reason, key="data_split"))
    yield batch


def _arguments(config: Config) -> Config:
    """The configuration itself, or the only section of it that holds a batch of TrainingArguments."""
    config = undashed(config)
    if config.count(MICRO, OLD_MICRO, ACCUMULATION):
        return config
    if config.has("entrypoint"):  # a job of Determined's, of which the launch is read
        return config
    held = list(_sections(config, _DEEPEST))
    return held[0] if len(held) == 1 else config


def _sections(config: Config, depth: int) -> Iterator[Config]:
    for key, entry in config.root.entries.items():
        section = config.section(key) if depth and isinstance(entry.value, Mapping) else None
        if section is None:
            continue
        if any(isinstance(section.node(name), Scalar) for name in (MICRO, OLD_MICRO)):  # a sweep has mappings there
            yield section
        else:
            yield from _sections(section, depth - 1)


FRAMEWORK = Framework(
    name="hf-trainer",
    formula="per_device_train_batch_size x gradient_accumulation_steps x (processes // tp // cp // sp)",
    sources=(
        "huggingface/transformers src/transformers/trainer.py",
        "huggingface/transformers src/transformers/training_args.py",
        "huggingface/transformers src/transformers/integrations/deepspeed.py",
        "huggingface/accelerate src/accelerate/parallelism_config.py",
    ),
    recognise=recognise,
    read=read,
    profiles=("5.x", "4.x (per_gpu_train_batch_size)"),
)
