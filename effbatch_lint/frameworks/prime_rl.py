"""prime-rl: data.batch_size packed rows (SFT), or orchestrator.batch_size rollouts (RL), for each optimizer step.

    SFT    accumulation = batch_size x cp / (devices x micro_batch_size), B = data.batch_size on any number of devices
    RL     B = orchestrator.batch_size rollouts, or token_batch_size tokens; how many micro batches they fill depends on them
    replicas = training devices / cp

Upstream: PrimeIntellect-ai/prime-rl, packages/prime-rl-configs (sft.py, orchestrator.py, trainer.py, rl.py), src/prime_rl/
trainer/sft/train.py.

``[deployment]`` states the training devices (those for inference are others), and torchrun goes past it. Which of the two
trainers runs is the command's word; where no key tells, the file's name does. Values of the trainer may stand in
``[trainer.model]`` or in the ``[model]`` that both sides share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts import prime_rl_checks as checks
from effbatch_lint.terms import Term, default, exact, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_DATA = ("data.batch_size", "data.micro_batch_size", "data.seq_len")
_SECTIONS = frozenset((
    "data", "model", "optim", "ckpt", "deployment", "slurm", "monitors", "wandb", "trainer", "orchestrator", "inference",
    "scheduler", "renderer", "eval", "log", "weight_broadcast", "env_vars", "resume", "max_steps", "seq_len",
    "output_dir", "val", "loss", "bench", "profile", "run", "clean", "tokenizer", "rollout_transport", "dry_run",
    "matmul_precision", "memory_profiler_path", "gc", "trace_path", "dist_timeout_seconds", "heartbeat", "metrics_server",
    "enable_router_replay", "enable_token_export",
))  # fmt: skip


def recognise(config: Config) -> int:
    """A file of nothing but prime-rl's sections, of which one is the data's, the orchestrator's or the scheduler's."""
    config = undashed(config, levels=3)
    sections = _sections(config)
    if not sections <= _SECTIONS:
        return 0
    beside = config.count("model.name", "deployment", "slurm", "ckpt", "optim", "monitors", "inference", "trainer")
    if "orchestrator" in sections:
        return 2 + beside + config.count("orchestrator.batch_size", "orchestrator.group_size")
    if config.count(*_DATA):
        if "trainer" in sections:
            return 0  # the sections of two different commands: LightningCLI's --trainer.devices and --data.batch_size
        return beside and beside + config.count(*_DATA)
    named = config.has("slurm.job_name", "deployment.num_train_gpus", "deployment.type")
    return beside + 1 if named and config.path.endswith(".toml") and _trainer(config) is not None else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, of the trainer that the file is for."""
    config = undashed(config, levels=3)
    learning = _trainer(config) == "rl"
    stated = _devices(config, learning=learning)
    world = launch.world_size if launch.world_size.known or not stated.known else stated
    context = config.integer("trainer.model.cp", "model.cp", default=1)
    layout = Layout.of_world(world, context=context)
    yield _rollouts(config, layout) if learning else _supervised(config, layout)


def _trainer(config: Config) -> str | None:
    """``rl`` or ``sft``; None where nothing tells."""
    sections = _sections(config)
    if sections & {"orchestrator", "trainer"}:
        return "rl"
    if "data" in sections:
        return "sft"
    name = config.path.rpartition("/")[2].lower()
    return next((word for word in ("sft", "rl") if word in name), None)


def _sections(config: Config) -> set[str]:
    """The sections of a file, or of dotted flags."""
    return {key.partition(".")[0] for key in config.root.entries}


def _devices(config: Config, *, learning: bool) -> Term:
    """The training devices as ``[deployment]`` states them; the class's default of one is no statement."""
    if config.text("deployment.type") == "multi_node" or config.has("deployment.num_train_nodes"):
        nodes = config.integer("deployment.num_train_nodes", default=None if learning else 2)
        return product(nodes, config.integer("deployment.gpus_per_node", default=8))
    return config.integer("deployment.num_train_gpus")


def _supervised(config: Config, layout: Layout) -> Batch:
    """SFT: a global number of packed rows, whatever the devices."""
    declared = config.integer("data.batch_size", default=128)
    micro = config.integer("data.micro_batch_size", default=1)
    length = config.integer("data.seq_len", default=128)
    return Batch(
        micro=micro,
        accumulation=exact(product(declared, layout.context), product(layout.world, micro)),
        layout=layout,
        sequence_length=length,
        global_batch=declared,
        declared=declared,
        tokens_bound="exact" if config.text("data.pack_function") in (None, "cat") else "at most",
        problems=tuple(checks.supervised(declared, micro, length, layout)),
        profile="sft",
    )


def _rollouts(config: Config, layout: Layout) -> Batch:
    """RL: a number of rollouts, or of tokens, for each step of the trainer."""
    in_tokens = config.has("orchestrator.token_batch_size")
    declared = (
        config.integer("orchestrator.token_batch_size")
        if in_tokens
        else config.integer("orchestrator.batch_size", default=128)
    )
    packed = unknown("rollouts are packed into rows: how many a step has depends on their lengths")
    return Batch(
        micro=packed,
        accumulation=packed,
        layout=layout,
        sequence_length=_limit(config, "trainer.model.seq_len"),
        unit="tokens" if in_tokens else "completions",
        global_batch=declared,
        declared=declared,
        tokens_bound="at most",
        items_per_prompt=config.integer("orchestrator.group_size", default=1),
        problems=tuple(
            checks.reinforced(
                config, declared, _limit(config, "orchestrator.seq_len"), _limit(config, "trainer.model.seq_len")
            )
        ),
        profile="rl",
    )


def _limit(config: Config, own: str) -> Term:
    """The row's length on one side: its own, else the shared one."""
    for key in (own, "seq_len"):
        if config.has(key):
            return config.integer(key)
    return default(2048, own)


FRAMEWORK = Framework(
    name="prime-rl",
    formula="data.batch_size = micro_batch_size x accumulation x devices / cp; orchestrator.batch_size rollouts",
    sources=(
        "PrimeIntellect-ai/prime-rl packages/prime-rl-configs/src/prime_rl/configs/sft.py, orchestrator.py",
        "PrimeIntellect-ai/prime-rl src/prime_rl/trainer/sft/train.py",
    ),
    recognise=recognise,
    read=read,
    profiles=("sft", "rl"),
)
