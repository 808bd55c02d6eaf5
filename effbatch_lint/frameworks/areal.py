"""AReaL: train_dataset.batch_size is global: prompts for RL, sequences or pairs otherwise; the replicas are written.

    RL          B = batch_size x gconfig.n_samples / actor.ppo_n_minibatches completions, an average
    SFT, RW     B = batch_size (pairs for a reward model or DPO)
    replicas    dN of actor.backend ("fsdp:d4p1t1", "megatron:(attn:d4p4t2|ffn:d2p4e4)")

Upstream: inclusionAI/AReaL, areal/api/cli_args.py, areal/api/alloc_mode.py, areal/utils/dataloader.py,
areal/trainer/ppo/actor.py.

``ppo_n_minibatches`` is 4 where it is absent: a quarter of what was generated makes a step. Mini batches have equal
numbers of tokens, not of sequences; micro batches are a token budget. Where no scheduler is named, every process reads
its own share (SPMD) and the batch must divide; one controller that shares out by tokens does not ask that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem, Unit
from effbatch_lint.frameworks.areal_allocation import allocation
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.terms import Term, exact, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

DECLARED, SAMPLES, MINIBATCHES = "train_dataset.batch_size", "gconfig.n_samples", "actor.ppo_n_minibatches"
_OWN = (
    "experiment_name", "trial_name", "cluster.n_nodes", "cluster.n_gpus_per_node", "actor.backend", "allocation_mode",
    "actor.mb_spec", "rollout", "gconfig", "total_train_epochs", "stats_logger", "model.backend", "engine.backend",
)  # fmt: skip
_MODELS = ("actor", "model", "engine")


def recognise(config: Config) -> int:
    """A trial of an experiment with a cluster and an allocation string."""
    if not config.has(DECLARED) or not config.count("experiment_name", "trial_name"):
        return 0
    own = config.count(*_OWN)
    return own + 1 if own > 3 else 0  # noqa: PLR2004 - a trial's name and its length are many projects'


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch: the policy's, where there is one."""
    layout, found = allocation(config, _MODELS, launch.world_size)
    declared = config.integer(DECLARED, default=1)
    learning = config.has("gconfig") and config.has("actor")
    budget = unknown("micro batches are formed by a token budget (mb_spec.max_tokens_per_mb)")
    whole, samples = declared, None
    if learning:
        samples = config.integer(SAMPLES, default=1)
        minibatches = config.integer(MINIBATCHES, default=4)
        whole = exact(product(declared, samples), minibatches).because(
            f"{shown(declared.value)} prompts x {shown(samples.value)} samples / {shown(minibatches.value)} minibatches"
        )
    unit = _unit(config, learning=learning)
    yield Batch(
        micro=budget,
        accumulation=budget,
        layout=layout,
        sequence_length=_length(config, learning=learning),
        unit=unit,
        sequences_per_item=2 if unit == "pairs" else 1,
        global_batch=whole,
        declared=None if learning else declared,
        tokens_bound="at most",
        items_per_prompt=samples,
        problems=(*found, *(() if learning else _share(config, declared, layout))),
    )


def _unit(config: Config, *, learning: bool) -> Unit:
    kind = config.text("train_dataset.type") or ""
    return "completions" if learning else "pairs" if kind in ("rw", "dpo") else "sequences"


def _length(config: Config, *, learning: bool) -> Term:
    """Tokens of a row: what is generated has a limit, the prompt before it has none."""
    if learning:
        return unknown("prompts have a filter and no limit: the tokens of a completion with its prompt are not bounded")
    length = config.integer("train_dataset.max_length")
    return length if length.known else length._replace(reason="train_dataset.max_length is not set: rows have no limit")


def _share(config: Config, declared: Term, layout: Layout) -> Iterator[Problem]:
    """Every process reads its own share of the batch where no scheduler controls them."""
    replicas = layout.replicas
    if config.has("scheduler.type") or declared.value is None or not replicas.value or exact(declared, replicas).known:
        return
    yield Problem(
        "EB302",
        f"{DECLARED} {shown(declared.value)} is not divisible by {shown(replicas.value)} replicas",
        (declared, replicas),
        refuses=True,
        help=f"use a multiple of {shown(replicas.value)}",
    )


FRAMEWORK = Framework(
    name="areal",
    formula="train_dataset.batch_size x gconfig.n_samples / actor.ppo_n_minibatches",
    sources=(
        "inclusionAI/AReaL areal/api/cli_args.py, areal/utils/dataloader.py",
        "inclusionAI/AReaL areal/api/alloc_mode.py",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
)
