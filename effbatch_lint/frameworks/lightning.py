"""Lightning: batch_size x accumulate_grad_batches x (devices x num_nodes).

Upstream: Lightning-AI/pytorch-lightning 2.6, src/lightning/pytorch/trainer/trainer.py, trainer/connectors/
data_connector.py (every rank gets batches of its own). Read are LightningCLI files (``trainer``, ``model``, ``data``),
composed Hydra trees with ``trainer._target_``, and the form of taming-transformers, latent-diffusion and
generative-models (``lightning.trainer``, ``data.params``, Trainer flags on the command line). In 1.x
``Trainer.add_argparse_args`` made every argument of the Trainer a flag of the project's own script.

The Trainer knows neither a batch size nor a global batch: the batch follows the devices, and what ``batch_size`` means
is up to the DataModule (lightning_batch). With ``dp`` of 1.x one batch is split over the devices, and with
ModelParallelStrategy whole nodes hold one replica (lightning_strategy).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem, Stage
from effbatch_lint.compose.merge import layered
from effbatch_lint.documents.document import kind_of
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.lightning.accumulation import Counts, Phase, divided_up, phases
from effbatch_lint.frameworks.parts.lightning.batch import (
    batch_size,
    declared_global,
    is_total,
    per_device,
    undivisible,
)
from effbatch_lint.frameworks.parts.lightning.devices import devices_per_node
from effbatch_lint.frameworks.parts.lightning.strategy import Strategy, layout, refusals, strategy
from effbatch_lint.frameworks.parts.stated_world import reconciled
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_TRAINER = (
    "accelerator", "strategy", "devices", "num_nodes", "gpus", "max_epochs", "accumulate_grad_batches",
    "default_root_dir", "sync_batchnorm", "enable_checkpointing", "enable_progress_bar", "fast_dev_run",
    "check_val_every_n_epoch", "val_check_interval", "limit_train_batches", "limit_val_batches", "gradient_clip_val",
    "log_every_n_steps", "num_sanity_val_steps", "benchmark", "deterministic", "detect_anomaly", "num_processes",
    "distributed_backend", "replace_sampler_ddp", "use_distributed_sampler", "inference_mode", "barebones",
)  # fmt: skip
_ONLY_LIGHTNING = (
    "accumulate_grad_batches", "sync_batchnorm", "check_val_every_n_epoch", "limit_train_batches", "limit_val_batches",
    "gradient_clip_val", "log_every_n_steps", "num_sanity_val_steps", "fast_dev_run", "use_distributed_sampler",
    "replace_sampler_ddp", "val_check_interval", "enable_progress_bar", "enable_checkpointing", "detect_anomaly",
)  # fmt: skip
_CLI = ("data.class_path", "model.class_path", "seed_everything", "data.init_args")
_FLAT_BATCH = ("batch_size", "train_batch_size")
_TAMING = ("model.base_learning_rate", "model.target", "data.target", "data.params")
_NEMO = (
    "exp_manager", "model.micro_batch_size", "model.global_batch_size", "model.train_ds", "model.data.data_impl",
    "data.common.global_batch_size", "strategy.tensor_model_parallel_size",
    "trainer.strategy.tensor_model_parallel_size",
)  # fmt: skip


def recognise(config: Config) -> int:
    """A ``trainer`` with arguments that only Lightning's has; NeMo's files have one too, and keys of their own."""
    config = _fitted(config)
    if config.has(*_NEMO):
        return 0
    if _is_taming(config):
        found = config.count(*_TAMING)
        return found and found + config.count(*(f"lightning.trainer.{argument}" for argument in _TRAINER))
    if not isinstance(config.node("trainer"), Mapping):
        return config.count(*_TRAINER, *_FLAT_BATCH) if _argparse(config) else 0
    arguments = config.count(*(f"trainer.{argument}" for argument in _TRAINER))
    target = config.text("trainer._target_")
    if target is not None and "lightning" not in target.lower() and not target.startswith("pl."):
        # A class of the project's own may be derived from Lightning's Trainer, or be none.
        return arguments if config.count(*(f"trainer.{argument}" for argument in _ONLY_LIGHTNING)) > 1 else 0
    named = 2 * (target is not None) + config.count(*_CLI)
    return arguments + named if arguments and arguments + named > 1 else 0


def _argparse(config: Config) -> bool:
    """Flags of a script that are the Trainer's arguments: accumulation under its name, devices, and a batch size."""
    flags = kind_of(config.path) == "shell" and not isinstance(config.node("trainer"), Mapping)
    devices = config.has("gpus", "devices", "tpu_cores", "num_nodes")
    return flags and devices and config.has("accumulate_grad_batches") and config.has(*_FLAT_BATCH)


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; a schedule of accumulation gives its last stage, and the stages before it."""
    config = _fitted(config)
    taming = _is_taming(config)
    trainer = ("", "lightning.trainer.") if taming else ("",) if _argparse(config) else ("trainer.",)
    accumulate = config.present(*(f"{prefix}accumulate_grad_batches" for prefix in trainer))
    accumulate = accumulate or f"{trainer[-1]}accumulate_grad_batches"

    per_node, refused = devices_per_node(config, trainer, launch)
    nodes = config.integer(*(f"{prefix}num_nodes" for prefix in trainer), default=1)
    world, conflict = reconciled(product(per_node, nodes), launch.world_size, f"{per_node.key} x num_nodes")
    per_node = per_node if per_node.known else exact(world, nodes)
    chosen = strategy(config, trainer)
    dims = layout(config, chosen, world, per_node, nodes)

    counts = Counts(declared_global(config), per_node, nodes)
    written = batch_size(config, accumulate)
    if not written.known and written.key:
        written = divided_up(config, written.key, None, counts) or written
    micro = exact(written, per_node) if chosen.splits else per_device(config, written, world)
    stages, clash = phases(config, accumulate, micro, counts)
    micro, accumulation = stages[-1].micro, stages[-1].accumulation
    batch = Batch(
        micro=micro,
        accumulation=accumulation,
        layout=dims._replace(problems=(*conflict, *dims.problems)),
        unit="images" if taming else "samples" if counts.declared is None else "sequences",
        global_batch=_undivided(config, chosen, written, accumulation, nodes),
        declared=counts.declared,
        schedule=_schedule(stages, dims.replicas) if len(stages) > 1 else (),
        problems=(*refused, *refusals(config, chosen), *undivisible(config, written, world), *clash),
    )
    yield batch._replace(problems=(*batch.problems, *_differs(config, batch)))


def _is_taming(config: Config) -> bool:
    """With the Trainer under ``lightning``, or with none: latent-diffusion's main.py then takes all from its flags."""
    if isinstance(config.node("lightning"), Mapping):
        return True
    return not config.has("trainer") and config.count(*_TAMING) == len(_TAMING)


def _fitted(config: Config) -> Config:
    """LightningCLI with sub-commands keeps the training run under ``fit``; flags of the launch line lie beside it."""
    fit = config.section("fit") if config.has("fit.trainer") else None
    if fit is None:
        return config
    flags = {key: entry for key, entry in config.root.entries.items() if key in ("trainer", "model", "data")}
    return config.over(layered([fit.root, Mapping(flags, None)])) if flags else fit


def _undivided(config: Config, chosen: Strategy, written: Term, accumulation: Term, nodes: Term) -> Term | None:
    """B where ``batch_size`` is no number per device: split by dp, or divided by the DataModule."""
    if chosen.splits:
        return product(written, accumulation, *([nodes] if "2" in chosen.name else []))  # ddp2: one batch per node
    return product(written, accumulation) if is_total(config) else None


def _schedule(stages: list[Phase], replicas: Term) -> tuple[Stage, ...]:
    return tuple(Stage(stage.epoch, "epochs", product(stage.micro, stage.accumulation, replicas)) for stage in stages)


def _differs(config: Config, batch: Batch) -> Iterator[Problem]:
    """A project's global batch is a number that it divides up, rounding up; only mdlm compares it with what runs.

    kuleshov-group/mdlm, dataloader.py (get_dataloaders), asserts that the two are equal; its descendants keep that.
    """
    declared, real, replicas = batch.declared, batch.effective.value, batch.layout.replicas
    if declared is None or declared.value is None or real is None or declared.value == real:
        return
    asserted = config.has("loader.eval_global_batch_size")
    yield Problem(
        "EB302" if asserted else "EB303",
        f"{declared.key} is {shown(declared.value)}, and a step sees {shown(real)}: batch {shown(batch.micro.value)} x "
        f"accumulation {shown(batch.accumulation.value)} x {shown(replicas.value)} devices",
        (declared, batch.micro, batch.accumulation, replicas),
        refuses=asserted,
        help=f"set {declared.key} to {shown(real)}, or choose a batch that divides it",
    )


FRAMEWORK = Framework(
    name="lightning",
    formula="batch_size x accumulate_grad_batches x devices x num_nodes",
    sources=(
        "Lightning-AI/pytorch-lightning src/lightning/pytorch/trainer/trainer.py",
        "Lightning-AI/pytorch-lightning src/lightning/fabric/utilities/device_parser.py",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",  # jsonargparse and Hydra share OmegaConf's float rule
)
