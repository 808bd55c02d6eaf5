"""HF Trainer's batch: per_device_train_batch_size x gradient_accumulation_steps x replicas.

Upstream: huggingface/transformers, src/transformers/trainer.py (create_accelerator_and_postprocess,
get_total_train_batch_size), src/transformers/training_args.py (TrainingArguments), 5.24.0; huggingface/accelerate,
src/accelerate/data_loader.py (prepare_data_loader, BatchSamplerShard).

With ``accelerator_config.split_batches`` the loader's batch is divided among the replicas instead of multiplied by
them: B = per_device_train_batch_size x gradient_accumulation_steps on any number of devices, and the log multiplies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.parts import accelerate_launch, parallelism_config
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.trainer import deepspeed as trainer_deepspeed
from effbatch_lint.frameworks.parts.trainer.layout import trainer_layout
from effbatch_lint.terms import ONE, Origin, Term, exact, near, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.trainer.example import Example
    from effbatch_lint.launch import Launch

MICRO = "per_device_train_batch_size"
OLD_MICRO = "per_gpu_train_batch_size"
ACCUMULATION = "gradient_accumulation_steps"


class Arguments(NamedTuple):
    """The TrainingArguments of a run, with the files that stand beside them.

    Attributes:
        config: the keys.
        accelerator: ``accelerator_config``: a mapping, or the JSON that it names.
        launch_file: the accelerate file that starts the run.
        deepspeed: the DeepSpeed configuration: the arguments' own, else the launch file's.
        own_deepspeed: whether the arguments name it.
        world: all processes.
    """

    config: Config
    accelerator: Config | None
    launch_file: Config | None
    deepspeed: trainer_deepspeed.Named
    own_deepspeed: bool
    world: Term


def arguments_of(config: Config, launch: Launch) -> Arguments:
    """The arguments in ``config``, and their companions."""
    launch_file, world = launch.accelerate, launch.world_size
    own = config.has("deepspeed")
    deepspeed = trainer_deepspeed.named(config)
    if launch_file is not None:
        world = world if world.known else accelerate_launch.processes(launch_file)
        if not own and accelerate_launch.kind(launch_file) == "DEEPSPEED":
            deepspeed = accelerate_launch.launch_deepspeed(launch_file)
    return Arguments(config, config.companion("accelerator_config"), launch_file, deepspeed, own, world)


def trainer_batch(config: Config, launch: Launch, example: Example) -> Batch:
    """The batch of TrainingArguments; ``example`` says what the script counts."""
    arguments = arguments_of(config, launch)
    micro = config.integer(OLD_MICRO, MICRO) if config.has(OLD_MICRO) else config.integer(MICRO, default=8)
    return counted(arguments, launch, trainer_layout_of(arguments), micro, _accumulation(arguments), example)


def counted(
    arguments: Arguments, launch: Launch, layout: Layout, micro: Term, accumulation: Term, example: Example
) -> Batch:
    """The batch of arguments whose numbers are settled, for the programs that have defaults of their own."""
    config = arguments.config
    problems = [
        *_contradictions(arguments, micro, accumulation),
        *_deepspeed_problems(arguments, micro, accumulation),
    ]
    if arguments.launch_file is not None:
        problems.extend(accelerate_launch.refusals(arguments.launch_file))
        if not launch.world_size.known:
            problems.extend(accelerate_launch.launch_problems(arguments.launch_file))
    json = arguments.deepspeed.config
    whole = None
    if arguments.accelerator is None and config.text("accelerator_config"):
        reason = "accelerator_config is in no file of the project, and may split the batch over the processes"
        micro = unknown(reason, *_origins(config, "accelerator_config"), key=MICRO)
    elif config.flag("auto_find_batch_size") and micro.known:
        micro = micro.because("fewer when memory runs out")
    if arguments.accelerator is not None and arguments.accelerator.flag("split_batches"):
        whole = product(micro, accumulation)
        problems.extend(_unsplittable(micro, layout.replicas))
        micro = exact(micro, layout.replicas).named(MICRO)
    elif not arguments.world.known:
        whole = trainer_deepspeed.pinned(json, layout.model_parallel)
    return Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=example.length,
        unit=example.unit,
        sequences_per_item=example.sequences,
        global_batch=whole,
        declared=None if json is None else deepspeed_json.declared(json),
        tokens_bound=example.bound,
        items_per_prompt=example.per_prompt,
        problems=tuple(problems),
        profile="4.x (per_gpu_train_batch_size)" if config.has(OLD_MICRO) else None,
    )


def _accumulation(arguments: Arguments) -> Term:
    """The argument; ``num_steps`` of the accelerator's kwargs takes its place where it is 1."""
    own = arguments.config.integer(ACCUMULATION, default=1)
    steps = _num_steps(arguments)
    return own if steps is None or own.value != 1 else steps


def _num_steps(arguments: Arguments) -> Term | None:
    key = "gradient_accumulation_kwargs.num_steps"
    accelerator = arguments.accelerator
    return accelerator.integer(key) if accelerator is not None and accelerator.has(key) else None


def trainer_layout_of(arguments: Arguments) -> Layout:
    """Trainer's replicas. The tensor degree is DeepSpeed's where DeepSpeed runs, else the ParallelismConfig's."""
    tensor, world = arguments.deepspeed.tensor, arguments.world
    source, stem = arguments.config, parallelism_config.ARGUMENT
    if not source.count("parallelism_config") and arguments.launch_file is not None:
        source, stem = arguments.launch_file, parallelism_config.LAUNCH_FILE
    if not source.count("parallelism_config"):
        return trainer_layout(world, tensor=tensor or ONE)
    sizes = parallelism_config.degrees(source, stem)
    layout = trainer_layout(world, tensor=tensor or sizes.tensor, context=sizes.context, sequence=sizes.sequence)
    refused = parallelism_config.refusal(sizes, world, *_distributed(arguments))
    return layout if refused is None else layout._replace(problems=(refused,))


def _distributed(arguments: Arguments) -> tuple[str, str | None]:
    file = arguments.launch_file
    return ("", None) if file is None else (accelerate_launch.kind(file), file.text("fsdp_config.fsdp_version"))


def _contradictions(arguments: Arguments, micro: Term, accumulation: Term) -> Iterator[Problem]:
    config = arguments.config
    steps = _num_steps(arguments)
    if steps is not None and (accumulation.value or 0) > 1 and accumulation.key == ACCUMULATION:
        yield Problem(
            "EB301",
            f"{ACCUMULATION} is {shown(accumulation.value)} and num_steps of accelerator_config is {shown(steps.value)}: "
            "Trainer takes one of them only",
            (accumulation, steps),
            refuses=True,
            help=f"remove num_steps, or {ACCUMULATION}",
        )
    if config.has(OLD_MICRO) and config.has(MICRO):
        unused = config.integer(MICRO)
        yield Problem(
            "EB305",
            f"{MICRO} {shown(unused.value)} has no effect: {OLD_MICRO} {shown(micro.value)} takes its place",
            (unused, micro),
            help=f"remove {OLD_MICRO}, which transformers 5 no longer knows",
        )
    if config.flag("auto_find_batch_size") and _zero_stage(arguments) == "3":
        yield Problem(
            "EB304",
            "auto_find_batch_size does not work with ZeRO stage 3",
            (Term(None, "read", _origins(config, "auto_find_batch_size"), key="auto_find_batch_size"),),
            refuses=True,
            help="remove auto_find_batch_size, or use ZeRO stage 2",
        )


def _zero_stage(arguments: Arguments) -> str | None:
    json, file = arguments.deepspeed.config, arguments.launch_file
    if json is not None:
        return json.text("zero_optimization.stage")
    return None if file is None or arguments.own_deepspeed else file.text("deepspeed_config.zero_stage")


def _deepspeed_problems(arguments: Arguments, micro: Term, accumulation: Term) -> Iterator[Problem]:
    json = arguments.deepspeed.config
    if json is not None:
        differing = tuple(trainer_deepspeed.mismatches(json, micro, accumulation, arguments.world))
        yield from differing or deepspeed_json.copies_counted(json)
    if arguments.own_deepspeed or arguments.launch_file is None or (json is not None and json.has(ACCUMULATION)):
        return
    told = accelerate_launch.launch_accumulation(arguments.launch_file)
    if told is not None and told.known and accumulation.known and told.value != accumulation.value:
        yield Problem(
            "EB301",
            f"{ACCUMULATION} is {shown(accumulation.value)}, and accelerate tells DeepSpeed {shown(told.value)}",
            (accumulation, told),
            refuses=True,
            help="make the two equal",
        )


def _unsplittable(micro: Term, replicas: Term) -> Iterator[Problem]:
    if micro.value and replicas.value and micro.value % replicas.value:
        yield Problem(
            "EB302",
            f"split_batches divides {MICRO} {shown(micro.value)} among {shown(replicas.value)} replicas: "
            f"{shown(micro.value)} is no multiple of {shown(replicas.value)}",
            (micro, replicas),
            refuses=True,
            help=f"set {MICRO} to {near(micro.value, replicas.value)}, or split_batches to false",
        )


def _origins(config: Config, key: str) -> tuple[Origin, ...]:
    origin = config.origin(key)
    return () if origin is None else (origin,)
