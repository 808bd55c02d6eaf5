"""The rules, a line each: code, name, severity, what it says, and whether it has a check of its own.

A rule is a file named by its code: the docstring is its page (``effbatch-lint rule EB102``), ``check`` yields its
findings. Rules without a check report what the framework's reader (``Problem``) or an earlier stage (a file that cannot be
read) found, and cost nothing at start.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.findings import Finding, Severity
    from effbatch_lint.rules.context import Context


class Rule(NamedTuple):
    """A rule's record. ``needs`` says when its check is worth importing: ``targets``, ``remarks``, ``always``, None."""

    code: str
    name: str
    severity: Severity
    summary: str
    needs: str | None = None
    enabled: bool = True

    @property
    def page(self) -> str:
        """The rule's documentation: the docstring of its file."""
        return (import_module(f"effbatch_lint.rules.{self.code.lower()}").__doc__ or "").strip()

    @property
    def check(self) -> Callable[[Batch, Context], Iterator[Finding]]:
        """The rule's own check."""
        found: Callable[[Batch, Context], Iterator[Finding]] = import_module(
            f"effbatch_lint.rules.{self.code.lower()}"
        ).check
        return found


TABLE: tuple[Rule, ...] = (
    Rule("EB101", "target-mismatch", "error", "the effective batch differs from the declared target", "targets"),
    Rule("EB102", "model-parallel-counted", "error", "model-parallel devices were counted as replicas", "targets"),
    Rule("EB103", "tokens-mismatch", "error", "the tokens per step differ from the declared tokens", "targets"),
    Rule("EB104", "target-unverifiable", "warning", "a target is declared and the batch cannot be known", "targets"),
    Rule("EB105", "target-unit", "error", "target and batch are counted in different units", "targets"),
    Rule("EB106", "target-conflict", "error", "two declarations of the target disagree", "targets"),
    Rule("EB201", "layout-indivisible", "error", "the model-parallel degrees do not divide the world size"),
    Rule("EB202", "replicas-contradicted", "error", "a declared data-parallel degree is not world / model"),
    Rule("EB203", "world-size-conflict", "error", "two places state different world sizes for one run"),
    Rule("EB301", "batch-contradiction", "error", "the config's own batch numbers contradict each other"),
    Rule("EB302", "batch-indivisible", "error", "the global batch is not micro x replicas x a whole number"),
    Rule("EB303", "batch-rounded", "warning", "the framework rounds silently: the real batch is not the declared one"),
    Rule("EB304", "framework-refuses", "error", "another start-up check of the framework fails"),
    Rule("EB305", "key-ignored", "warning", "a batch key has no effect"),
    Rule("EB306", "stale-remark", "warning", "a comment states a batch that the numbers do not give", "remarks"),
    Rule("EB307", "duplicate-key", "warning", "a batch key stands twice", "always"),
    Rule("EB308", "follows-machine", "warning", "no global batch is pinned: it follows the devices", "always", enabled=False),
    Rule("EB901", "unreadable", "error", "the file cannot be read or parsed, or is over a limit"),
    Rule("EB902", "composition-failed", "error", "the framework's own composition of files would refuse"),
    Rule("EB903", "unresolved", "info", "a value that decides the batch cannot be resolved statically", "always"),
    Rule("EB904", "unused-suppression", "warning", "an ignore comment that suppresses nothing"),
    Rule("EB905", "unknown-pragma", "error", "an effbatch comment or a settings key that does not exist"),
)  # fmt: skip

BY_CODE = {rule.code: rule for rule in TABLE}


def find(code_or_name: str) -> Rule | None:
    """The rule with this code or name."""
    wanted = code_or_name.strip()
    return next((rule for rule in TABLE if rule.code == wanted.upper() or rule.name == wanted.lower()), None)
