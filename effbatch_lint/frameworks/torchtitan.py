"""torchtitan: local_batch_size x gradient accumulation x (replicate x shard) replicas.

    until 2025-06   B = batch_size x d                                           sequences, no accumulation
    v0.1 - v0.2     B = global_batch_size, or local_batch_size x d when negative; a = B / (local_batch_size x d)
    since 2026-08   T = num_tokens_per_train_step, or t x d when -1; a = T / (t x d)                      tokens
                    with t = num_tokens_per_microbatch_per_dp_rank x num_pp_microbatches
    flame           B = batch_size x d x gradient_accumulation_steps

Upstream: pytorch/torchtitan v0.2.2, torchtitan/train.py (Trainer.__init__), torchtitan/config/job_config.py
(Training); main, torchtitan/trainer.py, torchtitan/config/configs.py (TrainingConfig); fla-org/flame, flame/train.py.
The configs of the Python registries (2026-02 on) have the keys of v0.2, later those of the token era.

``local_batch_size`` counts per data-parallel rank, whatever v0.2.2's help text says; pipeline microbatches split it
until the token era, in which they multiply. Expert parallelism never divides the replicas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.torchtitan import checks, eras
from effbatch_lint.frameworks.parts.torchtitan.layout import layout
from effbatch_lint.terms import ONE, Term, exact, product, shown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.torchtitan.eras import Era
    from effbatch_lint.launch import Launch

_DEGREES = tuple(dict.fromkeys(key for era in eras.ERAS for key in era.degrees))
_MARKS = (
    "training.local_batch_size", "training.num_tokens_per_microbatch_per_dp_rank", "training.num_tokens_per_train_step",
    "model.flavor", "job.dump_folder", "job.config_file", "job.custom_config_module",
)  # fmt: skip
_BATCH = ("training.batch_size", "training.seq_len", "training.global_batch_size", "training.max_context_length")


def recognise(config: Config) -> int:
    """A ``[training]`` batch beside degrees, a flavor or a dump folder; torchforge adds ``processes`` to the same."""
    config = undashed(config, levels=2)
    if not isinstance(config.node("training"), Mapping) or config.has("processes"):
        return 0
    own = config.count(*_DEGREES, *_MARKS)
    found = own + config.count(*_BATCH) + isinstance(config.node("parallelism"), Mapping)
    return found if own and found > 1 else 0


def starts(launch: Launch) -> bool:
    """``torchrun -m torchtitan.train``, or another ``train`` with a config of its own kind (flux's, flame's)."""
    program = launch.program or ""
    named = any(argument.name in ("job.config_file", "job.config-file") for argument in launch.arguments)
    return program == "torchtitan.train" or (named and program.endswith(("train.py", ".train")))


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, with the arithmetic of the era that the keys tell."""
    config = undashed(config, levels=2)
    era = eras.of(config)
    dims = layout(config, era, launch.world_size)
    local = config.integer(era.micro, default=eras.DEFAULT_TOKENS if era is eras.TOKENS else 8)
    length = None if _is_flux(config) else config.integer(era.length, default=2048)
    micro = product(local, _pipeline_microbatches(config, dims.pipeline)) if era is eras.TOKENS else local
    declared = config.integer(era.declared, default=-1) if era.declared else None
    if declared is not None and (declared.value is None or declared.value >= 0):
        accumulation = exact(declared, product(micro, dims.replicas))
    else:
        accumulation, declared = _accumulation(config, era, declared), None
    yield Batch(
        micro=micro.named(era.micro),
        accumulation=accumulation,
        layout=dims,
        sequence_length=length,
        unit="tokens" if era is eras.TOKENS else "images" if length is None else "sequences",
        global_batch=declared,
        declared=declared,
        problems=(
            *_checks(config, era, local, length, dims),
            *(checks.indivisible(era, declared, micro, dims.replicas) if declared is not None else ()),
            *checks.stale(config, era),
        ),
        profile=era.profile,
    )


def _pipeline_microbatches(config: Config, pipeline: Term) -> Term:
    """How many microbatches one pass of the pipeline takes; without a pipeline the key is ignored."""
    if pipeline.value is None:
        return pipeline
    return ONE if pipeline.value == 1 else config.integer("parallelism.num_pp_microbatches", default=1)


def _accumulation(config: Config, era: Era, declared: Term | None) -> Term:
    """Flame's own key; otherwise one pass, which a negative global batch asks for."""
    if era.accumulation:
        return config.integer(era.accumulation, default=1)
    if declared is not None and declared.origins:
        return Term(1, "derived", declared.origins, f"{declared.key} {shown(declared.value)} means one pass")
    return ONE


def _is_flux(config: Config) -> bool:
    """The image model: its batch has no tokens."""
    return config.text("model.name") == "flux" or config.has("training.img_size")


def _checks(config: Config, era: Era, local: Term, length: Term | None, dims: Layout) -> Iterator[Problem]:
    if local.value is not None and local.value < 1:
        yield Problem("EB304", f"{local.key} is {shown(local.value)}; it must be positive", (local,), refuses=True)
    elif era is eras.TOKENS:
        yield from checks.of_tokens(config, local, dims)
    elif era is eras.SEQUENCES:
        yield from checks.of_sequences(config, local, length, dims)
    elif era is eras.FLAME:
        yield from checks.of_flame(config, local, dims)


FRAMEWORK = Framework(
    name="torchtitan",
    formula="local_batch_size x accumulation x data_parallel_replicate_degree x data_parallel_shard_degree",
    sources=(
        "pytorch/torchtitan torchtitan/train.py",
        "pytorch/torchtitan torchtitan/distributed/parallel_dims.py",
        "fla-org/flame flame/train.py",
    ),
    recognise=recognise,
    read=read,
    profiles=tuple(era.profile for era in eras.ERAS),
    starts=starts,
)
