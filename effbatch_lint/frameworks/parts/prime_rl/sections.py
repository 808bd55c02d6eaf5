"""Which of prime-rl's files a config is, and its sections, over the releases.

Upstream: PrimeIntellect-ai/prime-rl, packages/prime-rl-configs (sft.py, rl.py, orchestrator.py); in 2025 src/prime_rl/rl.py
and src/prime_rl/orchestrator/config.py.

One file describes all of a run, or each process has its own (``rl --trainer @ train.toml --orchestrator @ orch.toml``). The
orchestrator's has the rollouts of a step at the top; the trainer's says nothing of the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

DATA = ("data.batch_size", "data.micro_batch_size", "data.seq_len")
GROUP = ("group_size", "rollouts_per_example")  # the second was its name up to May 2026
_WHOLE = frozenset((
    "data", "model", "optim", "ckpt", "deployment", "slurm", "monitors", "wandb", "trainer", "orchestrator", "inference",
    "scheduler", "renderer", "eval", "log", "weight_broadcast", "env_vars", "resume", "max_steps", "seq_len",
    "output_dir", "val", "loss", "bench", "profile", "run", "clean", "tokenizer", "rollout_transport", "dry_run",
    "matmul_precision", "memory_profiler_path", "gc", "trace_path", "dist_timeout_seconds", "heartbeat", "metrics_server",
    "enable_router_replay", "enable_token_export", "inference_gpu_ids", "trainer_gpu_ids", "teacher_gpu_ids",
    "max_async_level", "max_model_len", "teacher_inference", "clean_output_dir", "file_monitor", "experimental",
))  # fmt: skip
_ORCHESTRATOR = frozenset((
    "algo", "model", "train", "tokenizer", "renderer", "eval", "log", "env_vars", "monitors", "collect_inference_metrics",
    "inference_metrics_roles", "ckpt", "resume", "weight_broadcast", "rollout_transport", "output_dir", "tasks_per_minute",
    "env_server_base_port", "batch_size", "token_batch_size", "concurrency", "group_size", "seq_len", "num_train_workers",
    "pad_to_multiple_of", "max_steps", "max_off_policy_steps", "heartbeat", "pool_size", "optim", "pre_batch_filters",
    "post_batch_filters", "wandb", "prime_monitor", "file_monitor", "oversampling_factor", "max_inflight_episodes", "bench",
    "max_inflight_rollouts", "training_mode", "student", "teacher", "advantage", "env_install_prerelease", "experimental",
    "buffer", "filters", "max_async_level", "strict_async_level", "seed", "use_renderer", "client", "teacher_model",
    "teacher_rollout_model", "rollouts_per_example", "use_token_client", "use_sft_loss", "sampling", "env", "verification",
    "val", "max_concurrent", "reload_weights_on_start", "trajectory_strategy", "workers_per_env", "mask_env_responses",
    "lora_name", "env_mix", "mask_truncated_completions", "zero_truncated_completions", "environment", "length_bonus",
))  # fmt: skip


def sections(config: Config) -> set[str]:
    """The sections of a file, or of dotted flags."""
    return {key.partition(".")[0] for key in config.root.entries}


def whole(config: Config) -> bool:
    """Whether nothing stands in the config but sections of a file for all of a run, or for SFT."""
    return sections(config) <= _WHOLE


def orchestrators(config: Config) -> bool:
    """Whether it is the orchestrator's own file: the rollouts of a step, or the size of a group, beside a model."""
    return (
        config.path.endswith(".toml")
        and config.has("batch_size", "token_batch_size", *GROUP)
        and config.has("model.name", "env", "environment", "train", "sampling")
        and bool(config.count(*GROUP) or config.has("env", "environment.id", "train.source", "train.env"))
        and sections(config) <= _ORCHESTRATOR
    )


def trainer(config: Config) -> str | None:
    """``rl`` or ``sft``; None where nothing tells."""
    found = sections(config)
    if found & {"orchestrator", "trainer"} or orchestrators(config):
        return "rl"
    if "data" in found:
        return "sft"
    name = config.path.rpartition("/")[2].lower()
    return next((word for word in ("sft", "rl") if word in name), None)
