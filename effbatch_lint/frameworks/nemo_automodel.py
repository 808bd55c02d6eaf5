"""NeMo AutoModel: step_scheduler.global_batch_size = local_batch_size x accumulation x replicas.

    replicas = distributed.dp_size, where it is a positive number, else world / (tp_size x cp_size x pp_size)
    accumulation = global_batch_size / (local_batch_size x replicas)
    draft models (recipe_args): B = micro_batch_size x grad_accumulation_steps x world / (tp_size x cp_size)

Upstream: NVIDIA-NeMo/Automodel, nemo_automodel/components/training/step_scheduler.py (StepScheduler),
nemo_automodel/components/distributed/mesh_utils.py (_infer_dp_size), nemo_automodel/recipes/llm/train_ft.py,
nemo_automodel/recipes/_typed_config.py.

With pipeline stages ``local_batch_size`` is what goes through all of them, and ``pp_microbatch_size`` only divides it.
Expert and hybrid-sharding degrees divide no replicas. A ``dataloader.batch_size`` of its own is what the loader yields,
while the accumulation is computed from ``local_batch_size``. At the end of an epoch fewer passes make a step. ``ci.*``
is for the project's own test runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Unit
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.megatron.microbatches import constant
from effbatch_lint.frameworks.parts.nemo_automodel import checks
from effbatch_lint.frameworks.parts.nemo_automodel.layout import layout
from effbatch_lint.terms import product, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch
    from effbatch_lint.terms import Term

LOCAL, GLOBAL, LOADER = "step_scheduler.local_batch_size", "step_scheduler.global_batch_size", "dataloader.batch_size"
DRAFT, DRAFT_ACCUMULATION = "recipe_args.micro_batch_size", "recipe_args.grad_accumulation_steps"
_BESIDE = (
    "recipe", "dist_env", "distributed.strategy", "distributed._target_", "distributed.tp_size", "distributed.dp_size",
    "distributed.cp_size", "packed_sequence", "dataset._target_", "model._target_", "loss_fn._target_", "fsdp", "ddp",
)  # fmt: skip
_PACKS = ("packed_sequence.packed_sequence_size", "packed_sequence.pack_size", "packed_sequence.max_length")
_ROWS = ("dataset.seq_length", "dataset.seq_len", "recipe_args.seq_length")


def recognise(config: Config) -> int:
    """A ``step_scheduler`` with a batch, or a draft model's ``recipe_args``, beside the sections of a recipe."""
    batch = config.count(LOCAL, GLOBAL, DRAFT, DRAFT_ACCUMULATION)
    beside = config.count(*_BESIDE)
    return batch + beside if batch and beside > 1 else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, in rows: packs where the data set is packed."""
    dims = layout(config, launch.world_size)
    if config.has(DRAFT):
        yield Batch(
            micro=config.integer(DRAFT),
            accumulation=config.integer(DRAFT_ACCUMULATION, default=1),
            layout=dims,
            sequence_length=_length(config),
            tokens_bound="at most",
            profile="draft models (recipe_args)",
        )
        return
    local, declared = config.integer(LOCAL, default=1), config.integer(GLOBAL, default=32)
    division = constant(declared, local, dims.replicas)
    loaded = config.integer(LOADER) if config.has(LOADER) else local
    same = loaded.value == local.value
    unit = _unit(config)
    yield Batch(
        micro=loaded,
        accumulation=division.accumulation,
        layout=dims,
        sequence_length=_length(config) if unit == "sequences" else None,
        unit=unit,
        global_batch=division.global_batch if same else product(loaded, division.accumulation, dims.replicas),
        declared=declared if config.has(GLOBAL) else None,
        tokens_bound="exact" if "mock" in (config.text("dataset._target_") or "").lower() else "at most",
        problems=(*division.problems, *checks.of(config, dims, local, loaded, division.accumulation)),
    )


def _unit(config: Config) -> Unit:
    """Rows of tokens; in a diffusion recipe (``flow_matching``) images, or what its loader gives (videos)."""
    if not config.has("flow_matching"):
        return "sequences"
    return "images" if "image" in (config.text("data.dataloader._target_") or "").lower() else "samples"


def _length(config: Config) -> Term:
    """Tokens of a row: the pack's, else what the data set cuts to."""
    for key in (*_PACKS, *_ROWS):
        length = config.integer(key)
        if (length.value or 0) > 0:
            return length
    return unknown("neither a pack size nor dataset.seq_length is set: rows have no limit", key="dataset.seq_length")


FRAMEWORK = Framework(
    name="nemo-automodel",
    formula="global_batch_size = local_batch_size x accumulation x world / (tp_size x cp_size x pp_size)",
    sources=(
        "NVIDIA-NeMo/Automodel nemo_automodel/components/training/step_scheduler.py",
        "NVIDIA-NeMo/Automodel nemo_automodel/components/distributed/mesh_utils.py",
    ),
    recognise=recognise,
    read=read,
    profiles=("draft models (recipe_args)",),
)
