"""A flag that a script gives once more, on purpose: ``"$@"`` or ``$EXTRA_ARGS`` behind the defaults.

A flag that stands twice in one list of flags is a mistake. Where the later one comes from another statement (a caller of the
function, a variable of its own), it is how a script lets its defaults be replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.document import kind_of

if TYPE_CHECKING:
    from effbatch_lint.files import Files
    from effbatch_lint.findings import Finding


def on_purpose(finding: Finding, files: Files) -> bool:
    """Whether a repeated key (EB307) is a flag whose two places stand in two statements of a script."""
    if finding.code != "EB307" or not finding.related:
        return False
    first, last = finding.primary.span, finding.related[-1].span
    if kind_of(first.path) not in ("shell", None):
        return False
    if first.path != last.path:
        return True
    low, high = sorted((first.line, last.line))
    return not all(_goes_on(files.line(first.path, number)) for number in range(low + 1, high + 1))


def _goes_on(line: str) -> bool:
    """Whether a line is one more of a list of flags, or a comment in it."""
    return line.lstrip().startswith(("-", "#"))
