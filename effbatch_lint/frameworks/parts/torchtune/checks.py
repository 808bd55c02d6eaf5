"""What torchtune's recipes refuse at start, and the dims that some of them do not read.

Upstream: pytorch/torchtune 0.7, ``__init__`` and ``_setup_data`` of recipes/*.py, ppo_full_finetune_single_device.py
(_setup_batch_sizes), torchtune/datasets (packed), recipes/dev/lora_finetune_distributed_multi_dataset.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.torchtune import recipes
from effbatch_lint.frameworks.parts.torchtune.layout import DIMS
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.torchtune.recipes import Recipe
    from effbatch_lint.terms import Term

_IN_BACKWARD = (recipes.FULL, recipes.QAT, recipes.DPO, recipes.EARLY_EXIT, recipes.PPO)


def of(config: Config, recipe: Recipe, accumulation: Term, dims: Layout) -> Iterator[Problem]:
    """All checks of the recipe."""
    yield from _tensor_parallel(config, recipe, dims)
    yield from _unread_dims(config, recipe)
    yield from _optimizer_in_backward(config, recipe, accumulation)
    yield from _packing(config, recipe)
    if recipe is recipes.PPO:
        yield from _ppo(config, accumulation)


def _tensor_parallel(config: Config, recipe: Recipe, dims: Layout) -> Iterator[Problem]:
    tensor = dims.tensor
    if not recipe.reads_dims or tensor.value is None or tensor.value <= 1:
        return
    if recipe is recipes.LORA:
        yield Problem(
            "EB304",
            f"the LoRA recipe does not support tensor_parallel_dim {shown(tensor.value)}",
            (tensor,),
            refuses=True,
            help="set tensor_parallel_dim to 1",
        )
    elif config.entry("tensor_parallel_plan") is None:
        yield Problem(
            "EB304",
            f"tensor_parallel_dim is {shown(tensor.value)}, and there is no tensor_parallel_plan",
            (tensor,),
            refuses=True,
            help="set tensor_parallel_plan._component_ to the plan of the model",
        )


def _unread_dims(config: Config, recipe: Recipe) -> Iterator[Problem]:
    """These recipes take every device for a replica, whatever the dims say."""
    if recipe.reads_dims:
        return
    for key in DIMS:
        dim = config.integer(key, default=1)
        if dim.origins and dim.value not in (1, -1):
            yield Problem(
                "EB305",
                f"the {recipe.name} recipe does not read {key}: every device is a replica",
                (dim,),
                help=f"remove {key}",
            )


def _optimizer_in_backward(config: Config, recipe: Recipe, accumulation: Term) -> Iterator[Problem]:
    lora = recipes.is_lora(config)
    if recipe not in _IN_BACKWARD or lora or not config.flag("optimizer_in_bwd"):
        return
    if accumulation.value is not None and accumulation.value > 1:
        yield Problem(
            "EB304",
            f"optimizer_in_bwd takes no accumulation, and gradient_accumulation_steps is {shown(accumulation.value)}",
            (accumulation, config.place("optimizer_in_bwd")),
            refuses=True,
            help="set gradient_accumulation_steps to 1, or optimizer_in_bwd to False",
        )


def _packing(config: Config, recipe: Recipe) -> Iterator[Problem]:
    """Packing needs a length, and is for neither preference pairs nor several data sources."""
    several = len(config.items("dataset"))
    keys = [f"dataset.{index}.packed" for index in range(several)] or ["dataset.packed"]
    keys += ["dataloader.packed"] if recipe is recipes.MULTI_DATASET else []
    packed = [key for key in keys if config.flag(key)]
    if not packed:
        return
    if recipe in (recipes.DPO, recipes.MULTI_DATASET):
        refusal = f"the {recipe.name} recipe does not support {packed[0]}"
        yield Problem("EB304", refusal, (config.place(packed[0]),), refuses=True, help=f"set {packed[0]} to False")
    elif not config.has("tokenizer.max_seq_len"):
        yield Problem(
            "EB304",
            f"{packed[0]} needs tokenizer.max_seq_len, which is not set",
            (config.place(packed[0]),),
            refuses=True,
            help="set tokenizer.max_seq_len to the length of a pack",
        )


def _ppo(config: Config, accumulation: Term) -> Iterator[Problem]:
    """Each batch must hold a whole number of the next smaller ones."""
    rollout, step = config.integer("batch_size"), config.integer("ppo_batch_size")
    for whole, part in ((rollout, config.integer("forward_batch_size")), (rollout, step), (step, accumulation)):
        if whole.value is None or not part.value or whole.value % part.value == 0:
            continue
        yield Problem(
            "EB302",
            f"{whole.key} {shown(whole.value)} is no multiple of {part.key} {shown(part.value)}",
            (whole, part),
            refuses=True,
            help=f"set {whole.key} to a multiple of {shown(part.value)}",
        )
    steps = config.integer("num_steps")
    if steps.value is not None and rollout.value is not None and steps.value < rollout.value:
        yield Problem(
            "EB304",
            f"num_steps {shown(steps.value)} is less than one batch_size of {shown(rollout.value)}",
            (steps, rollout),
            refuses=True,
            help="set num_steps, which counts samples, to a multiple of batch_size",
        )
