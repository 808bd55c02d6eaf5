"""fairseq: max_tokens (or batch_size rows) x update_freq x world / model_parallel_size.

Upstream: facebookresearch/fairseq, fairseq/dataclass/configs.py (the keys and their defaults), fairseq_cli/train.py
(GroupedIterator by update_freq, a list by epoch), fairseq/trainer.py (get_train_iterator: one shard per replica),
fairseq/data/data_utils_fast.pyx (rows of a batch: fairseq_rows), fairseq/distributed/utils.py (fairseq_devices).

Both caps are per replica and forward pass. ``max_tokens`` counts padded tokens (waveform samples in audio tasks), so
that the batch is a bound, in tokens. The keys are sections of a Hydra file or the flags of ``fairseq-train``; MMPT keeps
the sections below ``fairseq``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem, Stage
from effbatch_lint.documents.nodes import Sequence
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.fairseq.devices import devices
from effbatch_lint.frameworks.parts.fairseq.rows import rows
from effbatch_lint.terms import Term, product

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_CAPS = ("dataset.max_tokens", "dataset.batch_size", "max-tokens", "batch-size", "max-sentences")
_BESIDE = (
    "optimization.update_freq", "optimization.max_update", "optimization.lr", "optimization.sentence_avg",
    "distributed_training.distributed_world_size", "distributed_training.ddp_backend",
    "distributed_training.distributed_port", "task._name", "model._name", "criterion._name", "lr_scheduler._name",
    "dataset.required_batch_size_multiple", "dataset.skip_invalid_size_inputs_valid_test", "common.log_format",
    "checkpoint.no_epoch_checkpoints",
)  # fmt: skip
_FLAGS = (
    "arch", "update-freq", "max-update", "criterion", "lr-scheduler", "ddp-backend", "tokens-per-sample",
    "distributed-world-size", "warmup-updates", "share-decoder-input-output-embed", "fp16",
)  # fmt: skip
_UPDATE_FREQ = ("optimization.update_freq", "update-freq")


def recognise(config: Config) -> int:
    """Hydra's sections with fairseq's own keys, or its flags; a bare ``dataset.batch_size`` is anybody's."""
    nested = config.has("fairseq.dataset") and config.has("fairseq.optimization")
    config = _unwrapped(config)
    if not config.count(*_CAPS):
        return 0
    sections, flags = config.count(*_BESIDE), config.count(*_FLAGS)
    if nested or sections > 2:  # noqa: PLR2004 - lr and a task's name stand in other trees too
        return sections + 2 * nested
    return flags if flags > 1 and config.has("arch", "task") else 0


def starts(launch: Launch) -> bool:
    """``fairseq-train``, ``fairseq-hydra-train``, and the programs behind them."""
    return (launch.program or "").endswith(
        ("fairseq-train", "fairseq-hydra-train", "fairseq_cli.train", "hydra_train.py")
    )


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; a list of ``update_freq`` gives its last epochs, and the stages before them."""
    config = _unwrapped(config)
    layout = devices(config, launch.world_size)
    micro = rows(config)
    frequencies = _update_frequencies(config)
    stages = tuple(
        Stage(epoch, "epochs", product(micro.cap, frequency, layout.replicas))
        for epoch, frequency in enumerate(frequencies)
    )
    yield Batch(
        micro=micro.cap,
        accumulation=frequencies[-1],
        layout=layout,
        sequence_length=micro.length,
        unit="samples" if config.prefix else micro.unit,
        tokens_bound="at most" if micro.varies else "exact",
        schedule=stages if len(stages) > 1 else (),
        problems=(*micro.problems, *_missing_update(frequencies)),
    )


def _unwrapped(config: Config) -> Config:
    """The sections of MMPT's files stand below ``fairseq``."""
    return (config.section("fairseq") if config.has("fairseq.dataset") else None) or config


def _update_frequencies(config: Config) -> list[Term]:
    """Micro batches of one update, by epoch; the last one goes on. A list, or ``--update-freq 4,2,1``."""
    key = config.present(*_UPDATE_FREQ)
    node = config.node(key) if key else None
    if key is None or node is None:
        return [Term(1, "default", key=_UPDATE_FREQ[0])]
    if isinstance(node, Sequence):
        return [config.integer(f"{key}.{index}").named(key) for index in range(len(node.items))] or [
            config.integer(key)
        ]
    whole, text = config.integer(key), config.text(key)
    parts = (text or "").strip("[] ").split(",")
    if len(parts) > 1 and all(part.strip().isdecimal() for part in parts):
        return [whole._replace(value=int(part[:20]), how="read", reason=None) for part in parts]
    return [whole]


def _missing_update(frequencies: list[Term]) -> Iterator[Problem]:
    wrong = next((term for term in frequencies if term.value is not None and term.value < 1), None)
    if wrong is not None:
        yield Problem(
            "EB304",
            f"{wrong.key} {wrong.value} groups no micro batch into an update",
            (wrong,),
            refuses=True,
            help=f"set {wrong.key} to [1] or more",
        )


FRAMEWORK = Framework(
    name="fairseq",
    formula="max_tokens (or batch_size) x update_freq x distributed_world_size / model_parallel_size",
    sources=(
        "facebookresearch/fairseq fairseq_cli/train.py",
        "facebookresearch/fairseq fairseq/data/data_utils_fast.pyx",
        "facebookresearch/fairseq fairseq/distributed/utils.py",
    ),
    recognise=recognise,
    read=read,
    starts=starts,
    dialect="omegaconf",
)
