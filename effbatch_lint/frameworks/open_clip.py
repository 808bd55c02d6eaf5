"""open_clip: batch-size x accum-freq x processes image-text pairs; the contrastive batch is the same number.

Upstream: mlfoundations/open_clip, src/open_clip_train/params.py (the flags), data.py (global_batch_size, which leaves
accum-freq out, as the logged samples per step of older releases do), train.py (_train_step_eager: features are cached, so
that the negatives grow with the accumulation), main.py (distillation), distributed.py.

Nothing splits a model. The module was ``training.main`` in older releases. A NaFlex loader takes no batch size: a batch
holds as many rows as its token budget gives for the sequence length that is drawn (parts/open_clip_naflex.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.namespace import flags_of
from effbatch_lint.frameworks.parts.open_clip_naflex import generative, ignored, is_naflex, rows
from effbatch_lint.frameworks.parts.process_world import process_world
from effbatch_lint.terms import Term, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO, ACCUMULATION = "batch-size", "accum-freq"
_KEYS = (
    "train-num-samples", "dataset-type", "dataset-resampled", "zeroshot-frequency", "imagenet-val", "csv-img-key",
    "csv-caption-key", "local-loss", "gather-with-grad", "save-frequency", ACCUMULATION,
)  # fmt: skip
_PROGRAM = re.compile(r"open_clip_train(?:\.|/)(?:legacy_)?main(?:\.py)?$")
_SYNTHETIC = ("synthetic", "synthetic-audio")


def recognise(config: Config) -> int:
    """Training data beside flags that only open_clip and what descends from it have; without data it evaluates."""
    found = config.count(*_KEYS)
    return found + config.count("train-data", "model") if _trains(config) and found > 1 else 0


def starts(launch: Launch) -> bool:
    """open_clip's own module, given something to train on."""
    said = launch.overrides
    trains = "train-data" in said or said.get("dataset-type") in _SYNTHETIC
    return trains and _PROGRAM.search(launch.program or "") is not None


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch: every process reads its own pairs."""
    config = flags_of(config, launch)
    accumulation = config.integer(ACCUMULATION, default=1)
    naflex = is_naflex(config) and config.text("dataset-type") not in _SYNTHETIC
    yield Batch(
        micro=rows(config) if naflex else config.integer(MICRO, default=64),
        accumulation=accumulation,
        layout=Layout.of_world(process_world(launch)),
        unit="samples",
        problems=(*_checks(config, accumulation), *(ignored(config, config.integer(MICRO)) if naflex else ())),
        profile="NaFlex" if naflex else None,
    )


def _trains(config: Config) -> bool:
    return config.has("train-data") or config.text("dataset-type") in _SYNTHETIC


def _checks(config: Config, accumulation: Term) -> Iterator[Problem]:
    """Three ways to train that take one batch at a time."""
    if accumulation.value is None or accumulation.value <= 1:
        return
    single = {
        "distillation": config.has("distill-model") and config.has("distill-pretrained"),
        f"--model {config.text('model')}, which is generative,": generative(config) is not None,
        "--torchcompile-strategy step": config.flag("torchcompile") and config.text("torchcompile-strategy") == "step",
    }
    for what, chosen in single.items():
        if chosen:
            yield Problem(
                "EB304",
                f"{what} needs --accum-freq 1, and it is {shown(accumulation.value)}",
                (accumulation,),
                refuses=True,
                help="remove --accum-freq: larger batches of each process, or more of them, give the same batch",
            )


FRAMEWORK = Framework(
    name="open_clip",
    formula="batch-size x accum-freq x processes",
    sources=(
        "mlfoundations/open_clip src/open_clip_train/params.py",
        "mlfoundations/open_clip src/open_clip_train/data.py",
        "mlfoundations/open_clip src/open_clip_train/train.py",
    ),
    recognise=recognise,
    read=read,
    starts=starts,
    profiles=("NaFlex",),
)
