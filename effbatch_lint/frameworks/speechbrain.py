"""speechbrain: batch_size x grad_accumulation_factor x processes.

    with dynamic batching: max_batch_length seconds x grad_accumulation_factor x processes, at most

Upstream: speechbrain/speechbrain, speechbrain/core.py (Brain._train_loader_specifics, Brain.fit_batch),
speechbrain/dataio/sampler.py (DynamicBatchSampler), speechbrain/utils/run_opts.py; recipes/*/train.py decide by
``dynamic_batching`` which of the two batches. References (``!ref <batch_size>``) are followed by
speechbrain_references; recipes that train in several steps are speechbrain_curriculum's, the last step first.

Files keep both kinds of batch side by side, so that ``batch_size`` means nothing while ``dynamic_batching`` is on. The
limit stands under one of several names; where the file has a ``feats_hop_size`` (beside it, in the sampler's section
before 1.0) it counts frames of that many seconds.
With ``data_parallel_backend`` (before DDP) one process divides its batch among the devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.speechbrain_curriculum import is_curriculum, steps
from effbatch_lint.frameworks.parts.speechbrain_references import referencing
from effbatch_lint.terms import Term, exact, product

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_LOADERS = (
    "train_dataloader_opts", "train_dataloader_options", "train_loader_kwargs", "dataloader_options", "dataloader_opts",
)  # fmt: skip
_IN_LOADER = tuple(f"{loader}.batch_size" for loader in _LOADERS)
_SIZES = (*_IN_LOADER, "train_batch_size", "batch_size", "N_batch")
# The recipes' own loops counted passes before speechbrain/core.py did it for all of them (1.0).
_ACCUMULATION = ("grad_accumulation_factor", "gradient_accumulation", "accu_steps")
_SAMPLERS = ("dynamic_batch_sampler_train", "dynamic_batch_sampler")
_LIMITS = (
    *(f"{sampler}.{limit}" for sampler in _SAMPLERS for limit in ("max_batch_length", "max_batch_len")),
    "max_batch_length_train", "train_max_batch_length", "max_batch_length", "max_batch_len",
    "seconds_per_batch",
)  # fmt: skip
_HOPS = ("feats_hop_size", *(f"{sampler}.feats_hop_size" for sampler in _SAMPLERS))
_OWN = (
    "output_folder", "save_folder", "number_of_epochs", "train_log", "epoch_counter", "modules", "checkpointer",
    "train_logger", "data_folder", "__set_seed", "grad_accumulation_factor", "dynamic_batching",
)  # fmt: skip
_AUDIO = (
    "sample_rate", "original_sample_rate", "target_sample_rate", "n_fft", "n_mels", "compute_features", "sampling_rate",
    "win_length", "dynamic_batching", "avoid_if_longer_than",
)  # fmt: skip


def recognise(config: Config) -> int:
    """A batch among a recipe's hyperparameters: an epoch counter, output folders, modules."""
    own = config.count(*_OWN)
    if own > 2 and is_curriculum(config):  # noqa: PLR2004 - as below
        return own + 1
    return own + config.count(*_SIZES, *_LIMITS, *_LOADERS) if config.has(*_SIZES, *_LIMITS) and own > 2 else 0  # noqa: PLR2004 - two of these names occur elsewhere too


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch: of utterances, or of seconds at most; a curriculum has one for each of its steps."""
    config = config.resolved_by(referencing(config.root))
    if is_curriculum(config):
        yield from _curriculum(config, launch)
        return
    dynamic = _is_dynamic(config)
    per_process = _seconds(config) if dynamic else config.integer(*_SIZES)
    accumulation = config.integer(*_ACCUMULATION, default=1)
    splits = config.flag("data_parallel_backend")
    world = launch.world_size
    yield Batch(
        micro=exact(per_process, world) if splits else per_process,
        accumulation=accumulation,
        layout=Layout.of_world(world),
        unit="seconds" if dynamic else _unit(config),
        global_batch=product(per_process, accumulation) if splits else None,
        problems=() if dynamic else tuple(_fractional(config, per_process)),
        profile="dynamic batching" if dynamic else None,
    )


def _curriculum(config: Config, launch: Launch) -> Iterator[Batch]:
    accumulation = config.integer(*_ACCUMULATION, default=1)
    for name, size in reversed(steps(config)):
        yield Batch(
            size, accumulation, Layout.of_world(launch.world_size), name=name, problems=tuple(_fractional(config, size))
        )


def _is_dynamic(config: Config) -> bool:
    """As the recipe's switch says; without one, where there is a limit and the training loader has no batch size."""
    if config.has("dynamic_batching"):
        return config.flag("dynamic_batching")
    return config.has(*_LIMITS) and not config.has(*_IN_LOADER)


def _unit(config: Config) -> Unit:
    return "utterances" if config.has(*_AUDIO) else "sequences"


def _seconds(config: Config) -> Term:
    """The limit of one process' batch; frames are counted in seconds."""
    limit = _number(config, *_LIMITS)
    if not config.has(*_HOPS):
        return limit
    return product(limit, _number(config, *_HOPS))


def _number(config: Config, *keys: str) -> Term:
    """A number that need not be whole: 37.5 seconds."""
    term = config.integer(*keys)
    value = config.value(*keys)
    if term.known or not isinstance(value, float):
        return term
    from fractions import Fraction  # noqa: PLC0415 - nearly all limits are whole numbers

    return term._replace(value=Fraction(str(value)), how="read", reason=None)


def _fractional(config: Config, size: Term) -> Iterator[Problem]:
    """``!ref <total> / <devices>`` is a float, which torch's BatchSampler refuses."""
    value = config.value(size.key) if size.key else None
    if isinstance(value, float):
        yield Problem(
            "EB304",
            f"{size.key} is {value}, and a DataLoader takes whole numbers only: / gives a float",
            (size,),
            refuses=True,
            help=f"use // in the reference, or write {size.key} as a whole number"
            if size.known
            else f"write {size.key} as a whole number",
        )


FRAMEWORK = Framework(
    name="speechbrain",
    formula="batch_size x grad_accumulation_factor x processes; dynamic batching: max_batch_length seconds instead",
    sources=(
        "speechbrain/speechbrain speechbrain/core.py (Brain)",
        "speechbrain/speechbrain speechbrain/dataio/sampler.py (DynamicBatchSampler)",
        "speechbrain/HyperPyYAML hyperpyyaml/core.py",
    ),
    recognise=recognise,
    read=read,
    profiles=("dynamic batching",),
)
