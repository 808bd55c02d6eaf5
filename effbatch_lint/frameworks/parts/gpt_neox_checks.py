"""What gpt-neox refuses or silently does beside the arithmetic of its triple.

Upstream: EleutherAI/gpt-neox, megatron/neox_arguments/arguments.py (from_ymls, calculate_derived, validate_values),
megatron/training.py (get_batch: KTO; the pipeline engine's batches), megatron/data/data_utils.py (validate_train_epochs),
deepspeed runtime/config.py (the product of the triple on the real number of processes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.compose.spelling import path_of, repeats, text_of, underscored
from effbatch_lint.terms import Origin, Term, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.nodes import Entry
    from effbatch_lint.launch import Launch

TOTAL, MICRO, ACCUMULATION = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
PIPELINE, TENSOR, GPUS = "pipe_parallel_size", "model_parallel_size", "global_num_gpus"
DECISIVE = (TOTAL, MICRO, ACCUMULATION, PIPELINE, TENSOR, GPUS, "seq_length", "train_impl")

# What makes a file a run rather than the description of a model; none of these is DeepSpeed's.
TRAINING_KEYS = frozenset((
    "train_iters", "train_epochs", "lr_decay_iters", "lr_decay_style", "min_lr", "warmup", "data_impl", "checkpoint_factor",
    "checkpoint_activations", "checkpoint_num_layers", "synchronize_each_layer", "partition_activations",
    "distributed_backend", "eval_interval", "eval_iters", "hidden_dropout", "attention_dropout",
))  # fmt: skip
MODEL_KEYS = frozenset((
    "num_layers", "hidden_size", "num_attention_heads", "seq_length", "max_position_embeddings", "pos_emb", "rotary_pct",
    "no_weight_tying", "gpt_j_residual", "output_layer_parallelism", "attention_config",
))  # fmt: skip
PAIRED = ("dpo", "rm")


def start_checks(neox: Config, launch: Launch, objective: str, micro: Term, accumulation: Term) -> Iterator[Problem]:
    """The problems of one run (its keys underscored); ``micro`` and ``accumulation`` are the completed ones."""
    yield from _repeated(neox)
    yield from _incomplete(neox)
    yield from _world(neox, launch)
    yield from _objective(neox, objective, micro)
    yield from _length(neox)
    yield from _epochs(neox)
    yield from _experts(neox)
    yield from _ignored(neox, micro, accumulation)


def _incomplete(neox: Config) -> Iterator[Problem]:
    """A file that is a part of a run is refused alone; that is a fault only of what is meant as a whole run."""
    model = neox.has("num_layers")
    if model and not neox.has(TOTAL) and not neox.has(MICRO):
        part = not neox.count(*TRAINING_KEYS, "optimizer")
        yield Problem(
            "EB903" if part else "EB304",
            f"neither {TOTAL} nor {MICRO} is set, and one of them must be",
            (neox.integer("num_layers"),),
            refuses=True,
            help="hand the file with the batch over too: one run is all the files of deepy.py"
            if part
            else f"set {MICRO}",
        )
    elif not model:
        yield Problem(
            "EB903",
            "num_layers is not set: this is a part of a run, whose model and layout another file describes",
            (neox.integer(MICRO, TOTAL, GPUS),),
            refuses=True,
            help="hand the file with the model over too: one run is all the files of deepy.py",
        )


def _world(neox: Config, launch: Launch) -> Iterator[Problem]:
    """global_num_gpus is believed; DeepSpeed then counts the real processes and refuses another product."""
    stated, real = neox.integer(GPUS), launch.world_size
    if neox.has("num_layers") and stated.known and real.known and stated.value != real.value:
        yield Problem(
            "EB203",
            f"{GPUS} is {shown(stated.value)}, and the job has {shown(real.value)} devices: gpt-neox computes the batch of "
            "the first, and DeepSpeed refuses it on the second",
            (stated, real),
            refuses=True,
            help=f"remove {GPUS}: gpt-neox counts the GPUs itself",
        )


def _objective(neox: Config, objective: str, micro: Term) -> Iterator[Problem]:
    if objective == "kto" and micro.value == 1:
        yield Problem(
            "EB304", f"train_impl kto needs {MICRO} greater than 1", (micro,), refuses=True, help=f"{MICRO}: 2"
        )
    pipeline = neox.integer(PIPELINE, default=0)
    if objective in (*PAIRED, "kto") and (pipeline.value or 0) >= 1:
        yield Problem(
            "EB304",
            f"train_impl {objective} does not run on the pipeline engine, which {PIPELINE} {shown(pipeline.value)} selects",
            (pipeline,),
            refuses=True,
            help=f"{PIPELINE}: 0",
        )


def _length(neox: Config) -> Iterator[Problem]:
    length, limit = neox.integer("seq_length"), neox.integer("max_position_embeddings")
    if length.value is not None and limit.value is not None and limit.value < length.value:
        message = f"max_position_embeddings {shown(limit.value)} is less than seq_length {shown(length.value)}"
        yield Problem("EB304", message, (limit, length), refuses=True)


def _epochs(neox: Config) -> Iterator[Problem]:
    epochs, iterations = neox.integer("train_epochs"), neox.integer("train_iters")
    if epochs.value and iterations.value:
        message = f"train_epochs {shown(epochs.value)} and train_iters {shown(iterations.value)} are both set"
        yield Problem("EB304", message, (epochs, iterations), refuses=True, help="keep one of them")


def _experts(neox: Config) -> Iterator[Problem]:
    experts, stage = neox.integer("moe_num_experts", default=1), neox.integer("zero_optimization.stage", default=0)
    if (experts.value or 1) > 1 and (stage.value or 0) > 1:
        message = f"moe_num_experts {shown(experts.value)} does not run with ZeRO stage {shown(stage.value)}"
        yield Problem("EB304", message, (stage, experts), refuses=True, help="zero_optimization.stage: 1")


def _ignored(neox: Config, micro: Term, accumulation: Term) -> Iterator[Problem]:
    gas, size = neox.integer("gas"), neox.integer("batch_size")
    if gas.known:
        message = f"gas has no effect: {ACCUMULATION} ({shown(accumulation.value)}) overwrites it, and since 2024 no release knows it"
        yield Problem("EB305", message, (gas, accumulation), help=f"remove it, and set {ACCUMULATION}")
    if size.known and micro.known and size.value != micro.value:
        message = f"batch_size {shown(size.value)} is overwritten by {MICRO} {shown(micro.value)}"
        yield Problem("EB305", message, (size, micro), help="remove it")


def _repeated(neox: Config) -> Iterator[Problem]:
    """Keys in two files, and batch keys in two spellings."""
    for key, entry in neox.root.entries.items():
        for earlier in entry.previous:
            across = path_of(earlier.span) != path_of(entry.span) and entry.note is None and earlier.note is None
            if across and "-" not in entry.key:
                terms = (_as_written(entry), _as_written(earlier))
                message = f"{key} stands in two files of one run: {path_of(earlier.span)} and {path_of(entry.span)}"
                yield Problem("EB902", message, terms, refuses=True, help="remove one of them")
    for earlier, counting in repeats(neox.root, underscored, DECISIVE):
        if "-" in counting.key or path_of(earlier.span) == path_of(counting.span):
            yield Problem(
                "EB307",
                f"{earlier.key} {text_of(earlier)} has no effect: {counting.key} {text_of(counting)} replaces it, and "
                "gpt-neox does not notice a key that is repeated in another spelling",
                (_as_written(earlier), _as_written(counting)),
                help="keep one of them",
            )


def _as_written(entry: Entry) -> Term:
    return unknown(f"{entry.key}: {text_of(entry)}", Origin(entry.value.span, entry.key), key=entry.key)
