"""The frameworks, a line each: module name and its distinctive words.

The words do three jobs: a file whose bytes hold none of them is skipped unparsed; only modules whose words occur
are imported; and ``effbatch-lint frameworks`` shows them. So fifty frameworks cost a cold run no more than five.
A word must stand in every config of the framework that has a batch to check.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.frameworks.framework import Framework

TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("nanotron", ("batch_accumulation_per_replica",)),
    ("deepspeed", ("train_micro_batch_size_per_gpu", '"train_batch_size"', '"zero_optimization"', '"elasticity"')),
    ("accelerate", ("distributed_type",)),
    ("axolotl", ("base_model",)),
    ("hf_trainer", ("per_device_train_batch_size", "per-device-train-batch-size", "per_gpu_train_batch_size")),
)  # fmt: skip

_WORDS = re.compile(b"|".join(re.escape(word.encode()) for word in dict.fromkeys(w for _, ws in TABLE for w in ws)))


def may_be_training(data: bytes) -> bool:
    """Whether the bytes hold a word of any framework."""
    return _WORDS.search(data) is not None


def candidates(text: str) -> list[Framework]:
    """The frameworks of which a word stands in the text, imported now."""
    return [load(module) for module, words in TABLE if any(word in text for word in words)]


def load(module: str) -> Framework:
    """The record of one framework."""
    found: Framework = import_module(f"effbatch_lint.frameworks.{module}").FRAMEWORK
    return found


def by_name(name: str) -> Framework | None:
    """The framework that users call ``name``, or None."""
    module = name.replace("-", "_")
    return load(module) if any(module == entry for entry, _ in TABLE) else None
