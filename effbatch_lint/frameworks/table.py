"""The frameworks, a line each: module name and its distinctive words.

The words do three jobs: a file whose bytes hold none of them is skipped unparsed; only modules whose words occur
are imported; and ``effbatch-lint frameworks`` shows them. So fifty frameworks cost a cold run no more than five.
A word must stand in every config of the framework that has a batch to check.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.frameworks.framework import Framework

TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("lightning", ("trainer:", '"trainer"', "lightning:", "base_learning_rate", "--trainer.", "accumulate_grad_batches")),
    ("fairseq", ("optimization:", "--max-tokens", "--max-sentences", "--update-freq")),
    ("nemo", ("model_parallel_size", "train_ds", "exp_manager")),
    ("nemo2", ("nemo.collections", "nemo.lightning", "nemo llm", "nemo vlm")),
    ("nemo_rl", ("train_global_batch_size",)),
    ("verl", ("actor_rollout_ref", "verl.", "partial_pretrain")),
    ("litgpt", ("micro_batch_size", "global_batch_size")),
    ("nanotron", ("batch_accumulation_per_replica",)),
    ("torchtitan", ("dump_folder", "flavor", "parallel_degree", "parallel_shard_degree", "local_batch_size",
                    "num_tokens_per_microbatch_per_dp_rank")),
    ("gpt_neox", (
        "pipe_parallel_size", "pipe-parallel-size", '"model_parallel_size', '"model-parallel-size',
        "lr_decay_style", "lr-decay-style", "global_num_gpus",
    )),
    ("megatron_deepspeed", (
        "--deepspeed_config", "--zero-stage", "--no-pipeline-parallel", "--ds-sequence-parallel-size",
        "--moe-expert-parallel-size", "--pp-partition-method",
    )),
    ("megatron_lm", ("--micro-batch-size", "--global-batch-size", "model_parallel:")),
    ("deepspeed", ("train_micro_batch_size_per_gpu", '"train_batch_size"', '"zero_optimization"', '"elasticity"')),
    ("accelerate", ("distributed_type",)),
    ("ai_toolkit", ("process:", '"process"')),
    ("areal", ("trial_name", "allocation_mode")),
    ("axolotl", ("base_model",)),
    ("hf_trainer", ("per_device_train_batch_size", "per-device-train-batch-size", "per_gpu_train_batch_size")),
    ("detectron2", ("IMS_PER_BATCH", "META_ARCHITECTURE", "_BASE_")),
    ("diffusers", ("--train_batch_size",)),
    ("espnet", ("accum_grad", "batch_bins", "batch_type", "iterator_type")),
    ("imaginaire", ("dataloader_train",)),
    ("kohya", ("pretrained_model_name_or_path", "subsets")),
    ("levanter", (" train_batch_size", "per_device_parallelism", "c=bf", "num_train_steps", "model_axis_size")),
    ("lingua", ("grad_acc_steps", "fsdp_type", "dp_replicate", "n_views")),
    ("llama_factory", ("finetuning_type", "finetuning-type", "cutoff_len", "cutoff-len", "train_dataset")),
    ("llm_foundry", ("global_train_batch_size", "device_train_microbatch_size")),
    ("maxtext", ("per_device_batch_size", "base_config", "max_target_length")),
    ("megatron_bridge", ("micro_batch_size", "global_batch_size")),
    ("ms_swift", ("tuner_type", "train_type", "sft_type", "rlhf_type", "split_dataset_ratio")),
    ("nemo_automodel", ("step_scheduler", "grad_accumulation_steps", "recipe_args")),
    ("olmo", ("global_train_batch_size", "device_train_microbatch_size", "rank_microbatch_size", "OLMO_TASK")),
    ("open_clip", ("open_clip_train", "--train-num-samples", "--accum-freq")),
    ("open_instruct", (
        "use_slow_tokenizer", "use-slow-tokenizer", "with_tracking", "hf_metadata_dataset", "mixer_list",
        "num_unique_prompts_rollout", "num_samples_per_prompt_rollout",
    )),
    ("openrlhf", ("openrlhf.cli", "openrlhf/cli", "--micro_train_batch_size", "--train.micro_batch_size")),
    ("prime_rl", (
        "[orchestrator", "[data]", "[deployment]", "[slurm]", "orchestrator.", "data.batch", "rollouts_per_example", "[[env]]",
        "[[train.",
    )),
    ("skyrl", ("policy_mini_batch_size", "micro_train_batch_size_per_gpu", "skyrl.train.", "skyrl_train.")),
    ("slime", ("--actor-num-nodes", "--actor-num-gpus-per-node", "--rollout-batch-size")),
    ("speechbrain", ("!ref <",)),
    ("timm", (
        "grad_accum_steps", "grad-accum-steps", "drop_path", "drop-path", "remode", "reprob", "lr_base", "lr-base",
        "sched:", "--sched",
    )),
    ("trl", (
        "per_device_train_batch_size", "per-device-train-batch-size", "gradient_accumulation_steps",
        "gradient-accumulation-steps",
    )),
    ("torchforge", ("procs:", "replay_buffer")),
    ("torchtune", ("_component_",)),
)  # fmt: skip

# Words of a launch line (launcher, program, names of flags) that tell a framework whose config need not be at hand:
# its `starts` then has the last word.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "axolotl": ("axolotl",),
    "diffusers": (
        "train_text_to_image", "train_dreambooth", "train_controlnet", "textual_inversion", "train_instruct_pix2pix",
        "train_unconditional", "train_lcm", "train_control_", "train_cogvideox", "train_t2i_adapter",
        "tutorial_train_", "train_custom_diffusion", "train_autoencoder", "train_cosmos", "train_sana",
        "train_diffusion_", "train_vqgan", "train_amused", "train_pixart", "train_multi_subject", "train_gligen",
        "train_realfill", "train_sdxl_lpl", "train_cm_ct",
    ),
    "fairseq": ("fairseq-train", "fairseq-hydra-train", "fairseq_cli"),
    "gpt_neox": ("deepy",),
    "kohya": ("train_network", "train_control_net", "train_textual_inversion", "_train.py"),
    "lingua": tuple(f"apps{at}{app}{at}train" for app in ("main", "mamba", "fastRNN", "mtp", "aunet") for at in "./"),
    "litgpt": ("litgpt",),
    "llm_foundry": ("composer",),
    "maxtext": ("maxtext.", "maxtext/", "MaxText.", "MaxText/"),
    "ms_swift": (
        "swift sft", "swift pt", "swift rlhf", "megatron sft", "megatron pt", "megatron rlhf", "swift/cli/",
        "swift.cli.",
    ),
    "olmo": ("scripts/train.py",),
    "open_clip": ("open_clip_train", "training.main", "training/main.py"),
    "open_instruct": ("open_instruct/", "open_instruct."),
    "openrlhf": ("openrlhf.cli", "openrlhf/cli"),
    "skyrl": ("skyrl.train.", "skyrl_train."),
    "torchtitan": ("torchtitan.train", "config_file"),
    "torchtune": ("_distributed", "_single_device"),
    "trl": ("trl ", "scripts/", "open_r1/"),
    "verl": ("verl.trainer.",),
}  # fmt: skip

_WORDS = tuple(dict.fromkeys(word.encode() for _, words in TABLE for word in words))


def may_be_training(data: bytes) -> bool:
    """Whether the bytes hold a word of any framework, or speak to this tool."""
    return any(word in data for word in _WORDS) or b"effbatch" in data


def candidates(*texts: str, line: str = "") -> list[Framework]:
    """The frameworks of which a word stands in one of the texts, or in a launch line, imported now."""
    named = {module for text in (*texts, line) for module in _named(text)}
    return [
        load(module)
        for module, _ in TABLE
        if module in named or (line and any(word in line for word in PROGRAMS.get(module, ())))
    ]


@lru_cache(maxsize=1_024)
def _named(text: str) -> tuple[str, ...]:
    """The modules of which a word stands in a text; the parts of a config tree are asked for with every run of it."""
    return tuple(module for module, words in TABLE if any(word in text for word in words))


def load(module: str) -> Framework:
    """The record of one framework."""
    found: Framework = import_module(f"effbatch_lint.frameworks.{module}").FRAMEWORK
    return found


def by_name(name: str) -> Framework | None:
    """The framework that users call ``name``, or None."""
    module = name.replace("-", "_")
    return load(module) if any(module == entry for entry, _ in TABLE) else None
