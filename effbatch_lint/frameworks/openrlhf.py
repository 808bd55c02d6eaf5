"""OpenRLHF: a declared global batch, which replicas and micro batches divide among themselves.

    B = train.batch_size                            sequences; pairs for DPO and reward models; completions for PPO
    accumulation = B // micro_batch_size // replicas
    replicas = world / (ring_attn_size x tensor_parallel_size)

Upstream: OpenRLHF/OpenRLHF, openrlhf/utils/deepspeed/deepspeed.py (setup_distributed, get_ds_train_config),
openrlhf/cli/train_*.py (defaults and checks), openrlhf/trainer/ppo_utils/replay_buffer.py (setup_dynamic_batch).

DeepSpeed is told ``B x ring x tensor`` and the micro batch for the full world, and stops where accumulation is not whole.
SFT, DPO and reward models train on all that the launcher starts; PPO on the actor's devices alone, while reference,
reward and vLLM have others. There ``rollout.batch_size`` counts prompts and ``train.batch_size`` completions.

Flags have dots since 0.10.2; the default of PPO's micro batch was 4 before 0.10.0 and is 1 since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.model_devices import model_devices
from effbatch_lint.frameworks.parts.openrlhf.checks import checks, rl_checks
from effbatch_lint.frameworks.parts.openrlhf.flags import Flags, flags
from effbatch_lint.frameworks.parts.openrlhf.step import rollout, step
from effbatch_lint.terms import Term, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Problem, Unit
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_TRAINER = re.compile(r"(?:^|[./])train_([a-z]+)\w*(?:\.py)?$")
_BESIDE = (
    "train.batch_size", "train_batch_size", "ds.zero_stage", "zero_stage", "ckpt.output_dir", "save_path", "data.max_len",
    "max_len", "rollout.batch_size", "rollout_batch_size", "actor.model_name_or_path", "model.model_name_or_path",
    "pretrain",
)  # fmt: skip


class Trainer(NamedTuple):
    """What a program of OpenRLHF counts, and its parser's defaults."""

    unit: Unit
    micro: int
    max_len: int


_TRAINERS = {
    "sft": Trainer("sequences", 8, 2048),
    "dpo": Trainer("pairs", 8, 512),
    "rm": Trainer("pairs", 1, 512),
    "kto": Trainer("sequences", 8, 2048),
    "kd": Trainer("sequences", 8, 2048),
    "prm": Trainer("sequences", 1, 2048),
}


def recognise(config: Config) -> int:
    """The micro batch has a name of its own in the flat flags; the dotted one is OpenRLHF's beside others."""
    found = flags(config)
    if not found.given("train.micro_batch_size"):
        return 0
    beside = found.config.count(*_BESIDE)
    return beside and beside + 1


def starts(launch: Launch) -> bool:
    """``openrlhf.cli.train_ppo_ray``, as a module or a file."""
    program = (launch.program or "").replace("/", ".")
    return "openrlhf.cli.train_" in program


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; for PPO that of the actor, and that of the critic where the advantage needs one."""
    found = flags(config)
    kind = _TRAINER.search(launch.program or "")
    if (kind is not None and kind[1] == "ppo") or found.given("rollout.batch_size"):
        yield from _ppo(found, launch, on_ray=kind is None or "ray" in kind[0])
        return
    trainer = _TRAINERS.get("" if kind is None else kind[1], _TRAINERS["sft"])
    layout = _layout(found, launch.world_size)
    divided = step(found, layout, found.integer("train.micro_batch_size", default=trainer.micro))
    yield Batch(
        micro=divided.micro,
        accumulation=divided.accumulation,
        layout=layout,
        sequence_length=found.integer("data.max_len", default=trainer.max_len),
        unit=trainer.unit,
        sequences_per_item=2 if trainer.unit == "pairs" else 1,
        declared=divided.declared,
        tokens_bound="at most",
        problems=(*divided.problems, *checks(found, layout)),
        profile=_profile(found),
    )


def _ppo(found: Flags, launch: Launch, *, on_ray: bool) -> Iterator[Batch]:
    micro = _ppo_micro(found)
    world, conflict = _devices(found, "actor", launch) if on_ray else (launch.world_size, ())
    actor = _policy(found, world, micro)
    collected = rollout(found, actor.layout)
    yield actor._replace(
        items_per_prompt=found.integer("rollout.n_samples_per_prompt", default=1),
        problems=(*conflict, *rl_checks(found, actor.layout), *actor.problems, *collected),
    )
    if (found.text("algo.advantage.estimator") or "gae") == "gae":
        world = _devices(found, "critic", launch)[0] if on_ray else launch.world_size
        yield _policy(found, world, micro)._replace(name="critic")


def _devices(found: Flags, role: str, launch: Launch) -> tuple[Term, tuple[Problem, ...]]:
    nodes, each = found.integer(f"{role}.num_nodes", default=1), found.integer(f"{role}.num_gpus_per_node", default=8)
    return model_devices(role, nodes, each, launch.world_size)


def _policy(found: Flags, world: Term, micro: Term) -> Batch:
    layout = _layout(found, world)
    divided = step(found, layout, micro)
    whole = divided.batch if not divided.micro.known and layout.replicas.known else None
    return Batch(
        micro=divided.micro,
        accumulation=divided.accumulation,
        layout=layout,
        sequence_length=_ppo_length(found),
        unit="completions",
        global_batch=whole,
        declared=divided.declared,
        tokens=_with_pretraining(found),
        tokens_bound="at most",
        problems=divided.problems,
        profile=_profile(found),
    )


def _layout(found: Flags, world: Term) -> Layout:
    """The device mesh (dp, sp, tp) has to hold every device."""
    return Layout.of_world(
        world,
        tensor=found.integer("ds.tensor_parallel_size", default=1),
        context=found.integer("ds.ring_attn_size", default=1),
    )


def _ppo_micro(found: Flags) -> Term:
    """What the line says, or the parser's default, which moved."""
    default = {"dotted": 1, "0.10": 1, "before 0.10": 4}.get(found.release)
    stated = found.integer("train.micro_batch_size", default=default)
    if stated.known or stated.origins:
        return stated
    return stated._replace(
        reason="micro_train_batch_size is not given: its default is 4 before release 0.10.0, and 1 since"
    )


def _ppo_length(found: Flags) -> Term:
    """Prompt and answer together; two limits in releases before 0.9.8."""
    if not found.dotted and found.config.count("prompt_max_len", "generate_max_len"):
        return total(
            found.config.integer("prompt_max_len", default=1024), found.config.integer("generate_max_len", default=1024)
        ).named("prompt_max_len + generate_max_len")
    return found.integer("data.max_len", default=2048)


def _with_pretraining(found: Flags) -> Term | None:
    """Releases before 0.7.4 mix a batch of ``--pretrain_data`` into each step of the actor."""
    origin = found.config.origin("pretrain_data")
    if found.dotted or origin is None:
        return None
    return unknown("--pretrain_data adds rows of another length to each step", origin, key="pretrain_data")


def _profile(found: Flags) -> str | None:
    return None if found.dotted else "flat flags, up to 0.10.1"


FRAMEWORK = Framework(
    name="openrlhf",
    formula="train.batch_size = micro_batch_size x accumulation x world / (ring_attn_size x tensor_parallel_size)",
    sources=(
        "OpenRLHF/OpenRLHF openrlhf/utils/deepspeed/deepspeed.py",
        "OpenRLHF/OpenRLHF openrlhf/cli/train_ppo_ray.py",
        "OpenRLHF/OpenRLHF openrlhf/trainer/ppo_utils/replay_buffer.py",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
    profiles=("dotted flags, since 0.10.2", "flat flags, up to 0.10.1"),
)
