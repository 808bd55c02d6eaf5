"""prime-rl: data.batch_size packed rows (SFT), or orchestrator.batch_size rollouts (RL), for each optimizer step.

    SFT    accumulation = batch_size x cp / (devices x micro_batch_size), B = data.batch_size on any number of devices
    RL     B = orchestrator.batch_size rollouts, or token_batch_size tokens; how many micro batches they fill depends on them
    replicas = training devices / cp

Upstream: PrimeIntellect-ai/prime-rl, packages/prime-rl-configs (sft.py, orchestrator.py, trainer.py, rl.py), src/prime_rl/
trainer/sft/train.py.

The orchestrator may have a file of its own, which says nothing of the devices; releases differ in the names of sections
(parts/prime_rl/sections.py).

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
from effbatch_lint.frameworks.parts.prime_rl import checks
from effbatch_lint.frameworks.parts.prime_rl.sections import DATA, GROUP, orchestrators, sections, trainer, whole
from effbatch_lint.terms import Term, default, exact, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch


def recognise(config: Config) -> int:
    """A file of nothing but prime-rl's sections, of which one is the data's, the orchestrator's or the scheduler's; or the
    orchestrator's own file."""
    config = undashed(config, levels=3)
    beside = config.count("model.name", "deployment", "slurm", "ckpt", "optim", "monitors", "inference", "trainer")
    if orchestrators(config):
        return 2 + beside + config.count("batch_size", *GROUP)
    if not whole(config):
        return 0
    if "orchestrator" in sections(config):
        return 2 + beside + config.count("orchestrator.batch_size", "orchestrator.group_size")
    if config.count(*DATA):
        if "trainer" in sections(config):
            return 0  # the sections of two different commands: LightningCLI's --trainer.devices and --data.batch_size
        return beside and beside + config.count(*DATA)
    named = config.has("slurm.job_name", "deployment.num_train_gpus", "deployment.type")
    return beside + 1 if named and config.path.endswith(".toml") and trainer(config) is not None else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, of the trainer that the file is for."""
    config = undashed(config, levels=3)
    learning = trainer(config) == "rl"
    stated = _devices(config, learning=learning)
    world = launch.world_size if launch.world_size.known or not stated.known else stated
    if orchestrators(config):
        context = unknown("the trainer's own file says how many devices share a row (model.cp)", key="trainer.model.cp")
        yield _rollouts(config, Layout.of_world(world, context=context), "")
        return
    layout = Layout.of_world(
        world,
        context=config.integer("trainer.model.cp", "model.cp", default=1),
        tensor=config.integer("trainer.model.tp", "model.tp", default=1),  # releases of 2025
    )
    yield _rollouts(config, layout, "orchestrator.") if learning else _supervised(config, layout)


def _devices(config: Config, *, learning: bool) -> Term:
    """The training devices as The orchestrator may have a file of its own, which says nothing of the devices; releases differ in the names of sections
    (parts/prime_rl/sections.py).

    ``[deployment]`` states them; the class's default of one is no statement."""
    if config.text("deployment.type") == "multi_node" or config.has("deployment.num_train_nodes"):
        nodes = config.integer("deployment.num_train_nodes", default=None if learning else 2)
        return product(nodes, config.integer("deployment.gpus_per_node", default=8))
    ids = config.items("trainer_gpu_ids")  # the rl command of 2025, beside inference_gpu_ids
    if ids and not config.has("deployment"):
        origin = config.origin("trainer_gpu_ids")
        return Term(len(ids), "read", (origin,) if origin else (), key="trainer_gpu_ids")
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


def _rollouts(config: Config, layout: Layout, own: str) -> Batch:
    """RL: a number of rollouts, or of tokens, for each step of the trainer; ``own`` is the prefix of the orchestrator's keys.

    The trainer's rows hold a whole rollout: what the orchestrator's own file says of the length bounds both.
    """
    in_tokens = config.has(f"{own}token_batch_size")
    declared = (
        config.integer(f"{own}token_batch_size") if in_tokens else config.integer(f"{own}batch_size", default=128)
    )
    rollout = _limit(config, f"{own}seq_len")
    # Up to December 2025 the orchestrator packed the rows itself, and the trainer had no length of its own.
    packs = not own or (config.has("trainer_gpu_ids") and not config.has("trainer.model.seq_len", "seq_len"))
    row = rollout if packs else _limit(config, "trainer.model.seq_len")
    packed = unknown("rollouts are packed into rows: how many a step has depends on their lengths")
    return Batch(
        micro=packed,
        accumulation=packed,
        layout=layout,
        sequence_length=row,
        unit="tokens" if in_tokens else "completions",
        global_batch=declared,
        declared=declared,
        tokens_bound="at most",
        items_per_prompt=config.integer(*(f"{own}{key}" for key in GROUP), default=1),
        problems=tuple(checks.reinforced(config, own, rollout, row)),
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
