"""LLaMA-Factory's second generation (``llamafactory.v1``): the global batch is declared, the accumulation follows.

    replicas = processes / cp_size
    accumulation = global_batch_size / (micro_batch_size x replicas), 1 where no global batch is set

Upstream: hiyouga/LLaMA-Factory, src/llamafactory/v1/config/training_args.py, v1/core/utils/batching.py
(BatchGenerator), v1/accelerator/interface.py (DistributedStrategy).

``mp_replicate_size`` and ``mp_shard_size`` say how FSDP shards the weights, and divide nothing. With the dynamic
strategies a micro batch is a budget of ``cutoff_len x micro_batch_size`` tokens, and the sequences in it vary.

DPO and reward models count pairs. Both answers of a pair stand one behind the other in a single row (v1/core/rendering/
rendering.py, process_samples), which is cut at ``cutoff_len`` (collation.py, pad_and_truncate): T is B x cutoff_len there
too. The command chooses the trainer (``llamafactory-cli dpo``); a file tells of it by keys or by the data set's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.frameworks.parts.megatron.microbatches import constant
from effbatch_lint.terms import ONE, Term, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO, GLOBAL = "micro_batch_size", "global_batch_size"
_PREFERENCE = ("pref_loss", "pref_beta", "pref_ftx", "dpo_label_smoothing", "simpo_gamma", "ld_alpha")
_PAIRS = re.compile(r"(?:^|[^a-z])(?:dpo|orpo|simpo|rm)(?:$|[^a-z])")


def recognised(config: Config) -> int:
    """How many of v1's keys there are; its model and its data have names of their own."""
    if not config.has("model") or not config.has("train_dataset"):
        return 0
    own = config.count("model_class", "dist_config", "kernel_config", "quant_config", "cp_mode", "batching_strategy")
    return own and own + config.count("model", "train_dataset", MICRO, GLOBAL, "cutoff_len")


def batch(config: Config, launch: Launch) -> Batch:
    """The batch of one v1 file."""
    micro = config.integer(MICRO, default=1)
    layout = _layout(config, launch.world_size)
    declared = config.integer(GLOBAL) if config.has(GLOBAL) else None
    length = config.integer("cutoff_len", default=2048)
    dynamic = (config.text("batching_strategy") or "").startswith("dynamic")
    varies = unknown("with dynamic batching the sequences of a micro batch vary: it is a budget of tokens")
    problems = tuple(_checks(config, dynamic=dynamic))
    if declared is None:
        one = ONE.because(f"{GLOBAL} is not set: one micro batch of each replica")
        accumulation, whole = one, (varies if dynamic else None)
    else:
        division = constant(declared, micro, layout.replicas)
        accumulation, whole = division.accumulation, (varies if dynamic else declared)
        problems = (*problems, *division.problems)
    return Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=length,
        unit="pairs" if _paired(config, launch.program) else "sequences",
        global_batch=whole,
        declared=declared,
        tokens=varies if dynamic else None,
        tokens_bound="at most",
        problems=problems,
        profile="v1",
    )


def _paired(config: Config, program: str | None) -> bool:
    command = (program or "").removeprefix("llamafactory-cli ")
    if command in ("sft", "dpo", "rm"):
        return command != "sft"
    return config.has(*_PREFERENCE) or _PAIRS.search((config.text("train_dataset") or "").lower()) is not None


def _layout(config: Config, world: Term) -> Layout:
    context = config.integer("cp_size", "dist_config.cp_size", default=1)
    layout = Layout.of_world(world, context=context)
    replicas = config.integer("dp_size", "dist_config.dp_size")
    if replicas.known and layout.replicas.known and replicas.value != layout.replicas.value:
        stated = Layout.of_replicas(replicas, world=world, context=context)
        layout = layout._replace(problems=stated.problems)
    shards = _shards(config, world)
    return layout if shards is None else layout._replace(problems=(*layout.problems, shards))


def _shards(config: Config, world: Term) -> Problem | None:
    replicate, shard = (config.integer(key, f"dist_config.{key}") for key in ("mp_replicate_size", "mp_shard_size"))
    stated = product(replicate if replicate.known else ONE, shard)
    if not world.known or not stated.value or stated.value == world.value:
        return None
    return Problem(
        "EB304",
        f"mp_replicate_size x mp_shard_size is {shown(stated.value)}, and the job has {shown(world.value)} processes",
        (shard, replicate, world),
        refuses=True,
        help="drop mp_shard_size: it is then what is left",
    )


def _checks(config: Config, *, dynamic: bool) -> Iterator[Problem]:
    if dynamic and not config.has("max_steps"):
        yield Problem(
            "EB304",
            "dynamic batching needs max_steps: an epoch has no fixed number of steps",
            (config.place("batching_strategy"),),
            refuses=True,
            help="set max_steps",
        )
    old = config.integer("gradient_accumulation_steps")
    if old.known:
        yield Problem(
            "EB305",
            f"gradient_accumulation_steps {shown(old.value)} has no effect in v1: the accumulation follows from {GLOBAL}",
            (old,),
            help=f"set {GLOBAL} to {MICRO} x accumulation x replicas",
        )
