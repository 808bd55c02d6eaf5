"""LLaMA-Factory on Megatron: one YAML, two back-ends that treat expert parallelism differently.

    replicas = processes / (tensor x pipeline x context)
    mcore_adapter       B = per_device_train_batch_size x gradient_accumulation_steps x replicas
    Megatron-Bridge     B = max(b x a x processes // (tensor x pipeline x context x expert), b), which Megatron then
                        divides into micro batches of b on every replica: a shrinks by the expert degree

Upstream: alibaba/ROLL, mcore_adapter/src/mcore_adapter/trainer/trainer.py; hiyouga/LLaMA-Factory,
src/llamafactory/train/megatron_bridge/config_builder.py (_compute_train_schedule), hparams/megatron_bridge_args.py.

``USE_MCA=1`` or ``USE_MEGATRON_BRIDGE=1`` chooses, outside the YAML. Where neither is stated, a key that only one of
them has does; without such a key it is mcore_adapter, the older one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.compose.merge import environment
from effbatch_lint.frameworks.parts.megatron.microbatches import constant
from effbatch_lint.frameworks.parts.trainer.batch import ACCUMULATION, MICRO
from effbatch_lint.terms import computed, floor, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.trainer.example import Example
    from effbatch_lint.launch import Launch

TENSOR, PIPELINE = "tensor_model_parallel_size", "pipeline_model_parallel_size"
CONTEXT, EXPERT = "context_parallel_size", "expert_model_parallel_size"
_SWITCHES = ("USE_MCA", "USE_MEGATRON_BRIDGE")
_BRIDGE_ONLY = (
    "mixed_precision", "use_packed_sequences", "megatron_pretrained_checkpoint", "export_hf_on_finish",
    "cross_entropy_loss_fusion", "extra_config",
)  # fmt: skip


def chosen(config: Config, launch: Launch) -> bool:
    """Whether the run is Megatron's: its parallel sizes are there, or the environment asks for it."""
    return config.count(TENSOR, PIPELINE, EXPERT) > 0 or any(_switched(config, launch, name) for name in _SWITCHES)


def batch(config: Config, launch: Launch, example: Example) -> Batch:
    """The batch of the back-end that the environment or the keys name."""
    micro = config.integer(MICRO, default=8)
    accumulation = config.integer(ACCUMULATION, default=1)
    layout = Layout.of_world(
        launch.world_size,
        tensor=config.integer(TENSOR, default=1),
        pipeline=config.integer(PIPELINE, default=1),
        context=config.integer(CONTEXT, default=1),
    )
    found = Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=example.length,
        unit=example.unit,
        sequences_per_item=example.sequences,
        tokens_bound=example.bound,
        profile="Megatron (mcore_adapter)",
    )
    return _bridged(config, found) if _on_bridge(config, launch) else found


def _bridged(config: Config, found: Batch) -> Batch:
    """The same as Megatron-Bridge counts: its global batch is asked for with the expert degree divided out."""
    expert = config.integer(EXPERT, default=1)
    if expert.value == 1:
        return found._replace(profile="Megatron-Bridge")
    layout, micro = found.layout, found.micro
    devices = product(layout.model_parallel, expert)
    text = (
        f"{shown(micro.value)} x {shown(found.accumulation.value)} x {shown(layout.world.value)} / "
        f"{shown(devices.value)}, with the expert degree {shown(expert.value)} divided out"
    )
    share = floor(product(micro, found.accumulation, layout.world), devices)
    asked = computed(max, text, share, micro).named("the global batch")
    groups = Layout.of_world(
        layout.world, tensor=layout.tensor, pipeline=product(layout.pipeline, expert), context=layout.context
    )
    division = constant(asked, micro, layout.replicas)
    return found._replace(
        accumulation=division.accumulation,
        global_batch=asked,
        problems=(*(groups.problems if not layout.problems else ()), *division.problems),
        profile="Megatron-Bridge",
    )


def _on_bridge(config: Config, launch: Launch) -> bool:
    if _switched(config, launch, "USE_MCA"):
        return False
    return _switched(config, launch, "USE_MEGATRON_BRIDGE") or config.count(*_BRIDGE_ONLY) > 0


def _switched(config: Config, launch: Launch, name: str) -> bool:
    value = launch.environment.get(name) or environment(config.overrides).get(name, "")
    return value.lower() in ("1", "true", "y")
