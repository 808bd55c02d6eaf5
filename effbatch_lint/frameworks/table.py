"""The frameworks, a line each: module name and its distinctive words.

The words do three jobs: a file whose bytes hold none of them is skipped unparsed; only modules whose words occur
are imported; and ``effbatch-lint frameworks`` shows them. So fifty frameworks cost a cold run no more than five.
A word must stand in every config of the framework that has a batch to check.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.frameworks.framework import Framework

TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("lightning", ("trainer:", '"trainer"', "lightning:")),
    ("litgpt", ("micro_batch_size", "global_batch_size")),
    ("nanotron", ("batch_accumulation_per_replica",)),
    ("torchtitan", ("dump_folder", "flavor", "parallel_degree", "parallel_shard_degree", "local_batch_size",
                    "num_tokens_per_microbatch_per_dp_rank")),
    ("gpt_neox", (
        "pipe_parallel_size", "pipe-parallel-size", '"model_parallel_size', '"model-parallel-size',
        "lr_decay_style", "lr-decay-style", "global_num_gpus",
    )),
    ("megatron_lm", ("--micro-batch-size", "--global-batch-size", "model_parallel:")),
    ("deepspeed", ("train_micro_batch_size_per_gpu", '"train_batch_size"', '"zero_optimization"', '"elasticity"')),
    ("accelerate", ("distributed_type",)),
    ("axolotl", ("base_model",)),
    ("hf_trainer", ("per_device_train_batch_size", "per-device-train-batch-size", "per_gpu_train_batch_size")),
    ("detectron2", ("IMS_PER_BATCH", "META_ARCHITECTURE", "_BASE_")),
    ("espnet", ("accum_grad", "batch_bins", "batch_type", "iterator_type")),
    ("lingua", ("grad_acc_steps", "fsdp_type", "dp_replicate", "n_views")),
    ("llm_foundry", ("global_train_batch_size", "device_train_microbatch_size")),
    ("speechbrain", ("!ref <",)),
    ("torchtune", ("_component_",)),
)  # fmt: skip

# Words of a launch line (launcher, program, names of flags) that tell a framework whose config need not be at hand:
# its `starts` then has the last word.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "axolotl": ("axolotl",),
    "gpt_neox": ("deepy",),
    "litgpt": ("litgpt",),
    "llm_foundry": ("composer",),
    "torchtitan": ("torchtitan.train", "config_file"),
    "torchtune": ("_distributed", "_single_device"),
}

_WORDS = tuple(dict.fromkeys(word.encode() for _, words in TABLE for word in words))


def may_be_training(data: bytes) -> bool:
    """Whether the bytes hold a word of any framework, or speak to this tool."""
    return any(word in data for word in _WORDS) or b"effbatch" in data


def candidates(*texts: str, line: str = "") -> list[Framework]:
    """The frameworks of which a word stands in one of the texts, or in a launch line, imported now."""
    texts = (*texts, line)
    return [
        load(module)
        for module, words in TABLE
        if any(word in text for word in words for text in texts)
        or (line and any(word in line for word in PROGRAMS.get(module, ())))
    ]


def load(module: str) -> Framework:
    """The record of one framework."""
    found: Framework = import_module(f"effbatch_lint.frameworks.{module}").FRAMEWORK
    return found


def by_name(name: str) -> Framework | None:
    """The framework that users call ``name``, or None."""
    module = name.replace("-", "_")
    return load(module) if any(module == entry for entry, _ in TABLE) else None
