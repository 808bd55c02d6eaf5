"""The contract's JSON: findings, or recipes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from effbatch_lint import __version__

if TYPE_CHECKING:
    from effbatch_lint.engine import Report

VERSION = 1


def findings(report: Report) -> dict[str, object]:
    """What ``check --output-format json`` prints."""
    counts = {
        severity: sum(f.severity == severity for f in report.findings) for severity in ("error", "warning", "info")
    }
    return {
        "version": VERSION,
        "tool": f"effbatch-lint {__version__}",
        "findings": [finding.as_dict() for finding in report.findings],
        "summary": {
            "errors": counts["error"],
            "warnings": counts["warning"],
            "infos": counts["info"],
            "recipes": len(report.recipes),
            "files_read": report.files_read,
            "not_training_configs": len(report.unread),
            "seconds": round(report.seconds, 4),
        },
        "unread": [unread.as_dict() for unread in report.unread],
    }


def recipes(report: Report) -> dict[str, object]:
    """What ``explain --output-format json`` prints."""
    return {
        "version": VERSION,
        "tool": f"effbatch-lint {__version__}",
        "recipes": [recipe.as_dict() for recipe in report.recipes],
        "unread": [
            *({"path": error.span.path, "reason": error.reason} for error in report.errors),
            *(unread.as_dict() for unread in report.unread),
        ],
    }


def dumps(data: dict[str, object]) -> str:
    """The text of a JSON document; what does not print (control characters, half a surrogate pair) is escaped."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if text.isascii():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
