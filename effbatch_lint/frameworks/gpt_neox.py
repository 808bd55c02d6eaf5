"""gpt-neox: the DeepSpeed triple, in which the accumulation is 1 unless the files say otherwise.

    train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x replicas
    replicas = GPUs / pipe_parallel_size / model_parallel_size

Upstream: EleutherAI/gpt-neox, megatron/neox_arguments/arguments.py (NeoXArgs.from_ymls, calculate_batch_parameters,
check_batch_parameters, calculate_derived), megatron/neox_arguments/deepspeed_args.py (the accumulation's default),
megatron/training.py (get_batch: what DPO, reward models and KTO read).

One run is often several files (``deepy.py train.py -d configs 125M.yml local_setup.yml``); a key may stand in one of
them only. Hyphens and underscores are equal, but the check for repeats compares what is written with names that are
already underscored, so that a hyphenated key passes it and replaces the earlier value. An accumulation that is absent
counts as set to 1; only an explicit ``null`` has it computed. ``gas`` was always overwritten, and is no key since 2024.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.compose.spelling import respelled, underscored
from effbatch_lint.documents.document import kind_of
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.gpt_neox_checks import (
    ACCUMULATION,
    GPUS,
    MICRO,
    MODEL_KEYS,
    PAIRED,
    PIPELINE,
    TENSOR,
    TOTAL,
    TRAINING_KEYS,
    start_checks,
)
from effbatch_lint.terms import ONE, Term, floor, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.nodes import Mapping
    from effbatch_lint.launch import Launch

# A DeepSpeed file may share a key or two; the part of a run that holds the batch has a dozen.
_TRAINING_KEYS_OF_A_PART = 4


# Flags of a Megatron-DeepSpeed launch line, which shares the other names.
_MEGATRON = frozenset(("micro_batch_size", "deepspeed_config"))


def recognise(config: Config) -> int:
    """The two parallel sizes are gpt-neox's alone; a file of training keys, or of the GPUs, is a part of a run."""
    keys = {underscored(key) for key in config.root.entries}
    if keys & _MEGATRON:
        return 0
    training = len(keys & TRAINING_KEYS)
    batch = len(keys & {TOTAL, MICRO, ACCUMULATION})
    if not batch and kind_of(config.path) == "shell":
        return 0  # its keys stand in files; the first Megatron took the same names as flags
    if (
        PIPELINE in keys
        or (TENSOR in keys and "num_layers" in keys)
        or GPUS in keys
        or (batch and training >= _TRAINING_KEYS_OF_A_PART)
    ):
        return batch + training + len(keys & MODEL_KEYS) + len(keys & {PIPELINE, TENSOR, GPUS})
    return 0


def one_run(roots: Sequence[Mapping]) -> bool:
    """Whether files handed together, in this order, are merged: one states the model, and ``from_ymls`` takes them all."""
    models = sum(any(underscored(key) == "num_layers" for key in root.entries) for root in roots)
    seen: set[str] = set()
    for root in roots:
        if seen & set(root.entries):
            return False
        seen |= {underscored(key) for key in root.entries}
    return models == 1


def starts(launch: Launch) -> bool:
    """``deepy.py train.py``."""
    return launch.launcher == "deepy" and (launch.program or "").endswith("train.py")


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; rows are ``seq_length`` long, padded where documents are not packed."""
    neox = config.over(respelled([config.root], underscored))
    world = neox.integer(GPUS) if neox.has(GPUS) else launch.world_size
    layout = Layout.of_world(world, tensor=_degree(neox, TENSOR), pipeline=_degree(neox, PIPELINE))
    triple = complete(neox, layout.replicas)
    objective = (neox.text("train_impl") or "normal").lower()
    pairs = objective in PAIRED
    packed = (neox.text("pack_impl") or "packed") == "packed" and objective == "normal"
    yield Batch(
        micro=triple.micro,
        accumulation=triple.accumulation,
        layout=layout,
        sequence_length=neox.integer("seq_length"),
        unit="pairs" if pairs else "completions" if objective == "reinforce" else "sequences",
        sequences_per_item=2 if pairs else 1,
        global_batch=triple.total,
        declared=triple.total,
        tokens_bound="exact" if packed and not neox.flag("curriculum_learning.enabled") else "at most",
        problems=(*start_checks(neox, launch, objective, triple.micro, triple.accumulation), *triple.problems),
    )


class Triple(NamedTuple):
    """The three numbers after completion; ``total`` is None where it is multiplied out."""

    total: Term | None
    micro: Term
    accumulation: Term
    problems: tuple[Problem, ...] = ()


def complete(neox: Config, replicas: Term) -> Triple:
    """``calculate_batch_parameters``: what is missing of the triple is divided out, rounded down, and then checked."""
    total = neox.integer(TOTAL, text_allowed=False) if neox.has(TOTAL) else None
    given = neox.has(MICRO)
    micro = neox.integer(MICRO, text_allowed=False)
    # Present and null is not the same as absent: the default only fills in an absent key.
    null = neox.entry(ACCUMULATION) is not None and not neox.has(ACCUMULATION)
    accumulation = neox.integer(ACCUMULATION, default=1, text_allowed=False)
    if total is None:
        return Triple(None, micro, accumulation, tuple(_positive(micro, accumulation)))
    if given and null:
        accumulation = floor(floor(total, micro), replicas).named(ACCUMULATION)
    elif not given:
        micro = floor(floor(total, replicas), accumulation).named(MICRO)
    problems = tuple(_positive(total, micro, accumulation)) or _checked(total, micro, accumulation, replicas)
    return Triple(total, micro, accumulation, problems)


def _checked(total: Term, micro: Term, accumulation: Term, replicas: Term) -> tuple[Problem, ...]:
    found = product(micro, accumulation, replicas)
    if found.value is None or found.value == total.value:
        return ()
    derived = [term for term in (micro, accumulation) if term.how == "derived"]
    split = f"{shown(micro.value)} x {shown(accumulation.value)} x {shown(replicas.value)} replicas"
    fitting = floor(total, product(micro, replicas))
    if derived:
        message = (
            f"{TOTAL} {shown(total.value)} cannot be divided: {derived[0].key} {shown(derived[0].value)} gives "
            f"{split} = {shown(found.value)}"
        )
        advice = (
            f"{TOTAL} must be a multiple of {shown(product(micro if micro.how == 'read' else ONE, replicas).value)}"
        )
        return (Problem("EB302", message, (total, *derived, replicas), refuses=True, help=advice),)
    absent = f" ({ACCUMULATION} is 1 when it is absent)" if accumulation.how == "default" else ""
    message = (
        f"{TOTAL} {shown(total.value)} is not {MICRO} {shown(micro.value)} x {ACCUMULATION} {shown(accumulation.value)}"
        f"{absent} x {shown(replicas.value)} replicas = {shown(found.value)}"
    )
    exact = fitting.value and product(fitting, micro, replicas).value == total.value
    advice = (
        f"{ACCUMULATION}: {shown(fitting.value)}, or null to have it computed"
        if exact
        else f"{TOTAL}: {shown(found.value)}, or leave it out"
    )
    return (Problem("EB301", message, (total, micro, accumulation, replicas), refuses=True, help=advice),)


def _positive(*terms: Term) -> Iterator[Problem]:
    for term in terms:
        if term.how == "read" and term.value is not None and term.value < 1:
            message = f"{term.key} {shown(term.value)} must be greater than 0"
            yield Problem("EB304", message, (term,), refuses=True)


def _degree(neox: Config, key: str) -> Term:
    """A parallel size; 0, which is the pipeline's default and means another engine, counts as 1."""
    term = neox.integer(key, default=1)
    if term.value is None or term.value >= 1:
        return term
    return term._replace(value=1, formula=f"{term.value} counts as 1")


FRAMEWORK = Framework(
    name="gpt-neox",
    formula="train_micro_batch_size_per_gpu x gradient_accumulation_steps x GPUs / (pipe x model parallel size)",
    sources=("EleutherAI/gpt-neox megatron/neox_arguments/arguments.py",),
    recognise=recognise,
    starts=starts,
    read=read,
    merges=one_run,
)
