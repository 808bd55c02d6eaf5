"""What NeMo-RL refuses: two or no backends, a rollout that holds no whole number of batches, and versions of those.

Upstream: NVIDIA-NeMo/RL (2026-08), nemo_rl/models/policy/lm_policy.py (Policy.__init__), nemo_rl/algorithms/grpo.py and
ppo.py (setup), nemo_rl/distributed/batched_data_dict.py (shard_by_batch_size).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.compose.config import Unresolved
from effbatch_lint.terms import Term, exact, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

# The defaults of the pydantic sections: prompts of a rollout, generations of a prompt.
_ROLLOUT = {"grpo": (32, 16), "ppo": (32, 16), "distillation": (128, 1)}
_ACCURATE_TENSOR = 4
_IGNORE = "NRL_IGNORE_TP_ACCURACY_CHECK"


def checks(config: Config, model: str, algorithm: str, layout: Layout, launch: Launch) -> Iterator[Problem]:
    """The refusals beside the division of the batch."""
    yield from _backends(config, model)
    total, micro = config.integer(f"{model}.train_global_batch_size"), config.integer(f"{model}.train_micro_batch_size")
    if algorithm in _ROLLOUT and not config.has("teachers"):
        yield from _rollout(config, algorithm, total)
    yield from _accuracy(config, model, micro, layout, launch)
    if config.flag(f"{model}.dynamic_batching.enabled"):
        yield from _dynamic(config, model, layout)
    replicate = config.integer(f"{model}.dtensor_cfg.dp_replicate_size", default=1)
    if (replicate.value or 1) > 1 and not config.flag(f"{model}.dtensor_cfg._v2"):
        yield _refused(f"{replicate.key} {shown(replicate.value)} needs {model}.dtensor_cfg._v2: true", replicate)


def _accuracy(config: Config, model: str, micro: Term, layout: Layout, launch: Launch) -> Iterator[Problem]:
    """Log-probabilities depend on the micro batch under four-fold tensor parallelism; a variable passes over the check.

    A file does not say whether the variable is set: the launch line does.
    """
    passed_over = launch.launcher is None or _IGNORE in launch.environment
    logprob = config.integer(f"{model}.logprob_batch_size")
    large = layout.tensor.value is not None and layout.tensor.value >= _ACCURATE_TENSOR
    if passed_over or not large or config.flag("loss_fn.force_on_policy_ratio"):
        return
    if logprob.known and micro.known and logprob.value != micro.value:
        yield _refused(
            f"{micro.key} is {shown(micro.value)} and {logprob.key} {shown(logprob.value)}: they must be one number where "
            f"{layout.tensor.key} is {_ACCURATE_TENSOR} or more",
            micro,
            logprob,
            layout.tensor,
            help=f"set {logprob.key} to {shown(micro.value)}, or {_IGNORE}=1",
        )


def division_checks(total: Term, replicas: Term) -> Iterator[Problem]:
    """A batch of packed micro batches has only to be divided among the replicas."""
    if total.value is not None and replicas.value and not exact(total, replicas).known:
        below = total.value // replicas.value * replicas.value
        yield Problem(
            "EB302",
            f"{total.key} {shown(total.value)} is not divisible by {shown(replicas.value)} replicas",
            (total, replicas),
            refuses=True,
            help=f"set it to {' or '.join(shown(size) for size in (below, below + replicas.value) if size)}",
        )


def _backends(config: Config, model: str) -> Iterator[Problem]:
    megatron, dtensor = f"{model}.megatron_cfg.enabled", f"{model}.dtensor_cfg.enabled"
    if config.flag(megatron) and config.flag(dtensor):
        yield _refused(
            f"{megatron} and {dtensor} are both true: one backend trains the {model}",
            config.place(megatron),
            config.place(dtensor),
            help="set one of them to false",
        )
    elif not any(isinstance(config.value(key), Unresolved) or config.flag(key) for key in (megatron, dtensor)):
        yield _refused(
            f"neither {megatron} nor {dtensor} is true: a backend has to train the {model}",
            config.place(dtensor),
            config.place(megatron),
            help=f"set {dtensor} or {megatron} to true",
        )


def _rollout(config: Config, algorithm: str, total: Term) -> Iterator[Problem]:
    prompts_default, generations_default = _ROLLOUT[algorithm]
    prompts = config.integer(f"{algorithm}.num_prompts_per_step", default=prompts_default)
    generations = config.integer(f"{algorithm}.num_generations_per_prompt", default=generations_default)
    rollout = product(prompts, generations)
    multiplier = config.value(f"{algorithm}.batch_multiplier")
    if (
        isinstance(multiplier, (int, float))
        and multiplier != 1
        and not config.flag(f"{algorithm}.use_dynamic_sampling")
    ):
        yield _refused(
            f"{algorithm}.batch_multiplier is {multiplier}, and needs use_dynamic_sampling",
            config.place(f"{algorithm}.batch_multiplier"),
        )
    if rollout.value is None or not total.value or rollout.value == total.value:
        return
    split = (
        f"{shown(prompts.value)} prompts x {shown(generations.value)} generations = {shown(rollout.value)} completions"
    )
    if config.flag("loss_fn.force_on_policy_ratio"):
        yield _contradiction(
            f"loss_fn.force_on_policy_ratio trains a rollout in one step, and {split} are not {total.key} "
            f"{shown(total.value)}",
            total,
            prompts,
            generations,
            help=f"set {total.key} to {shown(rollout.value)}",
        )
    elif rollout.value % total.value:
        yield _contradiction(
            f"a rollout of {split} is no whole number of batches of {shown(total.value)} ({total.key})",
            total,
            prompts,
            generations,
            help=f"set {total.key} to {shown(rollout.value)} or a divisor of it",
        )


def _dynamic(config: Config, model: str, layout: Layout) -> Iterator[Problem]:
    if layout.pipeline.value not in (None, 1):
        yield _refused(
            f"{model}.dynamic_batching needs one pipeline stage, and {layout.pipeline.key} is "
            f"{shown(layout.pipeline.value)}",
            layout.pipeline,
        )
    if config.flag(f"{model}.sequence_packing.enabled"):
        yield _refused(
            f"{model}.dynamic_batching and {model}.sequence_packing are both on: one excludes the other",
            config.place(f"{model}.dynamic_batching.enabled"),
            config.place(f"{model}.sequence_packing.enabled"),
        )


def _refused(message: str, *terms: Term, help: str | None = None) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)


def _contradiction(message: str, *terms: Term, help: str) -> Problem:
    return Problem("EB301", message, terms, refuses=True, help=help)
