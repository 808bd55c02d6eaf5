"""Where a Lightning project keeps its batch size, and whether it is per device.

The Trainer has no batch size: it is an argument of the DataModule, whose code decides what it means. Passed on to a
DataLoader, as nearly all do, it counts per device (distributed_sampler_kwargs gives every rank batches of its own).
The DataModule of ashleve/lightning-hydra-template (src/data/mnist_datamodule.py, setup) takes it as the total and
divides since f50b9f2 (2023-08), two weeks before its model got ``compile`` (2654bad); CompVis/latent-diffusion and Stability-AI/generative-models (main.py) count per device.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.documents.nodes import Scalar
from effbatch_lint.terms import Term, exact, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config

_SECTIONS = ("data", "datamodule", "data_module", "dm", "dataset", "loader", "dataloader", "model", "hparams")
_FORMS = (
    "init_args.batch_size", "params.batch_size", "batch_size", "params.train.loader.batch_size",
    "init_args.train_batch_size", "train_batch_size", "init_args.batch_size_per_device", "batch_size_per_device",
    "batch_size_per_gpu", "dict_kwargs.batch_size", "init_args.dataloader_kwargs.batch_size",
    "dataloader_kwargs.batch_size", "init_args.dataloader.batch_size", "dataloader.batch_size", "loader.batch_size",
    "init_args.train_dataloader.batch_size", "train_dataloader.batch_size", "train_loader.batch_size",
    "train.batch_size",
)  # fmt: skip
KEYS = (*(f"{section}.{form}" for section in _SECTIONS for form in _FORMS), "batch_size", "train_batch_size")
GLOBAL_KEYS = ("train.global_batch_size", "loader.global_batch_size")

_DIVIDING_DATAMODULE = "src.data.mnist_datamodule.MNISTDataModule"
_TEMPLATE_MARKS = ("extras.enforce_tags", "extras.ignore_warnings")
_REFERENCE = re.compile(r"\$\{([\w.]*batch_size)\}")


def batch_size(config: Config, accumulation_key: str) -> Term:
    """The batch size as written; unknown when only the DataModule's Python default holds it.

    Where the accumulation is an expression over the batch (``${div_up:..., ${dataset.batch_size} ...}``), the key that
    it names is the one; a loader's default may stand beside it.
    """
    entry = config.entry(accumulation_key)
    text = entry.value.text if entry is not None and isinstance(entry.value, Scalar) else ""
    named = [key for key in _REFERENCE.findall(text) if not key.startswith(".") and "global" not in key]
    key = config.present(*named, *KEYS)
    if key is None:
        return unknown("no batch_size is set: the DataModule's default decides, in Python", key="data.batch_size")
    return config.integer(key)


def declared_global(config: Config) -> Term | None:
    """The global batch that some projects write and divide up themselves, with ``div_up``."""
    key = config.present(*GLOBAL_KEYS)
    return None if key is None else config.integer(key)


def is_total(config: Config) -> bool:
    """Whether the DataModule is known to divide its batch size by the number of devices.

    A model without ``compile`` beside it may be of the time before.
    """
    if config.has("model") and not config.has("model.compile"):
        return False
    return config.text("data._target_", "datamodule._target_") == _DIVIDING_DATAMODULE


def per_device(config: Config, written: Term, world: Term) -> Term:
    """Items of one device and forward pass, from the batch size as written."""
    if is_total(config):
        return exact(written, world).named(written.key or "batch_size")
    target = config.text("data._target_", "datamodule._target_") or ""
    grown = target == _DIVIDING_DATAMODULE or (target.startswith("src.data.") and config.has(*_TEMPLATE_MARKS))
    if grown and world.value != 1:
        reason = f"{target} decides in Python whether {written.key} counts per device or for all devices together"
        return unknown(reason, *written.origins, key=written.key)
    return written


def undivisible(config: Config, written: Term, world: Term) -> Iterator[Problem]:
    """The dividing DataModule raises when the devices do not divide its batch size."""
    if is_total(config) and written.value and world.value and written.value % world.value:
        yield Problem(
            "EB302",
            f"{written.key} {shown(written.value)} is the total of all devices, and {shown(world.value)} devices do "
            "not divide it",
            (written, world),
            refuses=True,
            help=f"set {written.key} to a multiple of {shown(world.value)}",
        )
