"""Lightning's accumulation: one number, a schedule by epoch, or an expression that divides up a global batch.

Upstream: Lightning-AI/pytorch-lightning, src/lightning/pytorch/trainer/trainer.py (accumulate_grad_batches), src/
lightning/pytorch/callbacks/gradient_accumulation_scheduler.py; in projects, ``div_up`` is a resolver that rounds up:
Dao-AILab/flash-attention training/run.py, HazyResearch/hyena-dna src/utils/train.py, kuleshov-group/mdlm main.py.
hyena-dna's train.py (create_trainer) turns ``seqlen_warmup_reload`` into a schedule that leaves the devices out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.terms import ONE, Term, ceil, floor, product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config

_STAGES = "callbacks.seqlen_warmup_reload.stage_params"


class Phase(NamedTuple):
    """From an epoch on: items per device and forward pass, and forward passes per step."""

    epoch: int
    micro: Term
    accumulation: Term


class Counts(NamedTuple):
    """What a ``div_up`` expression may divide by."""

    declared: Term | None
    devices: Term
    nodes: Term


def phases(config: Config, key: str, micro: Term, counts: Counts) -> tuple[list[Phase], list[Problem]]:
    """The stages of the run, one when nothing changes, and what Lightning refuses about them."""
    if config.items(_STAGES) and counts.declared is not None:
        return list(_warmup(config, counts.declared)), []
    written = _accumulation(config, key, micro, counts)
    scheduled = _schedule(config, key) or _callback_schedule(config)
    if not scheduled:
        return [Phase(0, micro, written)], []
    clash = config.has(key) and not isinstance(config.node(key), Mapping) and written.value != 1
    problem = Problem(
        "EB304",
        f"{key} is set together with the callback GradientAccumulationScheduler; Lightning takes one of them",
        (written, scheduled[0][1]),
        refuses=True,
        help=f"remove {key} or the callback",
    )
    stages = [Phase(epoch, micro, factor) for epoch, factor in sorted(scheduled, key=lambda stage: stage[0])]
    if stages[0].epoch > 0:
        stages.insert(0, Phase(0, micro, ONE))
    return stages, [problem] if clash else []


def divided_up(config: Config, key: str, micro: Term | None, counts: Counts) -> Term | None:
    """The value of ``${div_up:<global batch>, <product of devices, batch, nodes>}``; None for anything else."""
    entry = config.entry(key)
    text = entry.value.text if entry is not None and isinstance(entry.value, Scalar) else ""
    head, _, divisor = text.partition(",")
    if not head.startswith("${div_up:") or not head.endswith("global_batch_size}") or counts.declared is None:
        return None
    factors = [
        factor
        for name, factor in (("devices", counts.devices), ("batch_size", micro), ("num_nodes", counts.nodes))
        if name in divisor and factor is not None
    ]
    return ceil(counts.declared, product(*factors)).named(key)


def _accumulation(config: Config, key: str, micro: Term, counts: Counts) -> Term:
    plain = config.integer(key, default=1)
    return plain if plain.known else divided_up(config, key, micro, counts) or plain


def _schedule(config: Config, key: str) -> list[tuple[int, Term]]:
    """``{epoch: factor}``, as 1.x takes it in the Trainer and the callback always."""
    section = config.section(key)
    if section is None:
        return []
    return [(int(epoch), section.integer(epoch)) for epoch in section.root.entries if epoch.isdecimal()]


def _callback_schedule(config: Config) -> list[tuple[int, Term]]:
    """The callback in the Trainer's list, or in a Hydra or LDM mapping of callbacks."""
    lists = [(f"trainer.callbacks.{index}", item) for index, item in enumerate(config.items("trainer.callbacks"))]
    for group in ("callbacks", "lightning.callbacks", "trainer.callbacks"):
        node = config.node(group)
        if isinstance(node, Mapping):
            lists += [(f"{group}.{name}", entry.value) for name, entry in node.entries.items()]
    for key, node in lists:
        if not isinstance(node, Mapping):
            continue
        name = config.text(f"{key}.class_path", f"{key}._target_", f"{key}.target") or ""
        if name.rpartition(".")[2] != "GradientAccumulationScheduler":
            continue
        for form in ("init_args.scheduling", "scheduling", "params.scheduling"):
            if config.node(f"{key}.{form}") is not None:
                return _schedule(config, f"{key}.{form}")
    return []


def _warmup(config: Config, declared: Term) -> Iterator[Phase]:
    epoch = 0
    for index in range(len(config.items(_STAGES))):
        micro = config.integer(f"{_STAGES}.{index}.batch_size")
        yield Phase(epoch, micro, floor(declared, micro))
        epochs = config.integer(f"{_STAGES}.{index}.epochs").value
        epoch += int(epochs) if epochs is not None else 0
