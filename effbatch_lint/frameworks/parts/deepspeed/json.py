"""The keys of a DeepSpeed JSON that decide a batch, for whoever reads one: DeepSpeed itself, accelerate, HF Trainer.

Upstream: deepspeedai/DeepSpeed, deepspeed/runtime/constants.py, deepspeed/runtime/tensor_parallel/config.py
(TPTrainingConfig.autotp_size, 0 for off). "auto" is no value of DeepSpeed: only HF Trainer and accelerate replace it
(transformers/integrations/deepspeed.py, accelerate/accelerator.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import ONE, Term, exact, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Origin

BATCH = "train_batch_size"
MICRO = "train_micro_batch_size_per_gpu"
ACCUMULATION = "gradient_accumulation_steps"
TENSOR = "tensor_parallel.autotp_size"


def is_auto(config: Config, key: str) -> bool:
    """Whether the value is left to the program that reads the file."""
    return config.value(key) == "auto"


def stated(config: Config, key: str) -> Term | None:
    """The number at ``key``; None when the key is absent, null or "auto". DeepSpeed converts no text to a number."""
    if not config.has(key) or is_auto(config, key):
        return None
    return config.integer(key, text_allowed=False)


def digits_as_text(config: Config, key: str) -> str | None:
    """The text of a number that was put in quotation marks, which neither DeepSpeed nor Trainer takes for a number."""
    value = config.value(key)
    return value if isinstance(value, str) and value.strip().isdecimal() else None


def tensor_parallel(config: Config) -> Term:
    """The degree of automatic tensor parallelism (AutoTP)."""
    degree = stated(config, TENSOR)
    return ONE.named(TENSOR) if degree is None or degree.value == 0 else degree


def declared(config: Config) -> Term | None:
    """``train_batch_size`` where it is a number of different samples: not beside AutoTP, whose copies it counts."""
    return stated(config, BATCH) if tensor_parallel(config).value == 1 else None


def copies_counted(config: Config) -> Iterator[Problem]:
    """A ``train_batch_size`` beside AutoTP counts tensor-parallel ranks, which read the same samples."""
    batch, tensor = stated(config, BATCH), tensor_parallel(config)
    if batch is None or tensor.value == 1:
        return
    samples = exact(batch, tensor)
    if samples.known:
        yield Problem(
            "EB303",
            f"{BATCH} {shown(batch.value)} counts every tensor-parallel rank: with {TENSOR} {shown(tensor.value)} a step "
            f"sees {shown(samples.value)} different samples",
            (batch, tensor),
            help=f"count {shown(samples.value)} samples per step; {BATCH} has to stay {shown(batch.value)} for DeepSpeed",
        )


def origins(config: Config, key: str) -> tuple[Origin, ...]:
    """Where a key stands, if anywhere."""
    origin = config.origin(key)
    return () if origin is None else (origin,)
