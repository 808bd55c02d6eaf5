"""DeepSpeed: train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x ranks.

Upstream: deepspeedai/DeepSpeed, deepspeed/runtime/config.py (DeepSpeedConfig.__init__, 0.19.8), deepspeed/__init__.py
(initialize), deepspeed/utils/groups.py (_init_tp_mesh_device).

    ranks = world size / sequence_parallel_size        a true division, nothing checks it

``sequence_parallel_size`` beside ``data_parallel_size`` builds a mesh, and the second is the number of ranks. AutoTP
(``tensor_parallel.autotp_size``) forms its groups only after the batch was checked: DeepSpeed counts tensor-parallel
ranks, which read the same samples (deepspeedai/DeepSpeed#7298), so the step sees ``train_batch_size / autotp_size``.
Pipeline stages stand in code, never in this file.

"auto" is filled in by HF Trainer from its arguments (:mod:`effbatch_lint.frameworks.parts.trainer.deepspeed`), which may be
given as overrides. An ``elasticity`` block is refused from 0.19.8 on: a file with one is read as 0.19.6 reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.documents.document import kind_of
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.deepspeed.flags import (
    argument_of_program,
    as_written,
    batch_of_program,
    in_file,
    numbers_of_file,
)
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO, origins
from effbatch_lint.frameworks.parts.deepspeed.start_checks import start_checks
from effbatch_lint.frameworks.parts.deepspeed.triple import complete
from effbatch_lint.frameworks.parts.trainer import deepspeed as trainer_deepspeed
from effbatch_lint.frameworks.parts.trainer.layout import trainer_layout
from effbatch_lint.terms import Term, default, exact, near, ratio, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

SEQUENCE = "sequence_parallel_size"
TRAINER_MICRO = ("per_device_train_batch_size", "per_gpu_train_batch_size")


_SECTIONS = ("optimizer", "scheduler", "fp16", "bf16")
# Keys of programs that lay their replicas out themselves, and of the files and arguments of trainers.
_OTHERS = (
    "pipe_parallel_size", "pipe-parallel-size", "model_parallel_size", "model-parallel-size", "num_layers",
    "num-layers", "distributed_type", "base_model",
)  # fmt: skip
_TRAINERS = ("output_dir", "per_device_eval_batch_size")


def recognise(config: Config) -> int:
    """DeepSpeed's own file is JSON (read with hjson): the same names in YAML are GPT-NeoX's, or a launcher's."""
    if config.path.endswith((".yaml", ".yml", ".toml")) or config.count(*_OTHERS):
        return 0
    # Behind --deepspeed_config (deepspeed.add_config_arguments) an output folder or --fp16 is an argument of the program;
    # behind --deepspeed FILE they are TrainingArguments, with which Trainer compares the file.
    if (as_written(config) if config.has("deepspeed_config") else config).count(*_TRAINERS):
        return 0
    if not all(_section(config, key) for key in _SECTIONS):
        return 0  # "optimizer": "adamw" is some other program's
    numbers = config.count(BATCH, MICRO, ACCUMULATION)
    rest = config.count(
        "zero_optimization", "fp16", "bf16", "optimizer", "scheduler", "steps_per_print", "gradient_clipping",
        "wall_clock_breakdown", "tensor_parallel", "elasticity", "zero_allow_untested_optimizer",
    )  # fmt: skip
    # The flag names the file: its word is enough where a number stands there alone.
    named = config.has("deepspeed_config") and kind_of(config.path) != "shell"
    own = config.count(MICRO) or _sharded(config) or config.flag("elasticity.enabled") or (numbers and (rest or named))
    return numbers + rest if own else 0


def _section(config: Config, key: str) -> bool:
    """Whether the file holds a section under the key, if anything; ``--fp16`` of the launch line is the program's own."""
    entry = config.root.entries.get(key)
    if entry is None or not config.has(key):
        return True
    return isinstance((in_file(entry, config.path) or entry).value, Mapping)


def _sharded(config: Config) -> bool:
    """``zero_optimization`` of a file, where the first releases also took true; a script's switch is its program's own."""
    return config.has("zero_optimization") and (
        isinstance(config.node("zero_optimization"), Mapping) or kind_of(config.path) != "shell"
    )


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch of samples; the sequence length is the training script's."""
    if config.has(*TRAINER_MICRO):
        yield _through_trainer(config, launch.world_size)
    elif config.flag("elasticity.enabled"):
        from effbatch_lint.frameworks.parts.deepspeed.elasticity import elastic_batch  # noqa: PLC0415 - few files are elastic

        yield elastic_batch(config, launch.world_size)
    else:
        yield _by_itself(config, launch.world_size)


def _by_itself(config: Config, world: Term) -> Batch:
    run = config
    config, overlaid = numbers_of_file(run)
    layout, ranks = _layout(config, world)
    batch, micro, accumulation = (_stated(config, key) for key in (BATCH, MICRO, ACCUMULATION))
    if micro is not None and deepspeed_json.is_auto(config, BATCH):
        batch = None  # whoever fills it in multiplies the others
    triple = complete(batch, micro, accumulation, ranks, whole_ranks=layout.context.value == 1)
    fixed = None if batch is None or not batch.known else batch
    if config.flag("autotuning.enabled"):
        tuned = unknown(
            "autotuning is enabled: DeepSpeed tries micro batches, and runs with the fastest",
            *origins(config, "autotuning.enabled"),
            key=MICRO,
        )
        return Batch(micro=tuned, accumulation=triple.accumulation, layout=layout, unit="samples", declared=fixed)
    varying = _varying(config)
    if varying is not None:
        return Batch(micro=triple.micro, accumulation=varying, layout=layout, unit="samples", declared=fixed)
    whole = fixed if fixed is None or layout.tensor.value == 1 else exact(fixed, layout.tensor)
    other = overlaid or batch_of_program(run, triple.micro, triple.accumulation, fixed)
    other = other or argument_of_program(config, triple.micro, fixed)
    return Batch(
        micro=triple.micro,
        accumulation=triple.accumulation,
        layout=layout,
        unit="samples",
        global_batch=whole if other is None else unknown(other.message, *other.terms[0].origins),
        declared=deepspeed_json.declared(config),
        problems=(
            *start_checks(config),
            *triple.problems,
            *(() if other is None else (other,)),
        )
        or tuple(deepspeed_json.copies_counted(config)),
    )


def _layout(config: Config, world: Term) -> tuple[Layout, Term]:
    """The layout, and the ranks that DeepSpeed puts into its equation."""
    tensor = deepspeed_json.tensor_parallel(config)
    sequence = config.integer(SEQUENCE, default=1)
    if config.has("data_parallel_size") and config.has(SEQUENCE):
        ranks = config.integer("data_parallel_size")
        return Layout.of_replicas(ranks, world=world, context=sequence), ranks
    ranks = world if sequence.value == 1 else ratio(world, sequence)
    if not ranks.known or not sequence.known or isinstance(ranks.value, int):
        return Layout.of_world(world, tensor=tensor, context=sequence), ranks
    uneven = Problem(
        "EB201",
        f"{shown(world.value)} processes cannot be split into groups of {shown(sequence.value)} ({SEQUENCE}): DeepSpeed "
        f"counts {shown(ranks.value)} replicas and does not notice",
        (sequence, world),
        help=f"start it on {near(world.value, sequence.value)} processes",
    )
    return Layout(world, ratio(ranks, tensor), tensor, context=sequence, problems=(uneven,)), ranks


def _stated(config: Config, key: str) -> Term | None:
    if deepspeed_json.is_auto(config, key):
        reason = f'{key} is "auto": HF Trainer or accelerate fills it in, and their arguments are not given'
        return unknown(reason, *origins(config, key), key=key)
    return deepspeed_json.stated(config, key)


def _varying(config: Config) -> Term | None:
    """What takes the number of samples per step out of this file's hands."""
    if config.has("managed_gradient_accumulation") and not config.flag("managed_gradient_accumulation"):
        key, reason = "managed_gradient_accumulation", "it is false: the program decides how many passes make a step"
    elif config.flag("data_efficiency.data_sampling.dynamic_batching.enabled"):
        key, reason = "data_efficiency.data_sampling.dynamic_batching", "dynamic batching changes the samples per step"
    else:
        return None
    return unknown(f"{key}: {reason}", *origins(config, key), key=ACCUMULATION)


def _through_trainer(config: Config, world: Term) -> Batch:
    """HF Trainer's arguments lie over the file: they fill "auto", and a number that differs stops the run."""
    json = as_written(config)
    micro = config.integer(*TRAINER_MICRO)
    accumulation = deepspeed_json.stated(config, ACCUMULATION) or default(1, ACCUMULATION)
    layout = trainer_layout(
        world, tensor=deepspeed_json.tensor_parallel(json), sequence=json.integer(SEQUENCE, default=1)
    )
    return Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        unit="samples",
        global_batch=None if world.known else trainer_deepspeed.pinned(json, layout.model_parallel),
        declared=deepspeed_json.declared(json),
        problems=tuple(trainer_deepspeed.mismatches(json, micro, accumulation, world))
        or tuple(deepspeed_json.copies_counted(json)),
        profile="filled in by HF Trainer",
    )


FRAMEWORK = Framework(
    name="deepspeed",
    formula="train_micro_batch_size_per_gpu x gradient_accumulation_steps x (world size / sequence_parallel_size / autotp_size)",
    sources=(
        "deepspeedai/DeepSpeed deepspeed/runtime/config.py",
        "deepspeedai/DeepSpeed deepspeed/__init__.py",
        "deepspeedai/DeepSpeed deepspeed/elasticity/elasticity.py",
        "huggingface/transformers src/transformers/integrations/deepspeed.py",
    ),
    recognise=recognise,
    read=read,
    dialect="json",
    profiles=("plain", "filled in by HF Trainer", "elastic (before 0.19.8)"),
    role="engine",
)
