"""trl: HF Trainer's arithmetic, in rows (SFT), pairs (DPO, ORPO, CPO, reward) or completions (GRPO, RLOO).

    B = per_device_train_batch_size x gradient_accumulation_steps x replicas, as :mod:`effbatch_lint.frameworks.parts.trainer.batch`
    generation batch = per_device_train_batch_size x processes x steps_per_generation   completions of one rollout
    prompts per step = B / num_generations

Upstream: huggingface/trl, trl/trainer/{sft,dpo,kto,reward,grpo,rloo}_config.py (the defaults; GRPOConfig.__post_init__),
1.16; trl/scripts/utils.py (TrlParser).

A flat YAML of script, training and model arguments. ``per_device_train_batch_size`` counts completions since 0.15; in
0.14 it counted prompts, and no key tells. GPUs that ``trl vllm-serve`` takes are not among the processes. A length
limit that the file leaves out is the release's: 512 tokens once, 1,024 now.

``scripts/TASK.py --config RECIPE`` of trl and alignment-handbook (recipes/launch.slurm), and ``src/open_r1/TASK.py`` of
open-r1 (slurm/train.slurm), is such a run also where the recipe is not at hand: what it may set is then unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import undashed
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts import trl_checks
from effbatch_lint.frameworks.parts.trainer.batch import ACCUMULATION, MICRO, trainer_batch
from effbatch_lint.frameworks.parts.trainer.example import LENGTHS, Example, example_of
from effbatch_lint.terms import unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_ROWS = ("packing", "packing_strategy", "assistant_only_loss", "completion_only_loss", "dataset_text_field")
_OWN = (
    *_ROWS, "padding_free", "num_generations", "max_completion_length", "reward_funcs", "reward_weights",
    "num_iterations", "steps_per_generation", "generation_batch_size", "log_completions", "use_vllm", "vllm_mode",
    "beta", "max_prompt_length", "desirable_weight", "undesirable_weight", "dataset_mixture", "dataset_prompt_column",
    "use_peft", "rpo_alpha", "simpo_gamma", "cpo_alpha", "center_rewards_coefficient",
)  # fmt: skip
_COMMON = (
    "dataset_name", "dataset_mixer", "max_length", "max_seq_length", "loss_type", "attn_implementation",
    "dataset_num_proc", "chat_template", "lora_target_modules",
)  # fmt: skip
# Programs that take these names over and count otherwise have names of their own beside them.
_OTHERS = (
    "stage", "finetuning_type", "template", "tuner_type", "train_type", "sft_type", "rlhf_type", "split_dataset_ratio",
    "base_model", "with_tracking", "sequence_parallel_size", "tensor_model_parallel_size", "distributed_type",
    "zero_optimization",
)  # fmt: skip
# The task itself may be an argument of the launch script.
_SCRIPT = re.compile(r"(?:^|/)(?:scripts|open_r1)/(?:sft|dpo|orpo|cpo|kto|grpo|rloo|reward|\$\{?\w+\}?)\.py")

# ... and tells what an example is, where no key does: `trl dpo`, scripts/run_dpo.py, trl.scripts.dpo.
_TASK = re.compile(r"(?:^|[/. ])(?:run_)?(dpo|orpo|cpo|reward|reward_modeling|grpo|rloo)(?:_vlm|_lora)?(?:\.py)?$")


def recognise(config: Config) -> int:
    """A batch key of TrainingArguments beside keys that trl's trainers and scripts added."""
    config = undashed(config)
    own = config.count(*_OWN)
    if config.count(*_OTHERS) or not own or not config.count(MICRO, ACCUMULATION):
        return 0
    beside = own + config.count(*_COMMON)
    return beside + config.count(MICRO, ACCUMULATION) if beside > 1 else 0


def starts(launch: Launch) -> bool:
    """``trl TASK``, or a script of a task below accelerate that is handed a recipe."""
    program = launch.program or ""
    if program.startswith("trl "):
        return True
    recipe = next((argument.text or "" for argument in launch.arguments if argument.name == "config"), "")
    scripted = launch.launcher == "accelerate" and recipe.endswith((".yaml", ".yml"))
    return scripted and _SCRIPT.search(program) is not None


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; for completions also what one rollout must hold."""
    config = undashed(config)
    example = _limited(config, _of_task(launch, example_of(config)))
    batch = trainer_batch(config, launch, example)
    yield batch._replace(problems=(*batch.problems, *trl_checks.of(config, batch)))


def _of_task(launch: Launch, example: Example) -> Example:
    """The example of the program's task; the keys say more where they say anything."""
    task = _TASK.search(launch.program or "")
    if task is None or example.unit not in ("samples", "sequences"):
        return example
    if task[1] in ("grpo", "rloo"):
        return Example("completions")
    return Example("pairs", 2, example.length)


def _limited(config: Config, example: Example) -> Example:
    """The example with the reason why its length is not known, where the file sets no limit."""
    rows = example.unit == "samples" and config.count(*_ROWS) > 0
    if example.length is not None or not (rows or example.unit in ("sequences", "pairs")):
        return example
    set_to_null = config.count(*LENGTHS) > 0
    length = unknown(
        "the length limit is null: rows are not cut"
        if set_to_null
        else "max_length is not set, and its default has changed among trl's releases (1,024 in 1.16)",
        key="max_length",
    )
    return Example("sequences", 1, length) if rows else example._replace(length=length)


FRAMEWORK = Framework(
    name="trl",
    formula="per_device_train_batch_size x gradient_accumulation_steps x (processes // tp // cp // sp)",
    sources=(
        "huggingface/trl trl/trainer/grpo_config.py (GRPOConfig.__post_init__)",
        "huggingface/trl trl/trainer/sft_config.py",
        "huggingface/transformers src/transformers/trainer.py",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
)
