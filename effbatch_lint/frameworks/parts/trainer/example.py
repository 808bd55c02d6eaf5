"""What one example of a Trainer data set is: a sequence, a preference pair, a completion. The script decides it.

Upstream: huggingface/trl, trl/trainer/*_config.py (the keys of each trainer), hiyouga/LLaMA-Factory,
src/llamafactory/hparams/finetuning_args.py (``stage``), transformers/examples/pytorch (``block_size``).

Trainer counts examples and knows no sequence length. The keys beside its own tell the kind; where they do not (a
``beta`` alone is DPO's, KTO's, ORPO's or GRPO's), examples stay samples, and no tokens are counted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term

COMPLETIONS = ("num_generations", "max_completion_length", "reward_funcs", "steps_per_generation")
PAIRS = ("max_prompt_length", "loss_type", "cpo_alpha", "simpo_gamma", "ref_model_mixup_alpha", "rpo_alpha")
# trl's reward trainer, and the reward model of DeepSpeed-Chat (which pads OPT's rows at their beginning).
REWARD = ("center_rewards_coefficient", "num_padding_at_beginning")
LABELLED = ("desirable_weight", "undesirable_weight")
# Its folders, and the outputs that its scripts write: step1 is supervised, step2 is the reward model's or DPO.
_CHAT_STEP = re.compile(r"(?<![a-z0-9])step([12])_")
LENGTHS = ("max_seq_length", "max_length", "cutoff_len", "model_max_length", "block_size", "max_seq_len")


class Example(NamedTuple):
    """The unit of B, the sequences in one example, their length limit, and whether rows are filled up to it."""

    unit: Unit
    sequences: int = 1
    length: Term | None = None
    bound: Literal["exact", "at most"] = "at most"
    per_prompt: Term | None = None


def example_of(config: Config) -> Example:
    """The kind of example that the keys beside Trainer's tell."""
    stage, loss = config.text("stage"), config.text("loss_type")
    length = _length(config)
    if config.count(*COMPLETIONS):
        # The prompt has no limit of its own in a GRPOConfig: a completion's tokens cannot be bounded.
        group = config.integer("num_generations") if config.has("num_generations") else None
        return Example("completions", per_prompt=group)
    if stage in ("dpo", "rm") or config.has(*REWARD):
        return Example("pairs", 2, length)
    if config.has("beta") and not (loss == "kto" or config.count(*LABELLED)):
        return Example("pairs", 2, length) if config.count(*PAIRS) else Example("samples")
    if length is None and stage is None:
        return Example("samples")
    filled = stage == "pt" or config.has("block_size") or config.text("packing_strategy") == "wrapped"
    return Example("sequences", 1, length, "exact" if filled else "at most")


def chat_step(config: Config, program: str | None) -> str | None:
    """Which step of DeepSpeed-Chat a run of its flags is: ``1``, ``2``, ``?``; None for the runs of other programs.

    Upstream: deepspeedai/DeepSpeedExamples, applications/DeepSpeed-Chat/training/step*/main.py: each takes the same flags,
    and that of DPO and the reward model puts the chosen and the rejected answer of a row into the batch
    (dschat/utils/data/data_utils.py, DataCollatorReward).
    """
    if not (config.has("data_split") and config.has("data_path") and config.has("max_seq_len")):
        return None
    found = {
        step
        for text in (config.path, program or "", config.text("output_dir") or "")
        for step in _CHAT_STEP.findall(text)
    }
    return found.pop() if len(found) == 1 else "?"


def _length(config: Config) -> Term | None:
    return config.integer(*LENGTHS) if config.has(*LENGTHS) and not config.has("max_duration_in_seconds") else None
