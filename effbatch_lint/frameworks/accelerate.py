"""accelerate: the training script's micro batch x accumulation x num_processes / (tp x cp x sp).

Upstream: huggingface/accelerate, src/accelerate/commands/launch.py, src/accelerate/accelerator.py (_prepare_deepspeed),
src/accelerate/utils/dataclasses.py (DeepSpeedPlugin, MegatronLMPlugin), 1.15.0.

A launch file holds the layout and hardly ever the batch: the micro batch is the script's. It is known where a DeepSpeed
JSON pins it, or where the arguments of an HF Trainer script are given as overrides. Under DeepSpeed the accumulation of
the JSON or of this file wins over ``Accelerator(gradient_accumulation_steps=)`` with no more than a warning
(huggingface/accelerate#3369), and a Trainer argument that differs is refused. Before June 2025
(huggingface/accelerate#3632) it was the other way round: the argument, 1 where there is none, replaced DeepSpeed's number.

A script's micro batch is the ``batch_size`` of its DataLoader. Where the script's own Hydra tree is at hand, and one
section of it has the DataLoader's arguments, that section is taken for the loader's; ``gradient_accumulation_steps`` in
it for the Accelerator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts import data_loader
from effbatch_lint.frameworks.parts.accelerate_launch import (
    kind,
    launch_accumulation,
    launch_deepspeed,
    launch_layout,
    launch_problems,
    processes,
    refusals,
)
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO
from effbatch_lint.frameworks.parts.deepspeed.triple import complete
from effbatch_lint.frameworks.parts.trainer import deepspeed as trainer_deepspeed
from effbatch_lint.terms import Origin, Term, default, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

TRAINER_MICRO = "per_device_train_batch_size"
DEEPSPEED_WINS = "from June 2025 on (before it, the accumulation was the script's argument)"
SCRIPT = "the {} is set by the training script, and accelerate's launch file does not hold it"


def recognise(config: Config) -> int:
    """``distributed_type`` with a value of accelerate's is in every launch file, however short."""
    known = ("NO", "FSDP", "DEEPSPEED", "MEGATRON_LM", "XLA", "TPU")
    if not config.count("distributed_type") or not (kind(config) in known or kind(config).startswith("MULTI_")):
        return 0
    rest = config.count(
        "compute_environment", "num_processes", "num_machines", "machine_rank", "main_training_function",
        "mixed_precision", "rdzv_backend", "same_network", "use_cpu", "deepspeed_config", "fsdp_config",
        "megatron_lm_config", "parallelism_config", "fp8_config",
    )  # fmt: skip
    return 1 + rest if rest else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch of samples; without a script's arguments only the layout is known."""
    # A launch line knows its flags over the file: one that cannot be read leaves the processes open.
    world = launch.world_size if launch.world_size.known or launch.accelerate is not None else processes(config)
    deepspeed = launch_deepspeed(config) if kind(config) == "DEEPSPEED" else trainer_deepspeed.Named(None, None)
    layout = _hidden_sequence_parallel(
        config, launch_layout(config, world, deepspeed.tensor, _sequence_parallel(deepspeed.config))
    )
    problems = (*refusals(config), *(() if launch.world_size.known else launch_problems(config)))
    if config.has(TRAINER_MICRO):
        yield _with_trainer(config, layout, deepspeed.config, problems)
    else:
        yield _with_script(config, layout, deepspeed.config, problems, launch.settings)


def _with_trainer(config: Config, layout: Layout, json: Config | None, problems: tuple[Problem, ...]) -> Batch:
    """The arguments of an HF Trainer script lie over the file, and have to agree with what DeepSpeed is told."""
    micro = config.integer(TRAINER_MICRO)
    told = launch_accumulation(config)
    accumulation = config.integer(ACCUMULATION) if config.has(ACCUMULATION) else told or default(1, ACCUMULATION)
    more = list(trainer_deepspeed.mismatches(json, micro, accumulation, layout.world)) if json is not None else []
    if not more:
        more.extend(_differs(told, accumulation, refuses=True))
    return Batch(micro=micro, accumulation=accumulation, layout=layout, unit="samples", problems=(*problems, *more))


def _with_script(
    config: Config, layout: Layout, json: Config | None, problems: tuple[Problem, ...], settings: Config | None
) -> Batch:
    """Any other script, with its ``settings``: DeepSpeed's numbers win where there are some."""
    own = config.integer(ACCUMULATION) if config.has(ACCUMULATION) else None
    if own is None and settings is not None:
        own = data_loader.accumulation(settings)
    if kind(config) == "MEGATRON_LM":
        told: Term | None = config.integer("megatron_lm_config.megatron_lm_num_micro_batches", default=1)
    else:
        told = launch_accumulation(config)
    accumulation = told or own or unknown(SCRIPT.format("accumulation"), key=ACCUMULATION)
    problems = (*problems, *_differs(told, own or accumulation, refuses=False))
    loader = data_loader.loader_batch(settings) if settings is not None else None
    script_micro = loader or unknown(SCRIPT.format("micro batch"), key="micro batch")
    profile = DEEPSPEED_WINS if told is not None and (told.value or 1) > 1 and own is None else None
    if json is None:
        return Batch(
            micro=script_micro,
            accumulation=accumulation,
            layout=layout,
            unit="samples",
            problems=problems,
            profile=profile,
        )
    # accelerate fills "auto" with micro batch x accumulation x processes // sp, and leaves a number to DeepSpeed's check.
    batch, micro = deepspeed_json.stated(json, BATCH), deepspeed_json.stated(json, MICRO)
    triple = complete(batch, micro or script_micro, accumulation, product(layout.replicas, layout.tensor))
    return Batch(
        micro=triple.micro,
        accumulation=triple.accumulation,
        layout=layout,
        unit="samples",
        global_batch=trainer_deepspeed.pinned(json, layout.tensor),
        declared=deepspeed_json.declared(json),
        problems=(*problems, *(triple.problems or deepspeed_json.copies_counted(json))),
        profile=profile,
    )


def _differs(told: Term | None, argument: Term, *, refuses: bool) -> Iterator[Problem]:
    if told is None or not told.known or not argument.known or told.value == argument.value:
        return
    if refuses:
        message = (
            f"{ACCUMULATION} is {shown(told.value)} for DeepSpeed, and Trainer's argument is {shown(argument.value)}"
        )
    else:
        message = f"{ACCUMULATION} {shown(argument.value)} has no effect: DeepSpeed is told {shown(told.value)}"
    yield Problem(
        "EB301" if refuses else "EB305",
        message,
        (told, argument) if refuses else (argument, told),
        refuses=refuses,
        help="make the two equal",
    )


def _sequence_parallel(json: Config | None) -> Term | None:
    """DeepSpeed divides its ranks by the degree in its own JSON (runtime/config.py), whoever launches it."""
    key = "sequence_parallel_size"
    return json.integer(key) if json is not None and json.has(key) else None


def _hidden_sequence_parallel(config: Config, layout: Layout) -> Layout:
    """A data type for sequence-parallel communication without a degree: the degree stands in the script."""
    json = launch_deepspeed(config).config
    where = config if config.has("deepspeed_config.seq_parallel_communication_data_type") else json
    prefix = "deepspeed_config." if where is config else ""
    key = f"{prefix}seq_parallel_communication_data_type"
    if where is None or not where.has(key) or config.has("parallelism_config.parallelism_config_sp_size"):
        return layout
    origin = where.origin(key) or Origin(None, key)
    reason = "seq_parallel_communication_data_type speaks of sequence parallelism, and its degree is set in the script"
    degree = unknown(reason, origin, key="sp_size")
    return layout._replace(context=degree, replicas=unknown(reason, origin, key="replicas"))


FRAMEWORK = Framework(
    name="accelerate",
    formula="micro batch (script) x gradient_accumulation_steps x num_processes / (tp_size x cp_size x sp_size)",
    sources=(
        "huggingface/accelerate src/accelerate/commands/launch.py",
        "huggingface/accelerate src/accelerate/parallelism_config.py",
        "huggingface/accelerate src/accelerate/accelerator.py",
    ),
    recognise=recognise,
    read=read,
    profiles=(DEEPSPEED_WINS,),
    role="launcher",
)
