"""One line per finding: ``path:line:column: error[EB101] message``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.report.style import PLAIN, Style, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.findings import Finding


def findings(found: Iterable[Finding], style: Style = PLAIN) -> str:
    """The findings, a line each."""
    return "".join(_line(finding, style) for finding in found)


def _line(finding: Finding, style: Style) -> str:
    span = finding.primary.span
    place = f"{style.bold}{printable(span.path)}:{span.line}:{span.column}:{style.reset}"
    code = f"{style.severity(finding.severity)}{finding.severity}[{finding.code}]{style.reset}"
    recipe = f" (in the recipe {printable(finding.recipe)})" if finding.recipe not in (None, span.path) else ""
    return f"{place} {code} {printable(finding.message)}{recipe}\n"
