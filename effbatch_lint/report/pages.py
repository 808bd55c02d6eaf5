"""The pages of rules and frameworks, and their lists."""

from __future__ import annotations

from effbatch_lint.frameworks import table as frameworks_table
from effbatch_lint.rules import table as rules_table


def rules() -> str:
    """The list of rules, a line each."""
    lines = []
    for rule in rules_table.TABLE:
        state = rule.severity if rule.enabled else "off"
        lines.append(f"{rule.code}  {rule.name:24} {state:8} {rule.summary}\n")
    return "".join(lines)


def rule(code: str) -> str | None:
    """A rule's page, or None."""
    found = rules_table.find(code)
    if found is None:
        return None
    state = found.severity if found.enabled else f"{found.severity}, off by default"
    return f"{found.code} {found.name} ({state})\n\n{found.page}\n"


def frameworks() -> str:
    """The list of frameworks with their formulas."""
    found = [frameworks_table.load(module) for module, _ in frameworks_table.TABLE]
    return "".join(f"{each.name:20} {each.formula}\n" for each in sorted(found))


def _plain(text: str) -> str:
    """A docstring without its markup, for a terminal."""
    import re  # noqa: PLC0415 - pages only

    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "`")


def framework(name: str) -> str | None:
    """A framework's page: formula, keys by which it is recognised, eras, upstream sources."""
    found = frameworks_table.by_name(name)
    if found is None:
        return None
    words = next(words for module, words in frameworks_table.TABLE if module == found.name.replace("-", "_"))
    page = _plain((__import__(found.read.__module__, fromlist=["__doc__"]).__doc__ or "").strip())
    out = [found.name, "", page, "", f"recognised by   {', '.join(words)}", f"formula         {found.formula}"]
    out += [f"profile         {profile}" for profile in found.profiles]
    out += [f"source          {source}" for source in found.sources]
    return "\n".join(out) + "\n"
