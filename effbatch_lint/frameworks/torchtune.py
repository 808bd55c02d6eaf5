"""torchtune: batch_size x gradient_accumulation_steps x replicas, as the recipe counts them.

    SFT, QAT, LoRA SFT         replicas = devices / (tensor_parallel_dim x context_parallel_dim)
    DPO, KD, QAT-LoRA, early exit, multi-dataset      replicas = devices; the dims are not read
    *_single_device            one replica
    PPO                        B = ppo_batch_size; gradient_accumulation_steps divides it into micro batches
    GRPO                       B = batch_size x grpo_samples x devices completions, in one pass
    asynchronous GRPO          B = training.batch_size x orchestration.num_training_workers completions

Upstream: pytorch/torchtune 0.7, recipes/*.py and recipes/dev/*.py (``_setup_data``, ``train``), torchtune/training/
_distributed.py (ParallelDims). The recipe is a word of the command line (``tune run RECIPE --config FILE``); without a
launch line it is known by the keys that only one of them reads (torchtune_recipes).

The recipes' docstrings multiply by the number of GPUs, which is wrong with tensor or context parallelism. Rows are
padded to the longest unless ``dataset.packed``. Releases before 0.7 have no context parallelism and no replicate
degree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.torchtune import checks, recipes
from effbatch_lint.frameworks.parts.torchtune.layout import layout
from effbatch_lint.terms import ONE, Term, exact, product, total, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.frameworks.parts.torchtune.recipes import Recipe
    from effbatch_lint.launch import Launch

_COMPONENTS = (
    "model._component_", "tokenizer._component_", "checkpointer._component_", "dataset._component_",
    "loss._component_", "optimizer._component_", "metric_logger._component_",
)  # fmt: skip
_BATCH = ("batch_size", "gradient_accumulation_steps", "training.batch_size")


def recognise(config: Config) -> int:
    """Sections with ``_component_`` beside a batch; only its training recipes have an optimizer."""
    components = config.count(*_COMPONENTS)
    if not components or not config.has(*_BATCH) or not config.count("optimizer", "training.optimizer"):
        return 0
    return components + config.count(*_BATCH)


def starts(launch: Launch) -> bool:
    """``tune run RECIPE``, for the recipes that train."""
    program = (launch.program or "").removesuffix(".py")
    return program.endswith(("_distributed", "_single_device")) and recipes.started(launch) is not None


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, counted as the recipe does."""
    recipe = recipes.of(config, launch)
    dims = layout(config, recipe, launch)
    micro, accumulation = _factors(config, recipe)
    yield Batch(
        micro=micro,
        accumulation=accumulation,
        layout=dims,
        sequence_length=_length(config, recipe),
        unit=recipe.unit,
        sequences_per_item=2 if recipe.unit == "pairs" else 1,
        tokens_bound="exact" if _packed(config) else "at most",
        items_per_prompt=config.integer("grpo_samples") if recipe is recipes.GRPO else None,
        problems=tuple(checks.of(config, recipe, accumulation, dims)),
        profile=recipe.name,
    )


def _factors(config: Config, recipe: Recipe) -> tuple[Term, Term]:
    """Items per replica and forward pass, and passes per step."""
    if recipe is recipes.GRPO:
        return product(config.integer("batch_size"), config.integer("grpo_samples")).named("batch_size"), ONE
    if recipe is recipes.ASYNC_GRPO:
        return config.integer("training.batch_size"), ONE
    accumulation = config.integer("gradient_accumulation_steps")
    if recipe is recipes.PPO:
        return exact(config.integer("ppo_batch_size"), accumulation).named("ppo_batch_size"), accumulation
    return config.integer("batch_size"), accumulation


def _length(config: Config, recipe: Recipe) -> Term:
    """Tokens of a row: what the tokenizer truncates to, and with PPO what is generated after it."""
    if recipe in (recipes.GRPO, recipes.ASYNC_GRPO):
        return unknown("prompts have no limit: the dataset does not truncate them to tokenizer.max_seq_len")
    limit = config.integer("tokenizer.max_seq_len")
    if not limit.known and not limit.origins:
        limit = limit._replace(reason="tokenizer.max_seq_len is not set: rows have no limit")
    return total(limit, config.integer("max_generated_tokens")) if recipe is recipes.PPO else limit


def _packed(config: Config) -> bool:
    """Rows are full; of several datasets all are packed, or the recipe stops."""
    several = len(config.items("dataset"))
    return any(config.flag(f"dataset.{index}.packed") for index in range(several)) or config.flag("dataset.packed")


FRAMEWORK = Framework(
    name="torchtune",
    formula="batch_size x gradient_accumulation_steps x devices / (tensor_parallel_dim x context_parallel_dim)",
    sources=(
        "pytorch/torchtune recipes/full_finetune_distributed.py and the other recipes",
        "pytorch/torchtune torchtune/training/_distributed.py (ParallelDims)",
    ),
    recognise=recognise,
    read=read,
    dialect="omegaconf",
    profiles=tuple(recipe.name for recipe in recipes.ALL),
    starts=starts,
)
