"""timm: batch-size x grad-accum-steps x processes images, in the train.py of the repository and of its descendants.

Upstream: huggingface/pytorch-image-models, train.py (the argument groups; train_one_epoch; _parse_args: a ``--config`` file
sets argparse's defaults), timm/utils/distributed.py; sail-sg/metaformer, scripts/ (a total that the shell divides).

Nothing splits a model, nothing is declared and nothing is checked but the lists of a resolution schedule. An accumulation
below 1 is 1, and the last update of an epoch is smaller. The learning rate follows the batch only without ``--lr``. A
schedule of resolutions and a NaFlex loader have batches of several sizes (parts/timm_images.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.compose.spelling import hyphenated, respelled
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.process_world import process_world
from effbatch_lint.frameworks.parts.repeated_flags import repeated_flags
from effbatch_lint.frameworks.parts.script_total import declared_total, missed_total
from effbatch_lint.frameworks.parts.timm_images import image_checks, images
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO, ACCUMULATION = "batch-size", "grad-accum-steps"
_DEFAULTS = {MICRO: 128, ACCUMULATION: 1}
_SHORT = {"b": MICRO, "vb": "validation-batch-size"}
_KEYS = frozenset((
    ACCUMULATION, "sched", "sched-on-updates", "lr-base", "lr-base-size", "lr-base-scale", "warmup-lr", "cooldown-epochs",
    "opt-eps", "drop-path", "head-dropout", "aa", "reprob", "remode", "recount", "resplit", "aug-splits", "jsd-loss",
    "dist-bn", "train-interpolation", "train-img-sizes", "train-batch-sizes", "naflex-loader",
))  # fmt: skip
_COMMON = frozenset((
    "opt", "lr", "epochs", "img-size", MICRO, "b", "vb", "validation-batch-size", "warmup-epochs", "decay-epochs",
    "decay-rate", "mixup", "cutmix", "smoothing", "color-jitter", "drop-block",
))  # fmt: skip
# Trainers that took over some of the flags, with a loop of their own: DeiT, ConvNeXt, MAE, torchvision.
_OTHERS = frozenset((
    "data-path", "data-set", "output-dir", "update-freq", "accum-iter", "accumulation-steps", "gradient-accumulation-steps",
    "lr-warmup-epochs", "auto-augment", "lr-scheduler", "teacher-model", "train-data",
))  # fmt: skip


def recognise(config: Config) -> int:
    """A model by name beside flags of timm's own recipe: augmentation, schedule, drop rates."""
    model = config.node("model")
    names = {hyphenated(key) for key in config.root.entries}
    found = len(names & _KEYS)
    if not isinstance(model, Scalar) or isinstance(config.value("model"), int) or names & _OTHERS:
        return 0  # a vocabulary has every word, "model" among them, with a number
    enough = found > 1 or (found and names & {"b", "vb", ACCUMULATION, "opt"})
    return found + len(names & _COMMON) if enough else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch: every process reads its own images."""
    args = _arguments(config, launch)
    micro = images(args)
    steps = args.integer(ACCUMULATION, default=1)
    positive = steps.value is None or steps.value > 0
    accumulation = steps if positive else steps._replace(value=1, how="derived", formula="below 1, which is taken as 1")
    batch = Batch(
        micro=micro,
        accumulation=accumulation,
        layout=Layout.of_world(process_world(launch)),
        unit="images",
        declared=declared_total(launch, micro, accumulation),
        problems=(
            *_unread(config, args, launch),
            *repeated_flags(_flags(config, launch), _destination, (MICRO, ACCUMULATION)),
            *image_checks(args),
        ),
    )
    yield batch._replace(problems=(*batch.problems, *missed_total(batch)))


def _destination(key: str) -> str:
    """The name under which argparse keeps a flag."""
    return _SHORT.get(key, hyphenated(key))


def _arguments(config: Config, launch: Launch) -> Config:
    """The flags over the file, each under its one name."""
    tree = config.root
    read = {key: entry for key, entry in tree.entries.items() if _counts(key, config, launch)}
    return config.over(respelled([Mapping(lambda: (read, tree.duplicates), tree.span)], _destination))


def _flags(config: Config, launch: Launch) -> Mapping:
    """The flags of the line alone, each under its one name."""
    given = {word.name for word in launch.arguments}
    return respelled([Mapping({k: e for k, e in config.root.entries.items() if k in given}, None)], _destination)


def _counts(key: str, config: Config, launch: Launch) -> bool:
    """Whether argparse reads the key: as a flag of the line, or as the attribute of its namespace that a file sets."""
    overridden = config.root.entries[key].note is not None
    return overridden or ("-" not in key and key not in _SHORT) or any(word.name == key for word in launch.arguments)


def _unread(config: Config, args: Config, launch: Launch) -> Iterator[Problem]:
    """A key of the file that is spelled like a flag sets an attribute that nobody reads."""
    for key in config.root.entries:
        name = _destination(key)
        if name not in (MICRO, ACCUMULATION) or _counts(key, config, launch):
            continue
        attribute = name.replace("-", "_")
        yield Problem(
            "EB305",
            f"{key} has no effect in a file: timm reads {attribute} there, which is "
            f"{shown(args.integer(name, default=_DEFAULTS[name]).value)}",
            (config.integer(key),),
            help=f"write {attribute}",
        )


FRAMEWORK = Framework(
    name="timm",
    formula="batch-size x grad-accum-steps x processes",
    sources=(
        "huggingface/pytorch-image-models train.py",
        "huggingface/pytorch-image-models timm/utils/distributed.py",
    ),
    recognise=recognise,
    read=read,
)
