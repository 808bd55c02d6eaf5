"""What NeMo AutoModel's recipes refuse of a batch, and where the loader goes its own way.

Upstream: NVIDIA-NeMo/Automodel, nemo_automodel/recipes/llm/train_ft.py (pipeline),
nemo_automodel/components/distributed/mesh_utils.py (strategies), nemo_automodel/recipes/_typed_config.py (dataloader).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, floor, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config


def of(config: Config, layout: Layout, local: Term, loaded: Term, accumulation: Term) -> Iterator[Problem]:
    """The findings on one recipe. ``loaded`` is what the loader yields, ``local`` what the accumulation counts with."""
    yield from _strategy(config, layout)
    piece = config.integer("distributed.pipeline.pp_microbatch_size", default=1)
    pieces = floor(local, piece)
    stages = layout.pipeline
    if (stages.value or 1) > 1 and pieces.value is not None and pieces.value < (stages.value or 1):
        yield Problem(
            "EB304",
            f"local_batch_size {shown(local.value)} makes {shown(pieces.value)} pipeline micro batches of "
            f"{shown(piece.value)}, fewer than the {shown(stages.value)} stages",
            (local, piece, stages),
            refuses=True,
            help=f"raise local_batch_size to {shown((piece.value or 1) * (stages.value or 1))}",
        )
    if loaded.known and local.known and loaded.value != local.value:
        real = product(loaded, accumulation, layout.replicas)
        made = f": a step sees {shown(real.value)}" if real.known else ""
        yield Problem(
            "EB303",
            f"dataloader.batch_size {shown(loaded.value)} is what the loader yields, and the accumulation is computed from "
            f"local_batch_size {shown(local.value)}{made}",
            (loaded, local),
            help="remove dataloader.batch_size, or make it equal to local_batch_size",
        )


def _strategy(config: Config, layout: Layout) -> Iterator[Problem]:
    strategy = config.text("distributed.strategy")
    degrees = (layout.tensor, layout.pipeline, layout.context) if strategy == "ddp" else (layout.pipeline,)
    split = [term for term in degrees if (term.value or 1) > 1]
    if strategy in ("ddp", "megatron_fsdp") and split:
        names = " and ".join(f"{(term.key or '').rpartition('.')[2]} {shown(term.value)}" for term in split)
        yield Problem(
            "EB304",
            f"strategy {strategy} does not take {names}",
            (*split, config.place("distributed.strategy")),
            refuses=True,
            help="use strategy fsdp2",
        )
