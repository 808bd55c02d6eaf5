"""open_clip's NaFlex loader: rows of a drawn sequence length, as many as a token budget holds.

Upstream: mlfoundations/open_clip, src/open_clip_train/params.py (which models imply it), naflex_data.py
(NaFlexBatchScheduler). A row of GenLIP also costs the tokens of its caption, whose limit is the model's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.naflex_rows import DIVISOR, lengths_of, naflex_rows
from effbatch_lint.frameworks.parts.several import several
from effbatch_lint.terms import Term, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config

_BUDGET, _DIVISOR, _LENGTHS = "naflex-max-tokens-per-batch", "naflex-batch-divisor", "naflex-seq-lens"


def is_naflex(config: Config) -> bool:
    """Whether the loader is NaFlex's: asked for, or implied by the model."""
    return config.flag("use-naflex") or any(name in _model(config) for name in ("genlip", "genlap", "naflexclap"))


def generative(config: Config) -> str | None:
    """A model that is trained without a contrastive loss."""
    return next((name for name in ("genlip", "genlap") if name in _model(config)), None)


def rows(config: Config) -> Term:
    """The rows of one batch of one process: fixed where all batches have one sequence length."""
    budget, divisor = config.integer(_BUDGET, default=16384), config.integer(_DIVISOR, default=DIVISOR)
    lengths = lengths_of(several(config, _LENGTHS))
    if generative(config) is not None or len(lengths) != 1:
        drawn = "what a row costs" if len(lengths) == 1 else "the sequence length that is drawn for each batch"
        reason = f"a NaFlex batch holds as many rows as {budget.key} {shown(budget.value)} gives for {drawn}"
        return unknown(reason, *budget.origins, key="batch-size")
    return naflex_rows(budget, lengths[0], divisor).named(_BUDGET)


def ignored(config: Config, batch_size: Term) -> Iterator[Problem]:
    """``--batch-size`` sizes no batch; the loss may be scaled by it."""
    if batch_size.known and config.text("naflex-loss-scale") in (None, "none"):
        yield Problem(
            "EB305",
            f"--batch-size {shown(batch_size.value)} has no effect: NaFlex batches follow --{_BUDGET}",
            (batch_size,),
            help=f"set --{_BUDGET}, and remove --batch-size",
        )


def _model(config: Config) -> str:
    return (config.text("model") or "").lower()
