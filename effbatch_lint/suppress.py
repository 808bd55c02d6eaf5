"""Ignore comments applied: which findings stay, and which comments suppress nothing (EB904)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from effbatch_lint.documents.pragmas import Suppression
    from effbatch_lint.source import Span


class Placed(Protocol):
    """A label: anything that stands somewhere."""

    @property
    def span(self) -> Span:
        """Where."""


class Suppressible(Protocol):
    """A finding, as far as an ignore comment is concerned."""

    @property
    def code(self) -> str:
        """The rule."""

    @property
    def primary(self) -> Placed:
        """Where a person should look first."""

    @property
    def related(self) -> Sequence[Placed]:
        """The other places that decide it."""


Found = TypeVar("Found", bound=Suppressible)


def apply(
    findings: Iterable[Found], suppressions: Sequence[Suppression], *, ran: Container[str] | None = None
) -> tuple[list[Found], list[Suppression]]:
    """The findings that are kept, and the suppressions that met none.

    A comment suppresses the findings of its code that have any label on a line it covers: a contradiction between two
    files may be explained in either. A suppression of a rule that was not among those that ``ran`` is not unused.
    """
    by_code: dict[str, list[int]] = {}
    for index, suppression in enumerate(suppressions):
        by_code.setdefault(suppression.code, []).append(index)
    used: set[int] = set()
    kept = []
    for finding in findings:
        spans = [finding.primary.span, *(label.span for label in finding.related)]
        met = [index for index in by_code.get(finding.code, ()) if _covers(suppressions[index], spans)]
        used.update(met)
        if not met:
            kept.append(finding)
    unused = [
        suppression
        for index, suppression in enumerate(suppressions)
        if index not in used and (ran is None or suppression.code in ran)
    ]
    return kept, unused


def _covers(suppression: Suppression, spans: Iterable[Span]) -> bool:
    path, lines = suppression.span.path, suppression.lines
    return any(
        span.path == path and (lines is None or (span.line <= lines[1] and span.end_line >= lines[0])) for span in spans
    )
