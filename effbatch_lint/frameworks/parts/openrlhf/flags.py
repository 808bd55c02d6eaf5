"""OpenRLHF's flags under one name each: the dotted flags of today, and the flat ones of releases up to 0.10.1.

    --train.batch_size 128        since 0.10.2
    --train_batch_size 128        before

Upstream: OpenRLHF/OpenRLHF, openrlhf/cli/train_*.py (the parsers), openrlhf/utils/config.py (hierarchize). argparse also
takes the beginning of a flag that no other one shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.nodes import Entry, Mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term

# What one optimizer step is made of.
BATCH = {
    "train.batch_size": "train_batch_size",
    "train.micro_batch_size": "micro_train_batch_size",
    "rollout.batch_size": "rollout_batch_size",
    "rollout.micro_batch_size": "micro_rollout_batch_size",
    "rollout.n_samples_per_prompt": "n_samples_per_prompt",
    "ds.ring_attn_size": "ring_attn_size",
    "ds.tensor_parallel_size": "ds_tensor_parallel_size",
    "actor.num_nodes": "actor_num_nodes",
    "actor.num_gpus_per_node": "actor_num_gpus_per_node",
}
_FLAT = {
    **BATCH,
    "critic.num_nodes": "critic_num_nodes",
    "critic.num_gpus_per_node": "critic_num_gpus_per_node",
    "ref.num_nodes": "ref_num_nodes",
    "ref.num_gpus_per_node": "ref_num_gpus_per_node",
    "reward.num_nodes": "reward_num_nodes",
    "reward.num_gpus_per_node": "reward_num_gpus_per_node",
    "vllm.num_engines": "vllm_num_engines",
    "vllm.tensor_parallel_size": "vllm_tensor_parallel_size",
    "vllm.enable_sleep": "vllm_enable_sleep",
    "rollout.vllm_generate_batch_size": "vllm_generate_batch_size",
    "train.max_tokens_per_gpu": "train_max_tokens_per_gpu",
    "train.dynamic_batch_enable": "use_dynamic_batch",
    "train.async_enable": "async_train",
    "train.partial_rollout_enable": "partial_rollout",
    "train.colocate_all": "colocate_all_models",
    "train.colocate_actor_ref": "colocate_actor_ref",
    "train.colocate_critic_reward": "colocate_critic_reward",
    "train.agent_func_path": "agent_func_path",
    "reward.remote_url": "remote_rm_url",
    "algo.advantage.estimator": "advantage_estimator",
    "algo.kl.init_coef": "init_kl_coef",
    "algo.dynamic_filtering_enable": "dynamic_filtering",
    "algo.dynamic_filtering_range": "dynamic_filtering_reward_range",
    "ds.packing_samples": "packing_samples",
    "ds.param_dtype": "param_dtype",
    "data.max_len": "max_len",
    "data.max_images_per_prompt": "max_images_per_prompt",
}
_SECTIONS = ("train", "rollout", "ds", "data", "ckpt", "model", "actor", "algo", "vllm")
# Flags that share the beginning of one of BATCH, so that it alone says nothing.
_NEIGHBOURS = (
    "train.max_epochs", "train_split", "rollout.max_new_tokens", "ds.ring_attn_head_stride", "ring_head_stride",
    "rollout_max_tokens_per_gpu", "train_max_tokens_per_gpu", "actor_init_on_gpu", "actor_learning_rate",
)  # fmt: skip
# Flags that only the parsers before 0.10.0 have, and only those of 0.10.0 and 0.10.1.
_BEFORE_0_10 = ("prompt_max_len", "generate_max_len", "bf16", "flash_attn", "pretrain_data")
_OF_0_10 = ("max_images_per_prompt", "image_key", "freeze_visual_encoder")


class Flags(NamedTuple):
    """The flags of one run, read by their dotted names; a term's key is the flag as this run spells it."""

    config: Config
    dotted: bool

    def name(self, dotted: str) -> str:
        """The flag as this run's release spells it."""
        return dotted if self.dotted else _FLAT[dotted]

    def integer(self, dotted: str, default: int | None = None) -> Term:
        """The whole number of a flag."""
        return self.config.integer(self.name(dotted), default=default)

    def given(self, dotted: str) -> bool:
        """Whether the flag stands on the line."""
        return self.config.has(self.name(dotted))

    def on(self, dotted: str) -> bool:
        """Whether a switch is set."""
        return self.config.flag(self.name(dotted))

    def text(self, dotted: str) -> str | None:
        """The value as it is written."""
        return self.config.text(self.name(dotted))

    def place(self, dotted: str) -> Term:
        """Where a flag stands whose value is no number, for a message."""
        return self.config.place(self.name(dotted))

    @property
    def release(self) -> str:
        """Which parsers know these flags, as far as the flags tell: ``dotted``, ``0.10``, ``before 0.10``, ``flat``."""
        if self.dotted:
            return "dotted"
        if self.config.count(*_OF_0_10):
            return "0.10"
        return "before 0.10" if self.config.count(*_BEFORE_0_10) else "flat"

    @property
    def strangers(self) -> tuple[str, ...]:
        """Flags of a batch in the spelling of the other releases, which this run's parser does not know."""
        return tuple(
            other
            for dotted, flat in BATCH.items()
            for other in (flat if self.dotted else dotted,)
            if self.config.count(other)
        )


def flags(config: Config) -> Flags:
    """The flags of a launch line, abbreviations written out; there is no config file."""
    config = config.over(_written_out(config.root), config.prefix).of_line()
    old = sum(config.count(flat) for flat in BATCH.values())
    new = sum(config.count(dotted) for dotted in BATCH)
    sections = any(isinstance(config.node(section), Mapping) for section in _SECTIONS)
    return Flags(config, dotted=new > old or (new == old and (sections or not old)))


def _written_out(root: Mapping) -> Mapping:
    """The tree with its abbreviated batch flags under their whole names; the tree itself where there are none."""
    every = (*BATCH, *BATCH.values(), *_NEIGHBOURS)
    whole: dict[str, Entry] = {}
    for name, entry in _named(root):
        meant = [flag for flag in every if flag.startswith(name)]
        if len(meant) == 1 and meant[0] != name and meant[0] not in _NEIGHBOURS:
            whole[meant[0]] = entry
    if not whole:
        return root
    return Mapping(lambda: ({**whole, **root.entries}, root.duplicates), root.span)


def _named(root: Mapping) -> Iterator[tuple[str, Entry]]:
    """The flags by name: a dotted one stands in its section."""
    for key, entry in root.entries.items():
        if key in _SECTIONS and isinstance(entry.value, Mapping):
            yield from ((f"{key}.{name}", flag) for name, flag in entry.value.entries.items())
        else:
            yield key, entry
