"""What comments claim of the batch: ``8 GPUs x 2 x 8 = 128``, ``effective batch size 128 with 4 nodes``, ``GBS 128``.

A claim says a total, or factors whose product is the batch, or for how many devices the file is made. Precision comes
before recall: a sentence that speaks of the past, of advice, of another model or of anything but training is no claim,
and neither is a sentence in which one word of its arithmetic is not understood.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.source import Source, Span
    from effbatch_lint.targets.quantity import Quantity
    from effbatch_lint.targets.remarks.words import Meaning


class Factor(NamedTuple):
    """A number of a claimed product, and what it counts where the comment says so."""

    value: Quantity
    meaning: Meaning | None = None


class Claim(NamedTuple):
    """What one comment claims.

    Attributes:
        text: the words that were read.
        span: where they stand (their first line).
        total: items per optimizer step, with the unit where the comment names it.
        tokens: tokens per optimizer step.
        factors: the factors that are named or multiplied, in order.
        devices: accelerators for which it is claimed; several when the words leave open how they are meant.
        nodes: machines for which it is claimed, where the comment does not say how many devices each has.
        ambiguous: whether the total is only called ``batch size``, which may mean one device's.
        set_up: whether it says that the file is made for these devices (``preset for``), not where it once ran.
        beside_key: whether it trails a key that counts a batch or a part of one.
        block: claims of one block of comments have the same number: they may be alternatives.
    """

    text: str
    span: Span
    total: Quantity | None = None
    tokens: Quantity | None = None
    factors: tuple[Factor, ...] = ()
    devices: tuple[int, ...] = ()
    nodes: int | None = None
    ambiguous: bool = False
    set_up: bool = False
    beside_key: bool = False
    block: int = 0

    @property
    def only_per_device(self) -> bool:
        """Whether it says nothing but what one device takes (``batch size 4 per GPU``)."""
        meanings = {factor.meaning for factor in self.factors}
        return self.total is None and self.tokens is None and meanings == {"per device"}

    @property
    def only_devices(self) -> bool:
        """Whether it says nothing but for how many devices the file is made (``preset for 64 A100``)."""
        return self.total is None and self.tokens is None and not self.factors


# A line whose comment has no digit, and none of these words before or behind the marker, makes no claim.
_BATCH_WORDS = (
    "batch",
    "gbs",
    "mbs",
    "bsz",
    "bs ",
    "bs=",
    "accum",
    "effective",
    "per step",
    "/step",
    "per update",
    "批",
)
_DEVICE_WORDS = ("gpu", "device", "node", "00", "card", "chip", "accelerator", "卡")
_MADE_FOR = ("=", "preset", "set up", "setup", "designed", "config", "assum", "train")
_DIRECTIVES = ("#SBATCH", "#PBS", "#BSUB")
_DIGIT = re.compile("[0-9]")
_MARKER = re.compile(r"(?:^|(?<=\s))(?:#|//)+[ \t]*(?P<text>.*)")


_MOST = 200


@lru_cache(maxsize=512)
def find_claims(source: Source, kind: str) -> tuple[Claim, ...]:
    """The claims in the comments of a file of ``kind`` yaml, toml, json or shell, in order.

    Nearly every file makes none: its lines are looked over, then what looks like a comment is read, and only where that
    makes a claim is the file scanned for what really is a comment. The parts of a config tree are asked for with every
    run of it.
    """
    lines = source.text.split("\n")
    candidates = [number for number, line in enumerate(lines) if ("#" in line or "//" in line) and may_claim(line)]
    if not candidates or len(candidates) > _MOST:
        return ()  # none, or a file that somebody's program writes
    from effbatch_lint.documents.comments import Comment, comments  # noqa: PLC0415 - as the docstring says
    from effbatch_lint.targets.remarks.reading import claims  # noqa: PLC0415 - as the docstring says

    rough = []
    for number in _with_neighbours(lines, candidates):
        match = _MARKER.search(lines[number])
        if match is not None:
            span = source.span(number + 1, match.start("text") + 1, len(match["text"]))
            rough.append(Comment(match["text"].rstrip(), span, lines[number][: match.start()].strip()))
    return tuple(claims(comments(source, kind))) if claims(rough) else ()


def may_claim(line: str) -> bool:
    """Whether a line with a comment is worth reading: there is a number in it, and a word of ours."""
    if _DIGIT.search(line) is None or "effbatch:" in line or line.startswith(_DIRECTIVES):
        return False  # what speaks to this tool or to a scheduler is no remark
    lower = line.lower()
    if any(map(lower.__contains__, _BATCH_WORDS)):
        return True
    return any(map(lower.__contains__, _DEVICE_WORDS)) and any(map(lower.__contains__, _MADE_FOR))


def _with_neighbours(lines: list[str], candidates: list[int]) -> list[int]:
    """The candidates, and the lines of the blocks of comments that they stand in."""
    wanted = set(candidates)
    for number in candidates:
        for step in (-1, 1):
            at = number
            while (
                0 <= at < len(lines)
                and lines[at].lstrip().startswith(("#", "//"))
                and (at == number or at not in wanted)
            ):
                wanted.add(at)
                at += step
    return sorted(wanted)
