"""What one row of an ms-swift data set is: a sequence, a preference pair, a completion.

Upstream: modelscope/ms-swift, swift/arguments/rlhf_args.py (rlhf_type), swift/arguments/base_args/base_args.py (max_length:
the model's own limit when it is not set; packing_length), swift/template/base.py (longer rows are dropped or cut).
2.x: swift/llm/utils/argument.py (max_length 2048, -1 for none).

Packing fills rows up to ``packing_length``, seldom quite. The prompt of a GRPO row has a limit and the completion has
one, and a conversation of several turns has neither: their tokens are not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.frameworks.parts.trainer.example import Example
from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_PAIRS = frozenset(("dpo", "orpo", "simpo", "cpo", "rm"))
_SEVERAL = frozenset(("embedding", "reranker", "generative_reranker"))


def example_of(config: Config, kind: str | None) -> Example:
    """The row that B counts; ``kind`` is the ``rlhf_type``, None for sft and pt."""
    if kind == "grpo":
        return Example("completions", per_prompt=config.integer("num_generations", default=8))
    if kind == "ppo" or (kind == "gkd" and config.text("lmbda") not in ("0", "0.0")):
        return Example("completions")
    if kind in _PAIRS:
        return Example("pairs", 2, row_limit(config))
    if config.text("task_type") in _SEVERAL:
        return Example("samples", 1, row_limit(config))
    return Example("sequences", 1, row_limit(config))


def tokens_of(config: Config, example: Example) -> Term | None:
    """T where it is not B x L: the sequences of an embedding row are as many as its negatives."""
    if example.unit != "samples":
        return None
    return unknown(f"a row of task_type {config.text('task_type')} is several sequences, as many as it has negatives")


def row_limit(config: Config) -> Term:
    """The tokens of a row, at most."""
    if config.flag("packing") and config.has("packing_length"):
        return config.integer("packing_length")
    limit = config.integer("max_length", default=2048)
    if limit.how == "default" and not config.has("sft_type"):
        return unknown("max_length is not set: it is the model's own limit", key="max_length")
    if limit.value == -1:
        return unknown("max_length is -1: rows have no limit", *limit.origins, key="max_length")
    return limit
