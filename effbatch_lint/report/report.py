"""The outcome of a call, and the contract's JSON of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.call import Unread
    from effbatch_lint.files import Files
    from effbatch_lint.findings import Finding
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.source import Unreadable

VERSION = 1


class Report(NamedTuple):
    """What a call found.

    Attributes:
        recipes: every recipe that was read.
        findings: what the rules say, in the order of files and lines; none in ``explain``.
        unread: files that gave no recipe, and why.
        errors: files that could not be read; ``check`` has them among its findings.
        files: the files of the call, whose lines a snippet shows.
        seconds: how long it took.
    """

    recipes: list[Recipe]
    findings: list[Finding]
    unread: list[Unread]
    errors: list[Unreadable]
    files: Files
    seconds: float = 0.0

    @property
    def files_read(self) -> int:
        """How many files were opened."""
        return self.files.read

    def as_dict(self) -> dict[str, object]:
        """What ``check --output-format json`` prints."""
        counts = Counter(finding.severity for finding in self.findings)
        return {
            "version": VERSION,
            "tool": _tool(),
            "findings": [finding.as_dict() for finding in self.findings],
            "summary": {
                "errors": counts["error"],
                "warnings": counts["warning"],
                "infos": counts["info"],
                "recipes": len(self.recipes),
                "files_read": self.files_read,
                "not_training_configs": len(self.unread),
                "seconds": round(self.seconds, 4),
            },
            "unread": [unread.as_dict() for unread in self.unread],
        }

    def recipes_as_dict(self) -> dict[str, object]:
        """What ``explain --output-format json`` prints."""
        return {
            "version": VERSION,
            "tool": _tool(),
            "recipes": [recipe.as_dict() for recipe in self.recipes],
            "unread": [
                *({"path": error.span.path, "reason": error.reason} for error in self.errors),
                *(unread.as_dict() for unread in self.unread),
            ],
        }


def _tool() -> str:
    from effbatch_lint import __version__  # noqa: PLC0415 - the package imports nothing of its own at start

    return f"effbatch-lint {__version__}"
