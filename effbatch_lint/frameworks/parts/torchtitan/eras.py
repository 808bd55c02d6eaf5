"""Where torchtitan kept its batch keys, era by era; the keys present tell the era of a file.

Upstream: pytorch/torchtitan, torchtitan/config_manager.py and its history: ``tensor_parallel_degree`` since e28832e7c
(2024-03, ``sequence_parallel_degree`` before), ``[experimental] pipeline_parallel_degree`` since aafe0e870 (2024-05),
``data_parallel_shard_degree`` since db6b39acd (2024-09), ``[parallelism]`` since 785c34c99 (2025-03),
``local_batch_size`` and ``global_batch_size`` since 8570415c3 (2025-06, v0.1.0), token keys since 73aed7f6c (2026-08,
torchtitan/config/configs.py). fla-org/flame at e11e7be75b, flame/config_manager.py, keeps the places of 2024-09 and
adds an accumulation key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


DEFAULT_TOKENS = 16_384
DEGREES = ("replicate", "shard", "tensor", "pipeline", "context")


class Era(NamedTuple):
    """The key of each number in one era.

    ``strict`` tells the loaders that refuse a key they do not know; the older ones drop it in silence.
    """

    profile: str
    micro: str
    length: str
    replicate: str
    shard: str
    tensor: str
    pipeline: str
    context: str
    strict: bool = False
    declared: str | None = None
    accumulation: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that this era reads."""
        named = (self.micro, self.length, *self.degrees, self.declared, self.accumulation)
        return tuple(key for key in named if key is not None)

    @property
    def degrees(self) -> tuple[str, ...]:
        """The keys of the layout."""
        return (self.replicate, self.shard, self.tensor, self.pipeline, self.context)


_PARALLELISM = (
    "parallelism.data_parallel_replicate_degree",
    "parallelism.data_parallel_shard_degree",
    "parallelism.tensor_parallel_degree",
    "parallelism.pipeline_parallel_degree",
    "parallelism.context_parallel_degree",
)
_EXPERIMENTAL = (
    "training.data_parallel_replicate_degree",
    "training.data_parallel_shard_degree",
    "training.tensor_parallel_degree",
    "experimental.pipeline_parallel_degree",
    "experimental.context_parallel_degree",
)

TOKENS = Era(
    "since 2026-08 (tokens)",
    "training.num_tokens_per_microbatch_per_dp_rank", "training.max_context_length", *_PARALLELISM,
    strict=True, declared="training.num_tokens_per_train_step",
)  # fmt: skip
SEQUENCES = Era(
    "v0.1-v0.2 (sequences)",
    "training.local_batch_size", "training.seq_len", *_PARALLELISM,
    strict=True, declared="training.global_batch_size",
)  # fmt: skip
PARALLELISM_SECTION = Era(
    "2025-03 to 2025-06 (sequences, no accumulation)", "training.batch_size", "training.seq_len", *_PARALLELISM
)
EXPERIMENTAL_SECTION = Era(
    "2024-09 to 2025-03 (sequences, no accumulation)", "training.batch_size", "training.seq_len", *_EXPERIMENTAL
)
ONE_DATA_PARALLEL_DEGREE = Era(
    "before 2024-09 (sequences, no accumulation)", "training.batch_size", "training.seq_len",
    "training.data_parallel_replicate_degree", "training.data_parallel_degree", "training.tensor_parallel_degree",
    "experimental.pipeline_parallel_degree", "experimental.context_parallel_degree",
)  # fmt: skip
TRAINING_SECTION = ONE_DATA_PARALLEL_DEGREE._replace(
    profile="before 2024-05 (sequences, no accumulation)", pipeline="training.pipeline_parallel_degree"
)
SEQUENCE_PARALLEL = TRAINING_SECTION._replace(
    profile="before 2024-04 (sequences, no accumulation)", tensor="training.sequence_parallel_degree"
)
FLAME = EXPERIMENTAL_SECTION._replace(profile="flame", accumulation="training.gradient_accumulation_steps")

ERAS = (
    TOKENS,
    SEQUENCES,
    PARALLELISM_SECTION,
    EXPERIMENTAL_SECTION,
    ONE_DATA_PARALLEL_DEGREE,
    TRAINING_SECTION,
    SEQUENCE_PARALLEL,
    FLAME,
)

# Keys of flame/config_manager.py that torchtitan never had.
_FLAME_KEYS = (
    "model.config", "training.context_len", "training.varlen", "training.skip_nan_inf", "training.dataset_name",
    "training.prefetch_factor",
)  # fmt: skip


def of(config: Config) -> Era:
    """The era of a file: its batch key first, then where the degrees stand."""
    if config.has(TOKENS.micro, "training.num_tokens_per_train_step"):
        return TOKENS
    if config.has("training.local_batch_size"):
        return SEQUENCES
    if config.has(*_FLAME_KEYS) and not config.has("model.flavor"):
        return FLAME
    if config.has(*_PARALLELISM):
        return PARALLELISM_SECTION if config.has("training.batch_size") else SEQUENCES
    if config.has("training.data_parallel_shard_degree", "training.data_parallel_replicate_degree"):
        return EXPERIMENTAL_SECTION
    if config.has("experimental.context_parallel_degree"):
        return EXPERIMENTAL_SECTION
    if config.has("experimental.pipeline_parallel_degree"):
        return ONE_DATA_PARALLEL_DEGREE
    if config.has("training.sequence_parallel_degree") and not config.has("training.tensor_parallel_degree"):
        return SEQUENCE_PARALLEL
    if config.has("training.data_parallel_degree", "training.batch_size"):
        return TRAINING_SECTION
    return SEQUENCES
