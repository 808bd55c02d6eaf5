"""detectron2: SOLVER.IMS_PER_BATCH images over all GPUs; (SOLVER.IMS_PER_BATCH / GPUs) per GPU.

    with SOLVER.REFERENCE_WORLD_SIZE r > 0 and another number of GPUs: B = round(IMS_PER_BATCH x GPUs / r)

Upstream: facebookresearch/detectron2, detectron2/data/build.py (build_batch_data_loader), detectron2/engine/
defaults.py (DefaultTrainer.auto_scale_workers), detectron2/config/defaults.py. Files of a ``_BASE_`` chain are one
config (compose/inherit.py).

More GPUs never raise the batch. Only DefaultTrainer scales by the reference world size; plain_train_net.py and loops of
one's own do not. maskrcnn-benchmark has the same key, with the same meaning and the same check. ``BATCH_SIZE_PER_IMAGE``
counts proposals, and no images.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.terms import ONE, Term, exact, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_IMAGES = "SOLVER.IMS_PER_BATCH"
_REFERENCE = "SOLVER.REFERENCE_WORLD_SIZE"


def recognise(config: Config) -> int:
    """Keys in capitals (yacs): the batch, or a ``MODEL`` that only detectron2 describes so (the batch has a default)."""
    batch = config.count(_IMAGES, _REFERENCE)
    model = config.count(
        "MODEL.META_ARCHITECTURE", "MODEL.ROI_HEADS", "MODEL.RPN", "MODEL.RESNETS", "MODEL.ANCHOR_GENERATOR",
        "MODEL.BACKBONE",
    )  # fmt: skip
    training = config.count("SOLVER", "DATASETS.TRAIN", "_BASE_", "MODEL.WEIGHTS")
    return batch + model + training if batch or (model and training) else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch of images."""
    world = launch.world_size
    declared = config.integer(_IMAGES, default=16)
    images, scaling = _scaled(declared, config.integer(_REFERENCE, default=0), world)
    yield Batch(
        micro=exact(images, world),
        accumulation=ONE,
        layout=Layout.of_world(world),
        unit="images",
        global_batch=images,
        declared=declared,
        problems=(*scaling, *_indivisible(images, world)),
    )


def _scaled(declared: Term, reference: Term, world: Term) -> tuple[Term, tuple[Problem, ...]]:
    """DefaultTrainer keeps the images per GPU of the reference, and so changes the batch on any other number."""
    if reference.value in (0, world.value):
        return declared, ()
    if reference.value is None or declared.value is None or world.value is None:
        reason = declared.reason or reference.reason or f"{_REFERENCE} scales the batch, and {world.reason}"
        return unknown(reason, *declared.origins, *reference.origins, key=_IMAGES), ()
    if declared.value % reference.value:
        problem = Problem(
            "EB304",
            f"{_IMAGES} {shown(declared.value)} is no multiple of {_REFERENCE} {shown(reference.value)}",
            (reference, declared),
            refuses=True,
            help=f"set {_REFERENCE} to the number of GPUs that {_IMAGES} was chosen for, or to 0",
        )
        return unknown(problem.message, *reference.origins, key=_IMAGES), (problem,)
    # A whole number of images per GPU: the rounding of auto_scale_workers never has anything to round.
    scaled = declared.value // reference.value * world.value
    formula = f"{shown(declared.value)} x {shown(world.value)} / {shown(reference.value)} GPUs"
    term = Term(scaled, "derived", (*declared.origins, *reference.origins), formula, None, _IMAGES)
    return term, (
        Problem(
            "EB303",
            f"{_IMAGES} {shown(declared.value)} runs as {shown(scaled)} images: it is meant for "
            f"{shown(reference.value)} GPUs ({_REFERENCE}), and there are {shown(world.value)}",
            (declared, reference),
            help=f"declare {shown(scaled)}, or set {_REFERENCE} to 0; learning rate and steps are scaled with it",
        ),
    )


def _indivisible(images: Term, world: Term) -> Iterator[Problem]:
    if images.value is None or not world.value or (images.value > 0 and images.value % world.value == 0):
        return
    yield Problem(
        "EB302",
        f"{_IMAGES} {shown(images.value)} cannot be divided by {shown(world.value)} GPUs",
        (images, world),
        refuses=True,
        help=f"set {_IMAGES} to a multiple of {shown(world.value)}, and BASE_LR and MAX_ITER to match",
    )


FRAMEWORK = Framework(
    name="detectron2",
    formula="IMS_PER_BATCH (all GPUs); scaled by GPUs / REFERENCE_WORLD_SIZE where that is set",
    sources=(
        "facebookresearch/detectron2 detectron2/data/build.py (build_batch_data_loader)",
        "facebookresearch/detectron2 detectron2/engine/defaults.py (DefaultTrainer.auto_scale_workers)",
    ),
    recognise=recognise,
    read=read,
)
