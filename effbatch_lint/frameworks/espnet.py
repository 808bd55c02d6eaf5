"""ESPnet2: batch_size x accum_grad utterances, or batch_bins x accum_grad bins, whatever the number of GPUs.

    batch_type unsorted, sorted, folded (the default), catbel     batch_size utterances
    batch_type length, catpow, numel                              batch_bins: padded lengths; numel: padded elements
    iterator_type chunk                                           batch_size chunks

Upstream: espnet/espnet, espnet2/tasks/abs_task.py (build_sequence_iter_factory, build_category_iter_factory,
build_chunk_iter_factory), espnet2/samplers (FoldedBatchSampler, NumElementsBatchSampler, LengthBatchSampler,
CategoryBalancedSampler). Passes per step are espnet_accumulation's.

Mini batches are built for all ranks together and then dealt out, batch[rank::world]: more GPUs never raise the batch.
``folded`` shrinks a batch of long utterances, and ``batch_bins`` is a limit, so that the batch is an upper bound; both
keep at least one utterance per rank, which can raise it. The config that a run leaves in its folder (exp/*/config.yaml)
states the processes it had, ``dist_world_size``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem, Unit
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.espnet_accumulation import passes
from effbatch_lint.terms import Term, exact, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_BINS = ("length", "numel", "catpow", "catpow_balance_dataset")
# Samplers that make every batch of batch_size, and none of at least one utterance per rank.
_FIXED = ("unsorted", "sorted", "catbel")
_OWN = ("accum_grad", "batch_bins", "batch_type", "fold_length", "num_iters_per_epoch", "iterator_type")
_SECTIONS = (
    "encoder_conf", "decoder_conf", "model_conf", "optim_conf", "scheduler_conf", "frontend_conf", "specaug_conf",
    "best_model_criterion", "keep_nbest_models", "max_epoch", "num_att_plot", "val_scheduler_criterion",
    "early_stopping_criterion", "tts_conf", "separator_conf", "init",
)  # fmt: skip


def recognise(config: Config) -> int:
    """ESPnet's flat names; WeNet and FunASR share some and keep their batch in ``dataset_conf``."""
    if config.has("dataset_conf", "train_conf", "dataset"):
        return 0
    batch, sections = config.count(*_OWN, "batch_size"), config.count(*_SECTIONS)
    return batch + sections if config.has(*_OWN) and batch and sections > 1 else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch: a share of it for each rank."""
    world = launch.world_size if launch.world_size.known else _left_by_a_run(config, launch.world_size)
    kind = config.text("batch_type") or "folded"
    if kind == "folded" and config.text("iterator_type") == "category":
        kind = "catbel"  # the category iterator's only sampler before 202509, and what it still makes of the default
    unit, batch = _mini_batch(config, kind)
    batch, problems = _enough(config, kind, unit, batch, world)
    accumulation, further = passes(config, world)
    yield Batch(
        micro=_share(unit, batch, world),
        accumulation=accumulation,
        layout=Layout.of_world(world),
        unit=unit,
        global_batch=product(batch, accumulation),
        problems=(*problems, *further),
    )


def _left_by_a_run(config: Config, launched: Term) -> Term:
    written = config.integer("dist_world_size")
    return written if written.known else launched


def _mini_batch(config: Config, kind: str) -> tuple[Unit, Term]:
    """What one mini batch holds, over all ranks."""
    if config.text("iterator_type") in ("chunk", "category_chunk"):
        return "samples", config.integer("batch_size", default=20)
    if config.text("iterator_type") == "task":
        reason = "iterator_type task leaves the mini batches to the task's own code"
        return "utterances", unknown(reason, *config.place("iterator_type").origins, key="batch_size")
    if kind in _BINS:
        return "bins", config.integer("batch_bins", default=1_000_000)
    return "utterances", config.integer("batch_size", default=20)


def _share(unit: Unit, batch: Term, world: Term) -> Term:
    """One rank's share of a mini batch, where all shares are equal."""
    if unit == "bins":
        return unknown("a mini batch is dealt out utterance by utterance: the bins of one rank vary", key=batch.key)
    share = exact(batch, world)
    if share.known or not world.known or not batch.known:
        return share
    return unknown(f"{share.reason}: the ranks get batches of different size", *share.origins, key=batch.key)


def _enough(config: Config, kind: str, unit: Unit, batch: Term, world: Term) -> tuple[Term, tuple[Problem, ...]]:
    """At least one utterance for each rank: raised to it in silence, or refused, by the sampler."""
    if unit == "bins" or batch.value is None or world.value is None or batch.value >= world.value:
        return batch, ()
    at = (batch, config.place("batch_type"), world)
    if unit == "samples" or kind in _FIXED:
        return batch, (
            Problem(
                "EB302",
                f"batch_size {shown(batch.value)} is less than one for each of {shown(world.value)} ranks: ESPnet "
                "divides it among them",
                at,
                refuses=True,
                help=f"set batch_size to at least {shown(world.value)}",
            ),
        )
    raised = Term(world.value, "derived", (*batch.origins, *world.origins), "one utterance per rank", None, batch.key)
    return raised, (
        Problem(
            "EB303",
            f"batch_size {shown(batch.value)} runs as {shown(world.value)}: every rank gets at least one utterance",
            at,
            help=f"set batch_size to {shown(world.value)}",
        ),
    )


FRAMEWORK = Framework(
    name="espnet",
    formula="batch_size (or batch_bins) x accum_grad, over all GPUs",
    sources=(
        "espnet/espnet espnet2/tasks/abs_task.py (build_sequence_iter_factory)",
        "espnet/espnet espnet2/samplers/build_batch_sampler.py",
    ),
    recognise=recognise,
    read=read,
)
