"""What one replica takes in a forward pass: rows, tokens, or whichever of the two caps is reached first.

Upstream: facebookresearch/fairseq, fairseq/data/data_utils_fast.pyx (batch_by_size_vec), fairseq/dataclass/configs.py
(DatasetConfig). A batch holds fewer rows than ``required_batch_size_multiple`` (8) or a multiple of it, and rows x
longest row is at most ``max_tokens``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.compose.config import Unresolved
from effbatch_lint.documents.nodes import Scalar
from effbatch_lint.terms import Term, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Unit
    from effbatch_lint.compose.config import Config

_TOKENS = ("dataset.max_tokens", "max-tokens")
_ROWS = ("dataset.batch_size", "batch-size", "max-sentences")
_MULTIPLE = ("dataset.required_batch_size_multiple", "required-batch-size-multiple")
_LENGTH = ("task.tokens_per_sample", "tokens-per-sample")
_LONGEST = (*_LENGTH, "task.max_sample_size", "max-sample-size")

# Tasks that cut a stream of tokens into rows, 1,024 tokens long unless told otherwise (fairseq/tasks).
_BLOCKS = ("language_modeling", "masked_lm", "span_masked_lm", "multilingual_language_modeling")
_UNITS: tuple[tuple[str, Unit], ...] = (
    ("image", "images"), ("audio", "utterances"), ("speech", "utterances"), ("hubert", "utterances"),
)  # fmt: skip


class Rows(NamedTuple):
    """The cap of one forward pass.

    Attributes:
        cap: rows, or padded tokens.
        unit: what ``cap`` counts.
        length: tokens of a row, where all rows have that limit.
        varies: whether fewer than ``cap`` x ``length`` tokens may be in it.
    """

    cap: Term
    unit: Unit
    length: Term | None = None
    varies: bool = True
    problems: tuple[Problem, ...] = ()


def rows(config: Config) -> Rows:
    """The batch of one replica and forward pass; a cap of 0 or below caps nothing."""
    tokens, asked = config.integer(*_TOKENS), config.integer(*_ROWS)
    capped = config.has(*_ROWS) and not _without_end(asked)
    if config.has(*_TOKENS) and not _without_end(tokens) and not (capped and _never_reached(config, tokens, asked)):
        return _both(tokens, asked) if capped else Rows(tokens, "tokens")
    if not capped and config.has(*_TOKENS, *_ROWS):
        written = asked if config.has(*_ROWS) else tokens
        reason = f"{written.key} is {shown(written.value)}, and nothing else caps what a replica takes"
        return Rows(unknown(reason, *written.origins, key=written.key), "tokens")
    if not capped and isinstance(config.value(*_TOKENS, *_ROWS), Unresolved):
        return Rows(tokens, "tokens")
    if not capped:
        return Rows(unknown("neither max_tokens nor batch_size is set"), "tokens", problems=(_neither(config),))
    return _counted(config, asked)


def _without_end(cap: Term) -> bool:
    return cap.value is not None and cap.value <= 0


def _counted(config: Config, asked: Term) -> Rows:
    task = _task(config)
    unit: Unit = next((unit for word, unit in _UNITS if word in task), "sequences")
    multiple = config.integer(*_MULTIPLE, default=8)
    fitting, problem = _cut(asked, multiple)
    length = None
    if config.has(*_LENGTH) or task in _BLOCKS:
        length = config.integer(*_LENGTH, default=1024)
    whole = config.text("task.sample_break_mode", "sample-break-mode") == "none"
    return Rows(fitting, unit, length, not whole, (problem,) if problem else ())


def _cut(asked: Term, multiple: Term) -> tuple[Term, Problem | None]:
    """Rows as they are: below the multiple, or a multiple of it."""
    if asked.value is None or not multiple.value or asked.value < multiple.value or asked.value % multiple.value == 0:
        return asked, None
    fitting = asked.value // multiple.value * multiple.value
    formula = f"{shown(asked.value)} cut to a multiple of {shown(multiple.value)}"
    term = Term(fitting, "derived", (*asked.origins, *multiple.origins), formula, None, asked.key)
    return term, Problem(
        "EB303",
        f"{asked.key} {shown(asked.value)} is cut to {shown(fitting)} rows: a batch larger than {multiple.key} "
        f"{shown(multiple.value)} holds a multiple of it",
        (asked, multiple),
        help=f"set {asked.key} to {shown(fitting)}, or {multiple.key} to a divisor of {shown(asked.value)}",
    )


def _never_reached(config: Config, tokens: Term, asked: Term) -> bool:
    """Whether the rows that are asked for never hold as many tokens as are allowed, however long they are."""
    most = product(asked, config.integer(*_LONGEST))
    return most.value is not None and tokens.value is not None and most.value <= tokens.value


def _both(tokens: Term, asked: Term) -> Rows:
    reason = (
        f"{tokens.key} {shown(tokens.value)} and {asked.key} {shown(asked.value)} both cap what a replica takes, and the "
        "lengths of the rows decide which is reached first"
    )
    return Rows(unknown(reason, *tokens.origins, *asked.origins, key=tokens.key), "tokens")


def _task(config: Config) -> str:
    """The task's name: ``task: masked_lm``, ``task._name``, or a flag."""
    return (config.text("task") if isinstance(config.node("task"), Scalar) else config.text("task._name")) or ""


def _neither(config: Config) -> Problem:
    return Problem(
        "EB304",
        "neither max_tokens nor batch_size is set, and fairseq asserts that one of them is",
        (config.integer(*_MULTIPLE, "optimization.update_freq.0"),),
        refuses=True,
        help="set dataset.max_tokens or dataset.batch_size",
    )
