"""torchforge: local_batch_size x replicas, accumulation 1; for GRPO with a number of replicas that is kept by hand.

    SFT     B = training.local_batch_size x replicas on processes.procs devices
    GRPO    B = local_batch_size x replay_buffer.dp_size completions, and the trainer's replicas must be dp_size

Upstream: meta-pytorch/torchforge, apps/sft/main.py, apps/grpo/main.py, src/forge/actors/replay_buffer.py (sample),
src/forge/actors/trainer/titan.py (inputs[dp_rank]). The layout is torchtitan's ParallelDims.

The program starts its processes itself: ``actors.trainer.procs`` (times ``hosts``) train, ``services.*`` generate. What a
policy's ``engine_args`` say is for generation. Nothing compares ``dp_size`` with the mesh: with too few parts of a batch
the first step fails, and parts too many are never read. A batch need not hold whole groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.stated_world import reconciled
from effbatch_lint.frameworks.parts.torchtitan import eras
from effbatch_lint.frameworks.parts.torchtitan.layout import layout
from effbatch_lint.terms import ONE, Term, product, shown

if TYPE_CHECKING:
    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_LEARNING = ("replay_buffer", "actors.trainer", "services.policy", "trainer.parallelism", "group_size", "off_by_n")
_SUPERVISED = ("processes.procs", "training.local_batch_size", "training.seq_len", "parallelism")
DP_SIZE = "replay_buffer.dp_size"


def recognise(config: Config) -> int:
    """A replay buffer between actors (GRPO), or ``processes`` beside torchtitan's sections (SFT)."""
    learning, supervised = config.count(*_LEARNING), config.count(*_SUPERVISED)
    if config.has("replay_buffer", "actors") and learning > 2:  # noqa: PLR2004 - one actor is anyone's
        return 2 * learning
    return 2 * supervised if config.has("processes.procs") and supervised > 1 else 0


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch."""
    config = undashed(config, levels=2)
    trainer = config.section("trainer")
    learning = trainer is not None and config.has("replay_buffer", "actors")
    procs = "actors.trainer" if learning else "processes"
    stated = product(config.integer(f"{procs}.procs", default=1), config.integer(f"{procs}.hosts", default=1))
    world, conflict = reconciled(stated, launch.world_size, f"{procs}.procs x hosts")
    if not learning or trainer is None:
        yield Batch(
            micro=config.integer("training.local_batch_size", default=1),
            accumulation=ONE,
            layout=layout(config, eras.SEQUENCES, world),
            sequence_length=config.integer("training.seq_len", default=2048),
            tokens_bound="at most",
            problems=conflict,
            profile="SFT",
        )
        return
    local = config.integer("replay_buffer.batch_size", "local_batch_size")
    dims = layout(trainer, eras.SEQUENCES, world)
    parts = config.integer(DP_SIZE, default=1)
    yield Batch(
        micro=local,
        accumulation=ONE,
        layout=dims,
        sequence_length=trainer.integer("training.seq_len", default=2048),
        unit="completions",
        tokens_bound="at most",
        items_per_prompt=config.integer("group_size") if config.has("group_size") else None,
        problems=(*conflict, *_parts(parts, dims, local)),
        profile="GRPO",
    )


def _parts(parts: Term, dims: Layout, local: Term) -> Iterator[Problem]:
    """The parts that the replay buffer makes of a batch, against the replicas that read them."""
    replicas = dims.replicas
    if parts.value is None or replicas.value is None or parts.value == replicas.value:
        return
    few = parts.value < replicas.value
    consequence = (
        "the ranks beyond find no data, and the first step fails"
        if few
        else f"a step trains on {shown(product(local, replicas).value)} completions, and the other parts are never read"
    )
    yield Problem(
        "EB202",
        f"{DP_SIZE} is {shown(parts.value)}, and the trainer has {shown(replicas.value)} replicas: {consequence}",
        (parts, dims.world),
        refuses=few,
        help=f"set {DP_SIZE} to {shown(replicas.value)}",
    )


FRAMEWORK = Framework(
    name="torchforge",
    formula="local_batch_size x replicas (GRPO: replay_buffer.dp_size, which must be the trainer's)",
    sources=(
        "meta-pytorch/torchforge apps/grpo/main.py, apps/sft/main.py",
        "meta-pytorch/torchforge src/forge/actors/replay_buffer.py",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
    profiles=("GRPO", "SFT"),
)
