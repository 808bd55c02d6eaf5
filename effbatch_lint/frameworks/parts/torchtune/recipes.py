"""Which torchtune recipe reads a config: the word of ``tune run``, else the keys that only one recipe has.

Upstream: pytorch/torchtune torchtune/_recipe_registry.py, recipes/ and recipes/dev/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch


class Recipe(NamedTuple):
    """How a recipe counts.

    Attributes:
        name: the recipe, or the family of those that count alike.
        programs: parts of the names that ``tune run`` takes.
        unit: what an item is.
        reads_dims: whether tensor, context and data-parallel dims divide the devices.
    """

    name: str
    programs: tuple[str, ...]
    unit: Unit = "sequences"
    reads_dims: bool = False


PPO = Recipe("ppo", ("ppo_full_finetune",), "completions")
ASYNC_GRPO = Recipe("async grpo", ("async_grpo",), "completions")
GRPO = Recipe("grpo", ("grpo_full_finetune",), "completions")
DPO = Recipe("dpo", ("full_dpo", "lora_dpo"), "pairs")
DISTILLATION = Recipe("knowledge distillation", ("knowledge_distillation",))
QAT_LORA = Recipe("qat lora", ("qat_lora_finetune",))
EARLY_EXIT = Recipe("early exit", ("early_exit",))
MULTI_DATASET = Recipe("multi dataset", ("multi_dataset",))
LORA = Recipe("lora", ("lora_finetune",), reads_dims=True)
QAT = Recipe("qat", ("qat_distributed", "qat_single_device"), reads_dims=True)
FULL = Recipe("full", ("full_finetune",), reads_dims=True)

ALL = (FULL, LORA, QAT, QAT_LORA, DPO, DISTILLATION, EARLY_EXIT, MULTI_DATASET, PPO, GRPO, ASYNC_GRPO)
# Names that hold another one's ("dev/lora_finetune_distributed_multi_dataset", "ppo_full_finetune") come first.
_BY_PROGRAM = (PPO, ASYNC_GRPO, GRPO, DPO, DISTILLATION, QAT_LORA, EARLY_EXIT, MULTI_DATASET, LORA, QAT, FULL)


def of(config: Config, launch: Launch) -> Recipe:
    """The recipe that is started, or the one whose keys the config has."""
    return started(launch) or _by_keys(config)


def started(launch: Launch) -> Recipe | None:
    """The recipe that the launch line names."""
    program = launch.program or ""
    return next((recipe for recipe in _BY_PROGRAM if any(name in program for name in recipe.programs)), None)


def is_single_device(launch: Launch) -> bool:
    """Whether a recipe for one device is started; the config does not say so itself."""
    return "single_device" in (launch.program or "")


def _by_keys(config: Config) -> Recipe:
    loss = config.text("loss._component_") or ""
    lora = is_lora(config)
    if config.has("orchestration.num_training_workers"):
        return ASYNC_GRPO
    if config.has("grpo_samples"):
        return GRPO  # 0.6's configs have ppo_batch_size as well, which its recipe does not read
    if config.has("ppo_batch_size"):
        return PPO
    if "rlhf.loss" in loss:
        return DPO
    if config.has("teacher_model", "kd_loss"):
        return DISTILLATION
    if config.has("early_exit_loss"):
        return EARLY_EXIT
    if config.items("datasets"):
        return MULTI_DATASET
    if config.has("quantizer") and "QAT" in (config.text("quantizer._component_") or ""):
        return QAT_LORA if lora else QAT
    return LORA if lora else FULL


def is_lora(config: Config) -> bool:
    """Whether the model is built with adapters, which only the LoRA recipes train."""
    builder = (config.text("model._component_") or "").rpartition(".")[2]
    return "lora" in builder or "dora" in builder
