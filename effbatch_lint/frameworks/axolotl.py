"""axolotl: micro_batch_size x gradient_accumulation_steps x (processes / context_parallel_size / tensor_parallel_size).

Upstream: axolotl-ai-cloud/axolotl 0.19.0, src/axolotl/core/builders/base.py (what becomes a TrainingArgument),
utils/config/__init__.py (normalize_config), utils/schemas/{training,config}.py (defaults). What it refuses:
:mod:`effbatch_lint.frameworks.parts.axolotl_checks`.

HF Trainer runs with the micro batch and the accumulation; ``batch_size`` only estimates the number of steps. The schema
gives an absent ``gradient_accumulation_steps`` the value 1, so that ``batch_size // micro_batch_size`` counts only where
the key stands there with nothing behind it. Expert-parallel ranks read different data. With packing, a sequence is a bin
of ``sequence_len`` tokens, in micro batches of one row or of several.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts import axolotl_checks
from effbatch_lint.frameworks.parts.axolotl_checks import ACCUMULATION, MICRO, TOTAL
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.trainer import deepspeed as trainer_deepspeed
from effbatch_lint.terms import Term, floor

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

UNITS: dict[str, Unit] = {
    "dpo": "pairs", "ipo": "pairs", "orpo": "pairs", "simpo": "pairs", "kto": "sequences", "grpo": "completions",
    "gdpo": "completions", "ebft": "samples",
}  # fmt: skip


def recognise(config: Config) -> int:
    """The files are flat and always name a ``base_model``."""
    others = config.count("datasets", "pretraining_dataset", "sequence_len", "adapter", "val_set_size", "rl")
    if (
        not config.count("base_model")
        or not config.count(MICRO, ACCUMULATION, TOTAL)
        or not config.count(MICRO) + others
    ):
        return 0
    return config.count(
        "base_model", "datasets", "pretraining_dataset", MICRO, "sequence_len", "sample_packing", "adapter", "num_epochs",
        "val_set_size", "special_tokens", "dataset_prepared_path", "rl",
    )  # fmt: skip


def starts(launch: Launch) -> bool:
    """``axolotl train``, or ``-m axolotl.cli.train`` below a launcher."""
    return launch.program in ("axolotl train", "axolotl.cli.train")


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; its tokens are bounded by ``sequence_len``, to which rows are padded or packed."""
    config = undashed(config)
    world = _world(config, launch)
    micro = config.integer(MICRO, default=1)
    accumulation = _accumulation(config, micro)
    deepspeed = trainer_deepspeed.named(config)
    layout = _layout(config, world, deepspeed.config)
    unit: Unit = "pairs" if config.flag("reward_model") else UNITS.get(config.text("rl") or "", "sequences")
    countable = unit in ("sequences", "pairs")
    yield Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=config.integer("sequence_len", default=512) if countable else None,
        unit=unit,
        sequences_per_item=2 if unit == "pairs" else 1,
        declared=config.integer(TOTAL) if config.has(TOTAL) else None,
        tokens_bound="at most",
        items_per_prompt=config.integer("trl.num_generations") if config.has("trl.num_generations") else None,
        problems=(
            *axolotl_checks.sizes(config, micro, accumulation, layout),
            *axolotl_checks.packing(config, micro, layout),
            *axolotl_checks.groups(config, micro, accumulation, world),
            *(trainer_deepspeed.mismatches(deepspeed.config, micro, accumulation, world) if deepspeed.config else ()),
        ),
    )


def _world(config: Config, launch: Launch) -> Term:
    """The launcher's processes; with Ray the file states the workers."""
    if launch.world_size.known or not config.flag("use_ray"):
        return launch.world_size
    return config.integer("ray_num_workers", default=1)


def _accumulation(config: Config, micro: Term) -> Term:
    written_empty = config.count(ACCUMULATION) and not config.has(ACCUMULATION)
    if written_empty and config.has(TOTAL):
        return floor(config.integer(TOTAL), micro).named(ACCUMULATION)
    return config.integer(ACCUMULATION, default=1)


def _layout(config: Config, world: Term, deepspeed: Config | None) -> Layout:
    """Tensor and context parallelism divide; the degrees that are written out have to use up the devices."""
    tensor = config.integer("tensor_parallel_size", default=1)
    if deepspeed is not None and deepspeed.has(deepspeed_json.TENSOR):
        tensor = deepspeed_json.tensor_parallel(deepspeed)
    context = config.integer("context_parallel_size", "sequence_parallel_degree", default=1)
    layout = Layout.of_world(world, tensor=tensor, context=context)
    unplaced = axolotl_checks.unplaced(config, layout)
    return layout if unplaced is None else layout._replace(problems=(*layout.problems, unplaced))


FRAMEWORK = Framework(
    name="axolotl",
    formula="micro_batch_size x gradient_accumulation_steps x (processes / context_parallel_size / tensor_parallel_size)",
    sources=(
        "axolotl-ai-cloud/axolotl src/axolotl/core/builders/base.py",
        "axolotl-ai-cloud/axolotl src/axolotl/utils/config/__init__.py",
        "axolotl-ai-cloud/axolotl src/axolotl/utils/distributed.py",
        "axolotl-ai-cloud/axolotl src/axolotl/utils/schemas/validation.py",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
)
