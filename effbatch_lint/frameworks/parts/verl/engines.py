"""verl's training engines, and how each divides the devices into replicas.

    FSDP, VeOmni    world / Ulysses size
    Megatron        world / (tensor x pipeline x context)
    torchtitan      shard x replicate, as written
    automodel       world / (tp x pp x cp)

Upstream: verl-project/verl, verl/workers/engine/*/transformer_impl.py (get_data_parallel_size), verl/workers/config/
actor.py (FSDPActorConfig: the old Ulysses key is copied down when it is over 1), verl/trainer/config/model_engine.

``rollout.tensor_model_parallel_size`` is the inference engine's, and divides nothing here; nor do ``fsdp_size`` and the
expert sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Layout
from effbatch_lint.frameworks.parts.megatron.layout import indivisible_groups
from effbatch_lint.terms import ONE, Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_OF_MODEL_ENGINE = {"dp": "fsdp", "mindspeed": "megatron"}
_KINDS = ("fsdp", "fsdp2", "megatron", "veomni", "torchtitan", "automodel", "mindspeed")
_MEGATRON = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")


class Engine(NamedTuple):
    """An engine's kind, the prefix of its own keys, and where an older release kept the Ulysses size."""

    kind: str
    keys: str
    ulysses: str

    @property
    def fsdp(self) -> bool:
        """Whether it is one of the FSDP kinds."""
        return self.kind.startswith("fsdp")


def worker_engine(config: Config, worker: str) -> Engine:
    """The engine of a worker of the RL trainer (``actor_rollout_ref.actor``, ``critic``)."""
    kind = _kind(config.text(f"{worker}.strategy"), config.text("model_engine"))
    if kind is None:
        kind = next((name for name in ("megatron", "veomni", "torchtitan") if config.has(f"{worker}.{name}")), "fsdp")
    fsdp = "fsdp" if worker == "critic" else "fsdp_config"
    section = fsdp if kind.startswith("fsdp") else kind
    return Engine(kind, f"{worker}.{section}.", f"{worker}.ulysses_sequence_parallel_size")


def sft_engine(config: Config, launch: Launch) -> Engine:
    """The engine of the SFT trainer: the group ``engine``, or FSDP in releases that have none.

    Where the tree is not in the project, the line's ``engine=megatron`` lies under its ``engine.`` keys.
    """
    chosen = config.text("engine.strategy"), config.text("engine"), str(launch.overrides.get("engine") or "")
    kind = _kind(*chosen)
    if kind is None and not config.has(*(f"engine.{key}" for key in _MEGATRON)):
        kind = next((name for name in chosen if name), "fsdp")
    return Engine(kind or "megatron", "engine.", "ulysses_sequence_parallel_size")


def engine_layout(config: Config, engine: Engine, world: Term) -> Layout:
    """The layout of the engine; a remainder is refused by the device mesh."""
    if engine.kind in ("megatron", "mindspeed"):
        return _megatron(config, engine, world)
    if engine.kind == "automodel":
        tensor, pipeline, context = (
            config.integer(f"{engine.keys}{key}_size", default=1) for key in ("tp", "pp", "cp")
        )
        return Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    if engine.kind == "torchtitan":
        return _torchtitan(config, engine, world)
    if engine.kind == "veomni":
        return Layout.of_world(world, context=config.integer(f"{engine.keys}ulysses_parallel_size", default=1))
    if not engine.fsdp:
        return _of_another_package(engine, world)
    old = config.integer(engine.ulysses)
    new = config.integer(f"{engine.keys}ulysses_sequence_parallel_size", default=1)
    return Layout.of_world(world, context=old if old.value is not None and old.value > 1 else new)


def _of_another_package(engine: Engine, world: Term) -> Layout:
    """An engine that another package registers (``engine=mlite``), with keys of its own."""
    hidden = unknown(f"the engine {engine.kind} is none of verl's own: how it divides the devices is not known here")
    return Layout(world, hidden, hidden, hidden, hidden)


def _kind(*named: str | None) -> str | None:
    kinds = (_OF_MODEL_ENGINE.get(name, name) for name in named if name)
    return next((kind for kind in kinds if kind in _KINDS), None)


def _megatron(config: Config, engine: Engine, world: Term) -> Layout:
    tensor, pipeline, context = (config.integer(f"{engine.keys}{key}", default=1) for key in _MEGATRON)
    found = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    if config.flag(f"{engine.keys}dynamic_context_parallel"):
        one = ONE.because("dynamic context parallelism: the batch is one logical replica's")
        return Layout(world, one, tensor, pipeline, context)
    experts = config.integer(f"{engine.keys}expert_model_parallel_size", default=1)
    tensor_key = f"{engine.keys}expert_tensor_parallel_size"
    expert_tensor = config.integer(tensor_key) if config.has(tensor_key) else tensor
    problem = indivisible_groups(found, "experts", (expert_tensor, experts, pipeline))
    return found if problem is None or found.problems else found._replace(problems=(problem,))


def _torchtitan(config: Config, engine: Engine, world: Term) -> Layout:
    def degree(name: str) -> Term:
        return config.integer(f"{engine.keys}{name}", default=1)

    replicas = product(degree("data_parallel_shard_size"), degree("data_parallel_replicate_size"))
    return Layout.of_replicas(
        replicas.named(f"{engine.keys}data_parallel_shard_size x data_parallel_replicate_size"),
        tensor=degree("tensor_parallel_size"),
        pipeline=degree("pipeline_parallel_size"),
        context=degree("context_parallel_size"),
        world=world,
    )
