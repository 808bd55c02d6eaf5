"""Whether a rollout reaches every replica of every model, and no prompt of it is dropped.

Upstream: NovaSky-AI/SkyRL, skyrl/train/utils/utils.py (validate_batch_sizes: the least common multiple of the replicas),
skyrl/train/trainer.py (_remove_tail_data), skyrl/train/dataset/preprocess.py (compute_prompt_mini_batch_boundaries).
"""

from __future__ import annotations

from math import gcd, lcm
from typing import TYPE_CHECKING

from effbatch_lint.frameworks.parts.skyrl.layout import layout_of, placed
from effbatch_lint.frameworks.parts.skyrl.steps import refused
from effbatch_lint.terms import product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout, Problem
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch
    from effbatch_lint.terms import Term


def rollout_checks(config: Config, launch: Launch, policy: Layout) -> Iterator[Problem]:
    """A rollout must reach every replica of policy and reference, whichever are more."""
    rollout = config.integer("trainer.train_batch_size", default=1024)
    samples = config.integer("generator.n_samples_per_prompt", default=5)
    collected = product(rollout, samples)
    counts = [policy.replicas.value]
    if has_reference(config):
        counts.append(layout_of(config, "ref", product(*placed(config, "ref"))).replicas.value)
    known = [int(count) for count in counts if count]
    least = lcm(*known)
    if collected.value is not None and len(known) == len(counts) and collected.value < least:
        yield refused(
            "EB302",
            f"a rollout of {shown(rollout.value)} prompts x {shown(samples.value)} = {shown(collected.value)} completions is "
            f"less than {shown(least)}, the least common multiple of the models' replicas",
            rollout,
            samples,
            policy.world,
            help=f"collect {shown(least)} completions or more",
        )
    elif rollout.value and samples.value and len(known) == len(counts):
        yield from _tail(config, launch, rollout, samples, least)


def _tail(config: Config, launch: Launch, rollout: Term, samples: Term, least: int) -> Iterator[Problem]:
    """Prompts beyond a whole share of every model's replicas are dropped, and then the rollout is no longer whole.

    ``_remove_tail_data`` drops them; ``compute_prompt_mini_batch_boundaries`` asserts ``train_batch_size`` prompts (the
    package skyrl_train did not, and stops only where nothing is left). The fully asynchronous trainer drops none.
    """
    asynchronous = config.flag("trainer.fully_async.enabled") or "fully_async" in (launch.program or "")
    if asynchronous or config.text("trainer.algorithm.dynamic_sampling.type") not in (None, "null"):
        return
    stride = least // gcd(least, int(samples.value or 1))
    kept = int(rollout.value or 0) // stride * stride
    if kept == rollout.value or (kept and not (launch.program or "").startswith("skyrl.")):
        return
    yield refused(
        "EB302",
        f"of {shown(rollout.value)} prompts x {shown(samples.value)} completions only {shown(kept)} prompts can be spread "
        f"evenly over {shown(least)} replicas, the least common multiple of the models': the others are dropped, and "
        + ("the step stops at the number that is missing" if kept else "nothing is left to train on"),
        rollout,
        samples,
        help=f"set {rollout.key} to a multiple of {shown(stride)}",
    )


def has_reference(config: Config) -> bool:
    """Whether a reference model is placed beside the policy."""
    return config.flag("trainer.algorithm.use_kl_loss", default=True) or config.flag(
        "trainer.algorithm.use_kl_in_reward"
    )
