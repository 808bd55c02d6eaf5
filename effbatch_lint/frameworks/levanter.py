"""Levanter: the global batch is declared, the accumulation follows.

    replicas = devices / model_axis_size
    accumulation = train_batch_size / (per_device_parallelism x replicas)

Upstream: stanford-crfm/levanter 1.2, src/levanter/trainer.py (TrainerConfig), src/levanter/grad_accum.py (microbatched),
src/levanter/schedule.py (BatchSchedule), src/levanter/data/loader.py.

``train_batch_size`` is 512 where it is absent, and may be -1 (what ``per_device_parallelism`` makes of the devices) or a
list of ``{start, value}`` by steps. ``per_device_parallelism`` is -1 where it is absent: the batch of one replica as a
whole, rounded down. Slices and replica axes multiply back in, and do not change the replicas. The devices are what JAX
sees; a model without ``seq_len`` has its class's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Stage
from effbatch_lint.compose.config import origin_of
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.levanter_checks import divisions
from effbatch_lint.terms import ONE, Term, exact, floor, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

BATCH, PER_DEVICE, MODEL = "trainer.train_batch_size", "trainer.per_device_parallelism", "trainer.model_axis_size"
_OWN = (
    BATCH, PER_DEVICE, MODEL, "trainer.mp", "trainer.num_train_steps", "trainer.steps_per_eval",
    "trainer.per_device_eval_parallelism", "trainer.tensor_parallel_axes", "trainer.fsdp_axis", "trainer.batch_axis",
)  # fmt: skip


def recognise(config: Config) -> int:
    """A ``trainer`` section with Levanter's names, of which its mixed-precision policy is decisive."""
    own = config.count(*_OWN)
    policy = "p=" in (config.text("trainer.mp") or "")
    # Two names may be another trainer's, unless the model and the data are Levanter's as well.
    beside = own > 1 and config.has("model.type") and config.has("data.tokenizer") and config.has("data.cache_dir")
    if not own or not (policy or own > 2 or beside or config.has(PER_DEVICE)):  # noqa: PLR2004 - as said
        return 0
    return own + 2 * policy + config.count("trainer.tracker", "model.type", "optimizer.learning_rate", "data.tokenizer")


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, that of the last phase; the schedule has all of them."""
    config = undashed(config, levels=2)
    layout = Layout.of_world(launch.world_size, tensor=config.integer(MODEL, default=1))
    replicas, parallelism = layout.replicas, config.integer(PER_DEVICE, default=-1)
    schedule = _schedule(config)
    declared = schedule[-1].effective_batch if schedule else config.integer(BATCH, default=512)
    follows = declared.value == -1
    batch = product(parallelism, replicas).named(BATCH) if follows else declared
    micro, accumulation = _division(batch, parallelism, replicas, scheduled=bool(schedule), follows=follows)
    yield Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=_length(config),
        global_batch=None if follows else batch,
        declared=None if follows or not config.has(BATCH) else declared,
        tokens_bound="at most" if config.has("max_seq_len") else "exact",
        schedule=schedule if len(schedule) > 1 else (),
        problems=tuple(divisions(config, schedule, batch, parallelism, replicas)),
    )


def _division(batch: Term, parallelism: Term, replicas: Term, *, scheduled: bool, follows: bool) -> tuple[Term, Term]:
    """Sequences of a replica in one pass, and passes: a schedule without a parallelism is never cut into several."""
    if follows:
        return parallelism, ONE.because("train_batch_size is -1: one pass")
    if parallelism.value == -1:
        share = (exact if scheduled else floor)(batch, replicas).named(PER_DEVICE)
        return share, ONE.because("per_device_parallelism is -1: one pass") if replicas.known else replicas
    return parallelism, exact(batch, product(parallelism, replicas))


def _schedule(config: Config) -> tuple[Stage, ...]:
    """The phases of a batch that changes, by the step that each starts at; empty for a number."""
    node = config.node(BATCH)
    if not isinstance(node, Sequence):
        return ()
    stages = []
    for item in node.items:
        start, value = (
            (item.entries.get(key) for key in ("start", "value")) if isinstance(item, Mapping) else (None, None)
        )
        if value is None or not isinstance(value.value, Scalar):
            continue
        text = value.value.text
        origin = origin_of(value, BATCH)
        term = (
            Term(int(text), "read", (origin,), key=BATCH)
            if text.isdecimal() and len(text) < 20  # noqa: PLR2004 - no batch has twenty digits
            else unknown(f"{BATCH} is {text[:40]!r}, which is no whole number", origin, key=BATCH)
        )
        first = start.value.text if start is not None and isinstance(start.value, Scalar) else ""
        stages.append(Stage(int(first) if first.isdecimal() else 0, "steps", term))
    return tuple(sorted(stages, key=lambda stage: stage.start))


def _length(config: Config) -> Term:
    """Tokens of a row: what the program cuts to, else the model's positions."""
    length = config.integer("max_seq_len", "train_seq_len", "model.seq_len", "model.max_seq_len")
    if length.known or length.origins:
        return length
    return length._replace(reason="model.seq_len is not set: the model's class has its own")


FRAMEWORK = Framework(
    name="levanter",
    formula="train_batch_size = per_device_parallelism x accumulation x devices / model_axis_size",
    sources=(
        "stanford-crfm/levanter src/levanter/trainer.py (TrainerConfig)",
        "stanford-crfm/levanter src/levanter/grad_accum.py (microbatched)",
        "stanford-crfm/levanter src/levanter/data/loader.py",
    ),
    recognise=recognise,
    read=read,
)
