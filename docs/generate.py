"""Write the pages that are made from the code: docs/rules/*.md and docs/frameworks.md.

    python docs/generate.py

A test fails when they are stale.
"""

from __future__ import annotations

from pathlib import Path

from effbatch_lint.frameworks import table as frameworks
from effbatch_lint.report import pages
from effbatch_lint.rules.table import TABLE

DOCS = Path(__file__).parent
MADE = "<!-- made by docs/generate.py from the code: change it there -->\n\n"


def generated() -> dict[Path, str]:
    """Every generated page with its text."""
    out = {DOCS / "rules" / f"{rule.code}.md": f"{MADE}```text\n{pages.rule(rule.code)}```\n" for rule in TABLE}
    rows = "".join(
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity if rule.enabled else 'off'} | {rule.summary} |\n"
        for rule in TABLE
    )
    out[DOCS / "rules" / "README.md"] = (
        f"{MADE}# Rules\n\n| code | name | severity | what it says |\n|---|---|---|---|\n{rows}"
    )
    names = [frameworks.load(module).name for module, _ in frameworks.TABLE]
    text = "\n".join(f"## {name}\n\n```text\n{pages.framework(name)}```\n" for name in names)
    out[DOCS / "frameworks.md"] = f"{MADE}# Frameworks\n\n{text}"
    return out


if __name__ == "__main__":
    for path, page in generated().items():
        path.write_text(page, encoding="utf-8")
