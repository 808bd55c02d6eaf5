"""What OpenRLHF asserts at start.

Upstream: OpenRLHF/OpenRLHF, openrlhf/cli/train_sft.py, train_dpo.py, train_rm.py, train_ppo_ray.py, and
openrlhf/utils/deepspeed/deepspeed.py (tensor parallelism). A check that came with a release is made where the flags tell
that release; flat flags often leave it open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, floor, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.frameworks.parts.openrlhf.flags import Flags

# Estimators that compare the completions of one prompt; dr_grpo is as old as the dotted flags.
_GROUPS = ("rloo", "reinforce_baseline", "group_norm", "dr_grpo")


def checks(found: Flags, layout: Layout) -> Iterator[Problem]:
    """The checks of every trainer; PPO packs by itself where a ring needs it."""
    yield from _parser(found)
    yield from _tensor(found, layout)
    if (layout.context.value or 1) > 1 and not found.on("ds.packing_samples"):
        packing = f"--{found.name('ds.packing_samples')}"
        yield _refused(
            f"{layout.context.key} is {shown(layout.context.value)}, and ring attention needs {packing}",
            layout.context,
            help=f"add {packing}, or set {layout.context.key} to 1",
        )


def rl_checks(found: Flags, layout: Layout) -> Iterator[Problem]:
    """The checks of PPO and its relatives."""
    yield from _parser(found)
    yield from _tensor(found, layout)
    yield from _samples(found)
    yield from _generation(found)
    yield from _together(found)
    yield from _images(found)
    yield from _shares(found, layout)


def _refused(message: str, *terms: Term, help: str) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)


def _parser(found: Flags) -> Iterator[Problem]:
    """A line in two dialects: argparse knows one of them."""
    for other in found.strangers:
        of = "releases up to 0.10.1" if found.dotted else "releases since 0.10.2"
        yield _refused(
            f"--{other} is a flag of {of}, and others of this line are of the other releases: argparse stops at one of them",
            found.config.integer(other),
            help="write all flags as one release has them: --train.batch_size since 0.10.2, --train_batch_size before",
        )


def _tensor(found: Flags, layout: Layout) -> Iterator[Problem]:
    """DeepSpeed's AutoTP runs in bf16 alone; before 0.9.0 (``--flash_attn``) that took a flag."""
    dtype, config = found.text("ds.param_dtype"), found.config
    half = dtype == "fp16" or (not found.dotted and config.has("flash_attn") and not (config.flag("bf16") or dtype))
    if (layout.tensor.value or 1) > 1 and half:
        wanted = f"--{found.name('ds.param_dtype')} bf16" if dtype else "--bf16"
        yield _refused(
            f"{layout.tensor.key} is {shown(layout.tensor.value)}, and tensor parallelism needs {wanted}",
            layout.tensor,
            help=f"write {wanted}",
        )


def _samples(found: Flags) -> Iterator[Problem]:
    """One completion a prompt has nothing to be compared with."""
    samples = found.integer("rollout.n_samples_per_prompt", default=1)
    if samples.value is None or samples.value > 1:
        return
    estimator = found.text("algo.advantage.estimator")
    if estimator in _GROUPS and (found.dotted or estimator != "dr_grpo"):
        yield _refused(
            f"{found.name('algo.advantage.estimator')} {estimator} needs {samples.key} over 1, and it is "
            f"{shown(samples.value)}",
            samples,
            found.place("algo.advantage.estimator"),
            help=f"set {samples.key} to 2 or more",
        )
    elif found.on("algo.dynamic_filtering_enable"):
        yield _refused(
            f"{found.name('algo.dynamic_filtering_enable')} needs {samples.key} over 1, and it is {shown(samples.value)}",
            samples,
            found.place("algo.dynamic_filtering_enable"),
            help=f"set {samples.key} to 2 or more",
        )


def _generation(found: Flags) -> Iterator[Problem]:
    """vLLM, filtering and the asynchronous trainer."""
    if found.on("algo.dynamic_filtering_enable") and not (
        found.given("reward.remote_url") or found.given("train.agent_func_path")
    ):
        yield _refused(
            f"{found.name('algo.dynamic_filtering_enable')} needs a reward function: {found.name('reward.remote_url')} or "
            f"{found.name('train.agent_func_path')}",
            found.place("algo.dynamic_filtering_enable"),
            help=f"add --{found.name('reward.remote_url')}",
        )
    asynchronous = found.on("train.async_enable")
    if found.on("train.partial_rollout_enable") and not asynchronous:
        yield _needs_async(found, found.place("train.partial_rollout_enable"), "")
    generated = found.integer("rollout.vllm_generate_batch_size")
    prompts = found.integer("rollout.batch_size", default=1024)
    if found.dotted and not asynchronous and generated.value and prompts.value and generated.value > prompts.value:
        over = f" {shown(generated.value)} is over {prompts.key} {shown(prompts.value)}, which"
        yield _needs_async(found, generated, over)
    if asynchronous and found.on("vllm.enable_sleep") and found.on("train.colocate_all"):
        sleep = found.place("vllm.enable_sleep")
        yield _refused(
            f"{sleep.key} and {found.name('train.async_enable')} exclude each other",
            sleep,
            help=f"remove --{sleep.key}",
        )


def _needs_async(found: Flags, flag: Term, why: str) -> Problem:
    needed = f"--{found.name('train.async_enable')}"
    return _refused(f"{flag.key}{why} needs {needed}", flag, help=f"add {needed}")


def _together(found: Flags) -> Iterator[Problem]:
    """Models on the same devices have the same number of them."""
    actor = _devices(found, "actor")
    engines = found.integer("vllm.num_engines", default=0)
    if found.on("train.colocate_all") and not found.on("train.async_enable") and engines.value:
        each = found.integer("vllm.tensor_parallel_size", default=1)
        generating = product(engines, each)
        if actor.known and generating.known and actor.value != generating.value:
            yield _refused(
                f"{found.name('train.colocate_all')}: the actor has {shown(actor.value)} devices, and {engines.key} "
                f"{shown(engines.value)} x {each.key} {shown(each.value)} = {shown(generating.value)}",
                *_terms(found, "actor"),
                engines,
                each,
                help=f"let {engines.key} x {each.key} be {shown(actor.value)}",
            )
    with_reference = found.config.value(found.name("algo.kl.init_coef")) != 0
    if with_reference and (found.on("train.colocate_actor_ref") or found.on("train.colocate_all")):
        yield from _unequal(found, "actor", "ref")
    if found.on("train.colocate_critic_reward") and (found.text("algo.advantage.estimator") or "gae") == "gae":
        yield from _unequal(found, "critic", "reward")


def _unequal(found: Flags, first: str, second: str) -> Iterator[Problem]:
    for one, other in zip(_terms(found, first), _terms(found, second), strict=True):
        if one.known and other.known and one.value != other.value:
            yield _refused(
                f"{first} and {second} share their devices, and {one.key} is {shown(one.value)}, {other.key} "
                f"{shown(other.value)}",
                one,
                other,
                help=f"set {other.key} to {shown(one.value)}",
            )
            return


def _terms(found: Flags, role: str) -> tuple[Term, Term]:
    return found.integer(f"{role}.num_nodes", default=1), found.integer(f"{role}.num_gpus_per_node", default=8)


def _devices(found: Flags, role: str) -> Term:
    return product(*_terms(found, role))


def _images(found: Flags) -> Iterator[Problem]:
    images = found.integer("data.max_images_per_prompt", default=0)
    if not images.value:
        return
    if (found.text("algo.advantage.estimator") or "gae") == "gae":
        yield _refused(
            f"{images.key} is {shown(images.value)}, and images are trained without a critic: "
            f"{found.name('algo.advantage.estimator')} must not be gae",
            images,
            help=f"set --{found.name('algo.advantage.estimator')} reinforce_baseline, rloo or group_norm",
        )
    if found.on("ds.packing_samples"):
        packing = found.place("ds.packing_samples")
        yield _refused(
            f"{images.key} is {shown(images.value)}, and images are not packed: {packing.key}",
            packing,
            images,
            help=f"remove --{packing.key}",
        )


def _shares(found: Flags, layout: Layout) -> Iterator[Problem]:
    """Packing needs vLLM; and every replica is given a micro batch of the rollout at least (since 0.7.2)."""
    packs = found.on("ds.packing_samples") or found.on("train.dynamic_batch_enable")
    engines = found.integer("vllm.num_engines", default=0)
    if packs and engines.value == 0:
        yield _refused(
            f"{found.name('ds.packing_samples')} needs vLLM, and {engines.key} is {'0' if engines.origins else 'not set'}",
            engines if engines.origins else found.place("ds.packing_samples"),
            help=f"set --{engines.key}",
        )
    default = {"dotted": 1, "0.10": 1, "before 0.10": 8}.get(found.release)
    micro = found.integer("rollout.micro_batch_size", default=default)
    prompts = found.integer("rollout.batch_size", default=1024)
    samples = found.integer("rollout.n_samples_per_prompt", default=1)
    batches = floor(product(prompts, samples), micro)
    if found.config.has("flash_attn") or batches.value is None or not layout.replicas.value:
        return
    if batches.value < layout.replicas.value:
        yield _refused(
            f"a rollout of {shown(prompts.value)} prompts x {shown(samples.value)} is {shown(batches.value)} batches of "
            f"{micro.key} {shown(micro.value)}, fewer than the actor's {shown(layout.replicas.value)} replicas",
            prompts,
            samples,
            micro,
            help=f"collect {shown(product(micro, layout.replicas).value)} completions or more",
        )
