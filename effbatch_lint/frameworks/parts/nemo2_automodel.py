"""NeMo 2's AutoModel path: Hugging Face models and data under a plain Lightning strategy; no global batch counts.

    B = data.micro_batch_size x replicas x trainer.accumulate_grad_batches

Upstream: NVIDIA/NeMo main (2025-09), nemo/collections/llm/gpt/data/hf_dataset.py (HFDatasetDataModule, micro batch 2),
nemo/lightning/pytorch/strategies/fsdp2_strategy.py (_setup_device_mesh: data x context x tensor).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.terms import exact, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch
    from effbatch_lint.terms import Term

_GLOBAL = "data.global_batch_size"


def is_automodel(config: Config, section: str) -> bool:
    """Whether the data or the strategy is one of AutoModel's."""
    data, strategy = config.text("data._target_") or "", config.text(f"{section}_target_") or ""
    return "HFDataset" in data or strategy.rpartition(".")[2] in ("FSDP2Strategy", "FSDPStrategy", "DDPStrategy")


def automodel_batch(config: Config, section: str, micro: Term, world: Term, launch: Launch) -> Batch:
    """The batch of one device times the replicas; rows are padded within a micro batch."""
    layout = Layout.of_world(world)
    if (config.text(f"{section}_target_") or "").endswith("FSDP2Strategy"):
        nodes = config.integer("trainer.num_nodes", default=1)
        per_node = launch.devices_per_node if launch.devices_per_node.known else exact(world, nodes)
        layout = Layout.of_replicas(
            _size(config, f"{section}data_parallel_size", nodes, "one replica per node"),
            tensor=_size(config, f"{section}tensor_parallel_size", per_node, "all devices of a node"),
            context=config.integer(f"{section}context_parallel_size", default=1),
            world=world,
        )
    return Batch(
        micro=micro,
        accumulation=config.integer("trainer.accumulate_grad_batches", default=1),
        layout=layout,
        sequence_length=config.integer("data.seq_length", default=1024),
        tokens_bound="at most",
        problems=tuple(_ignored(config)),
        profile="AutoModel",
    )


def _size(config: Config, key: str, automatic: Term, meaning: str) -> Term:
    if config.has(key) and config.text(key) != "auto":
        return config.integer(key)
    return automatic._replace(how="derived" if automatic.known else "unknown", formula=f"auto: {meaning}", key=key)


def _ignored(config: Config) -> Iterator[Problem]:
    if config.has(_GLOBAL):
        total = config.integer(_GLOBAL)
        yield Problem(
            "EB305",
            f"{_GLOBAL} {shown(total.value)} has no effect on an AutoModel run: the batch follows the devices",
            (total,),
            help="set data.micro_batch_size and trainer.accumulate_grad_batches",
        )
