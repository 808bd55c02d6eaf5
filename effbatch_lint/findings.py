"""What a rule says: a finding with its place, further places, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.source import Span

Severity = Literal["error", "warning", "info"]


class Label(NamedTuple):
    """A place with a few words: ``declared: 2,048 sequences per optimizer step``."""

    span: Span
    text: str

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a label."""
        return {
            "path": self.span.path,
            "line": self.span.line,
            "column": self.span.column,
            "end_line": self.span.end_line,
            "end_column": self.span.end_column,
            "label": self.text,
        }


class Edit(NamedTuple):
    """A replacement of a stretch of a file by new text."""

    span: Span
    text: str

    def as_dict(self) -> dict[str, object]:
        """The place and the new text."""
        return {**Label(self.span, "").as_dict(), "text": self.text}


class Fix(NamedTuple):
    """Edits that mend a finding; ``safe`` when the batch that runs is not changed by them."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a fix."""
        return {"title": self.title, "safe": self.safe, "edits": [edit.as_dict() for edit in self.edits]}


class Finding(NamedTuple):
    """One thing that is wrong.

    Attributes:
        message: one sentence; the numbers in it carry units.
        primary: the place a person should look at first.
        related: the other places that decide it, across files.
        notes: the arithmetic, a line each ("computed: 4 x 8 x 16 = 512 sequences").
        help: what to type.
        recipe: the file (or the settings' name) of the recipe that it belongs to.
    """

    code: str
    name: str
    severity: Severity
    message: str
    primary: Label
    related: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    fix: Fix | None = None
    recipe: str | None = None

    def as_dict(self) -> dict[str, object]:
        """The contract's form of a finding."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity,
            "message": self.message,
            "notes": list(self.notes),
            "help": self.help,
            "fix": self.fix and self.fix.as_dict(),
            "primary": self.primary.as_dict(),
            "related": [label.as_dict() for label in self.related],
            "recipe": self.recipe,
            "url": rule_url(self.code),
        }

    @property
    def order(self) -> tuple[str, int, int, str]:
        """Findings are shown by file, line, column, code."""
        return (self.primary.span.path, self.primary.span.line, self.primary.span.column, self.code)


class Misdeclared(NamedTuple):
    """A declaration that does not exist or does not read (EB905), in a comment, a config or the settings.

    Attributes:
        span: its place; None where the settings came from Python.
        message: what is wrong with it.
        help: what to write.
    """

    span: Span | None
    message: str
    help: str | None = None


def rule_url(code: str) -> str:
    """The rule's page, within this project."""
    return f"docs/rules/{code}.md"
