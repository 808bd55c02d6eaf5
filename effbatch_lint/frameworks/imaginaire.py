"""Imaginaire 4, NVIDIA's trainer of the Cosmos models: dataloader_train.batch_size x trainer.grad_accum_iter x replicas.

    replicas = devices / (tensor x pipeline x context parallel)      Megatron Core's groups

Upstream: nvidia-cosmos/cosmos-predict2, imaginaire/trainer.py (ImaginaireTrainer), imaginaire/config.py (TrainerConfig),
cosmos_predict2/configs/base/experiment (the samplers, which count Megatron Core's data-parallel ranks).

Context parallelism, which video models turn on first, splits ONE sample over its ranks: 8 devices with degree 8 and batch
size 1 see one sample per step (nvidia-cosmos/cosmos-predict2#92). The loader is any callable: one that joins several
loaders has a batch for each of them. Configs are Python; what is read here is the YAML that a job saves, a tree of
Hydra's with the same keys, and the words of a launch line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.terms import Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO, ACCUMULATION = "dataloader_train.batch_size", "trainer.grad_accum_iter"
CONTEXT, OLD_CONTEXT = "model_parallel.context_parallel_size", "model.context_parallel_size"
_OWN = (
    ACCUMULATION, CONTEXT, "model_parallel.tensor_model_parallel_size", "model_parallel.pipeline_model_parallel_size",
    "trainer.distributed_parallelism", "trainer.logging_iter", "trainer.max_iter", "checkpoint.save_iter",
)  # fmt: skip


def recognise(config: Config) -> int:
    """The loader's section, beside two keys of this trainer."""
    own = config.count(*_OWN)
    return own + config.count(MICRO) if config.count("dataloader_train") and own > 1 else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, of samples: a video or an image has no token count here."""
    yield Batch(
        micro=_micro(config),
        accumulation=config.integer(ACCUMULATION, default=1),
        layout=Layout.of_world(
            launch.world_size,
            tensor=config.integer("model_parallel.tensor_model_parallel_size", default=1),
            pipeline=config.integer("model_parallel.pipeline_model_parallel_size", default=1),
            context=config.integer(OLD_CONTEXT, CONTEXT, default=1),
        ),
        unit="samples",
        problems=tuple(_checks(config)),
    )


def _micro(config: Config) -> Term:
    """The loader's own batch size; what a loader in Python has is in no file."""
    if config.has("dataloader_train.dataloaders"):
        return unknown("dataloader_train joins several loaders, and a step takes the batch of one of them", key=MICRO)
    return config.integer(MICRO)


def _checks(config: Config) -> Iterator[Problem]:
    old, new = config.integer(OLD_CONTEXT), config.integer(CONTEXT, default=1)
    if config.has(OLD_CONTEXT) and (new.value or 1) > 1:
        yield Problem(
            "EB304",
            f"{OLD_CONTEXT} {shown(old.value)} and {CONTEXT} {shown(new.value)} are both set, and the trainer takes one",
            (old, new),
            refuses=True,
            help=f"remove {OLD_CONTEXT}, which is the old name",
        )
    strategy = config.text("trainer.distributed_parallelism")
    if strategy not in (None, "ddp", "fsdp"):
        yield Problem(
            "EB304",
            f"trainer.distributed_parallelism {strategy} is neither ddp nor fsdp",
            (config.place("trainer.distributed_parallelism"),),
            refuses=True,
            help="set it to ddp or fsdp",
        )


FRAMEWORK = Framework(
    name="imaginaire",
    formula="dataloader_train.batch_size x trainer.grad_accum_iter x devices / (tensor x pipeline x context)",
    sources=(
        "nvidia-cosmos/cosmos-predict2 imaginaire/trainer.py (ImaginaireTrainer)",
        "nvidia-cosmos/cosmos-predict2 imaginaire/config.py (TrainerConfig)",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
)
