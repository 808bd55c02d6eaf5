"""Which of Lightning's devices read different data: all of them, unless the strategy says otherwise.

Upstream: Lightning-AI/pytorch-lightning, src/lightning/pytorch/strategies/model_parallel.py (setup_environment) and
src/lightning/fabric/strategies/model_parallel.py (_setup_device_mesh); strategies/dp.py of 1.x (one batch is split).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.documents.nodes import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term

# Strategies of 1.x that split one loader's batch over the devices of a node.
SPLITTING = ("dp", "ddp2", "DataParallelStrategy", "DDP2Strategy", "DataParallelPlugin", "DDP2Plugin")


class Strategy(NamedTuple):
    """A strategy's name (the class without its package, or the registered name) and where its arguments stand."""

    name: str
    arguments: str = ""

    @property
    def splits(self) -> bool:
        """Whether one batch is divided among the devices of a node."""
        return self.name in SPLITTING


def strategy(config: Config, trainer: tuple[str, ...]) -> Strategy:
    """The Trainer's strategy; a Hydra group of its own counts, and so do the arguments that named it in 1.x."""
    for key in (*(f"{prefix}strategy" for prefix in trainer), "strategy", "lightning.strategy"):
        if isinstance(config.node(key), Mapping):
            name = config.text(f"{key}.class_path", f"{key}._target_", f"{key}.target") or ""
            below = next((part for part in ("init_args", "params") if config.node(f"{key}.{part}")), None)
            return Strategy(name.rpartition(".")[2], f"{key}.{below}." if below else f"{key}.")
        named = config.text(key)
        if named:
            return Strategy(named)
    old = [f"{prefix}{argument}" for argument in ("accelerator", "distributed_backend") for prefix in trainer]
    return Strategy(next((name for name in map(config.text, old) if name in SPLITTING), ""))


def layout(config: Config, chosen: Strategy, world: Term, per_node: Term, nodes: Term) -> Layout:
    """The replicas; ModelParallelStrategy fills a node with tensor parallelism unless its sizes are written."""
    if chosen.name != "ModelParallelStrategy":
        return Layout.of_world(world)
    tensor = _size(config, f"{chosen.arguments}tensor_parallel_size", per_node, "all devices of a node")
    data = _size(config, f"{chosen.arguments}data_parallel_size", nodes, "one replica per node")
    return Layout.of_replicas(data, tensor=tensor, world=world)


def refusals(config: Config, chosen: Strategy) -> Iterator[Problem]:
    """DeepSpeedStrategy takes accumulation from the Trainer, and refuses it in its own config."""
    if not chosen.name.lower().startswith("deepspeed") or not chosen.arguments:
        return
    inner = config.companion(f"{chosen.arguments}config")
    if inner is not None and inner.has("gradient_accumulation_steps"):
        yield Problem(
            "EB304",
            "the DeepSpeed config sets gradient_accumulation_steps; Lightning takes it from accumulate_grad_batches",
            (inner.integer("gradient_accumulation_steps"),),
            refuses=True,
            help="remove gradient_accumulation_steps, and set accumulate_grad_batches of the Trainer",
        )


def _size(config: Config, key: str, automatic: Term, meaning: str) -> Term:
    if config.has(key) and config.text(key) != "auto":
        return config.integer(key)
    return automatic._replace(how="derived" if automatic.known else "unknown", formula=f"auto: {meaning}", key=key)
