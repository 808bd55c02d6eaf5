"""ms-swift on HF Trainer: ``swift sft|pt|rlhf``.

    B = per_device_train_batch_size x accumulation x replicas,    replicas = processes / sequence_parallel_size
    accumulation = gradient_accumulation_steps, or max(1, ceil(16 / per_device_train_batch_size / processes)); GRPO: 1
    GRPO with sequence parallelism: accumulation x sequence_parallel_size

Upstream: modelscope/ms-swift, swift/trainers/arguments.py (TrainArgumentsMixin), swift/arguments/rlhf_args.py
(_set_default), swift/rlhf_trainers/grpo_trainer.py (GRPOTrainer.__init__), swift/sequence_parallel/sequence_parallel.py
(_init_device_mesh), swift/trainers/utils.py (prepare_deepspeed_elastic_config), 4.6; swift/llm/utils/argument.py of 2.6
(``batch_size``); the DeepSpeed JSON as HF Trainer takes it, :mod:`effbatch_lint.frameworks.parts.trainer.batch`.

The default accumulation counts all processes, also those that share a sequence: with sequence parallelism B is then 16
divided by its degree. Trainer's own log line does not know of the degree at all. The degree is divided with ``//``, and a
process that is left over has no place in the device mesh: the data loader stops there. GRPO's default was that of the
others up to 3.6, which no key tells from later 3.x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout
from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence
from effbatch_lint.frameworks.parts.deepspeed.elasticity import elastic_batch
from effbatch_lint.frameworks.parts.swift.checks import checks
from effbatch_lint.frameworks.parts.swift.examples import example_of, tokens_of
from effbatch_lint.frameworks.parts.swift.processes import holding, processes
from effbatch_lint.frameworks.parts.trainer.batch import ACCUMULATION, MICRO, arguments_of, counted
from effbatch_lint.frameworks.parts.trainer.deepspeed import Named
from effbatch_lint.terms import ONE, Term, computed, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch, Problem
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.trainer.batch import Arguments
    from effbatch_lint.launch import Launch

SEQUENCE, AUTOTP = "sequence_parallel_size", "deepspeed_autotp_size"
# Files of ms-swift's own, in which every number of the batch is "auto": swift/config/*.json; the last four are of 2.x.
_PRESETS = frozenset((
    "zero0", "zero1", "zero2", "zero3", "zero2_offload", "zero3_offload",
    "default-zero2", "default-zero3", "zero2-offload", "zero3-offload",
))  # fmt: skip
_ROWS = 16


def trainer_side(config: Config, launch: Launch, kind: str | None) -> Batch:
    """The batch of ``swift sft`` (``kind`` None) or of ``swift rlhf``."""
    arguments, sequence = _arguments(config, launch), config.integer(SEQUENCE, default=1)
    tensor = arguments.deepspeed.tensor or ONE
    arguments = arguments._replace(world=holding(arguments.world, sequence, tensor))
    micro, accumulation, refused = _sizes(config, arguments, kind)
    layout = Layout.of_world(arguments.world, tensor=tensor, context=sequence)
    example = example_of(config, kind)
    found = counted(arguments, launch, layout, micro, accumulation, example)
    problems = (*found.problems, *refused, *checks(config, launch, kind, micro, accumulation, layout))
    if kind == "grpo" and sequence.value != 1:
        text = f"{shown(accumulation.value)} x {SEQUENCE} {shown(sequence.value)}, which GRPO multiplies it by"
        found = found._replace(accumulation=product(accumulation, sequence).because(text).named(ACCUMULATION))
    return found._replace(problems=problems, tokens=tokens_of(config, example), profile=_profile(config))


def _arguments(config: Config, launch: Launch) -> Arguments:
    preset = config.text("deepspeed") in _PRESETS
    found = arguments_of(_without_deepspeed(config) if preset else config, launch)
    deepspeed = Named(None, ONE) if preset else found.deepspeed
    if config.has("deepspeed") and config.has(AUTOTP):
        deepspeed = deepspeed._replace(tensor=config.integer(AUTOTP))
    own = preset or found.own_deepspeed
    return found._replace(config=config, world=processes(config, launch), deepspeed=deepspeed, own_deepspeed=own)


def _without_deepspeed(config: Config) -> Config:
    entries = {key: entry for key, entry in config.root.entries.items() if key != "deepspeed"}
    return config.over(Mapping(entries, config.root.span), config.prefix)


def _sizes(config: Config, arguments: Arguments, kind: str | None) -> tuple[Term, Term, tuple[Problem, ...]]:
    """Rows of a pass and passes of an optimizer step: the arguments', or what elastic training makes of them."""
    json = arguments.deepspeed.config
    if json is not None and json.has("elasticity") and _elastic(config):
        chosen = elastic_batch(json, arguments.world)
        return chosen.micro, chosen.accumulation, chosen.problems
    micro = config.integer(MICRO, "batch_size", default=1) if _early(config) else config.integer(MICRO, default=1)
    return micro, _accumulation(config, micro, arguments.world, kind), ()


def _accumulation(config: Config, micro: Term, world: Term, kind: str | None) -> Term:
    given = config.integer(ACCUMULATION, default=1)
    if given.how != "default" or (kind == "grpo" and not config.has("train_type")):
        return given
    filled = _filled(micro, world)
    if kind == "grpo" and filled.value != 1:
        return unknown(
            f"{ACCUMULATION} is not set: 1 since ms-swift 3.7, {shown(filled.value)} before", key=ACCUMULATION
        )
    return filled


def _filled(micro: Term, world: Term) -> Term:
    """As many passes as bring the rows of all processes to 16."""
    if micro.value is not None and world.value is not None and micro.value * world.value < 1:
        return unknown(
            f"{ACCUMULATION} is not set, and 16 rows cannot be divided by {shown(micro.value)}", *micro.origins
        )
    if micro.known and not world.known:
        reason = f"{ACCUMULATION} is not set, so that it depends on the number of processes: {world.reason}"
        return unknown(reason, *world.origins, key=ACCUMULATION)
    text = f"{ACCUMULATION} is not set: max(1, ceil({_ROWS} / {shown(micro.value)} / {shown(world.value)} processes))"
    return computed(lambda rows, ranks: max(1, -(-_ROWS // (rows * ranks))), text, micro, world).named(ACCUMULATION)


def _elastic(config: Config) -> bool:
    node = config.node("callbacks")
    words = [item.text for item in node.items if isinstance(item, Scalar)] if isinstance(node, Sequence) else []
    return "deepspeed_elastic" in (words or (config.text("callbacks") or "").split())


def _early(config: Config) -> bool:
    return config.has("sft_type")


def _profile(config: Config) -> str | None:
    return "2.x (sft_type)" if _early(config) else "3.x (train_type)" if config.has("train_type") else None
