"""Comments that speak to this tool: what a file declares, and what it asks to be silent about.

    # effbatch: target=2048 world-size=64 tokens=8M
    gradient_accumulation_steps: 8  # effbatch: ignore[EB301] the JSON is generated
    # effbatch: ignore-file[EB305] read by the old launcher too

A pragma starts its comment, or follows a ``#`` inside it (``# per device  # effbatch: ignore[EB306] ...``). A file
without the word costs one search for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.document import MARKS

if TYPE_CHECKING:
    from collections.abc import Collection

    from effbatch_lint.findings import Misdeclared
    from effbatch_lint.source import Source, Span
    from effbatch_lint.targets.quantity import Quantity


class Declared(NamedTuple):
    """A declared target: ``target=2048`` or ``tokens=8M`` (its unit is then tokens), and where the word stands."""

    quantity: Quantity
    span: Span
    tolerance: float = 0.0


class WorldSizes(NamedTuple):
    """``world-size=64`` or ``world-size=64,128``: accelerators in the job, one number for each job that is run."""

    values: tuple[int, ...]
    span: Span


class Suppression(NamedTuple):
    """One code of an ignore comment.

    Attributes:
        code: the rule.
        span: where the code stands.
        lines: the first and the last line that are covered; None for the whole file.
        reason: why, in the author's words.
    """

    code: str
    span: Span
    lines: tuple[int, int] | None
    reason: str


class Pragmas(NamedTuple):
    """All that a file's comments declare, in the order of the file."""

    targets: tuple[Declared, ...] = ()
    world_sizes: tuple[WorldSizes, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    unknown: tuple[Misdeclared, ...] = ()


def within(pragmas: Pragmas, lines: tuple[int, int]) -> Pragmas:
    """What is declared on these lines: of a file of several documents, what belongs to one of them.

    An ignore comment is asked for by its own line, and a word that does not exist is said once for the whole file.
    """
    first, last = lines
    return pragmas._replace(
        targets=tuple(each for each in pragmas.targets if first <= each.span.line <= last),
        world_sizes=tuple(each for each in pragmas.world_sizes if first <= each.span.line <= last),
    )


# So many declarations are none: each target is compared with each other one, each world size is a recipe.
MAX_DECLARED = 100


def read_pragmas(source: Source, kind: str, codes: Collection[str] | None = None) -> Pragmas:
    """What the comments of a file declare; ``kind`` is yaml, toml, json or shell.

    ``codes`` are the rules that exist; without them every code of the form EB000 is taken for one.
    """
    from effbatch_lint.documents.comments import comments, heading  # noqa: PLC0415 - few files hold a pragma
    from effbatch_lint.documents.pragma_reader import Reader  # noqa: PLC0415 - as above

    reader = Reader(source.text, codes)
    above = heading(source, kind)
    # Most pragmas stand at the top of their file, where there is nothing yet that a "#" could be a part of.
    said_above = sum(_said(comment.text) for comment in above)
    for comment in above if said_above == _said(source.text) else comments(source, kind):
        reader.read(comment)
    return reader.pragmas


def _said(text: str) -> int:
    return sum(text.count(mark) for mark in MARKS)
