"""Recipes -> findings: every enabled rule on every batch, then the suppressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.findings import Finding, Label
from effbatch_lint.rules.context import Context
from effbatch_lint.rules.raised import problems
from effbatch_lint.rules.table import BY_CODE, TABLE, Rule
from effbatch_lint.source import Span
from effbatch_lint.suppress import apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.call import Read
    from effbatch_lint.findings import Misdeclared
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.settings.records import Settings
    from effbatch_lint.source import Unreadable


def findings(read: Read) -> list[Finding]:
    """All findings of a call, in the order of files and lines, each once, less what is switched off or suppressed."""
    found = [unreadable(error) for error in read.errors]
    found += [_misdeclared(each, read.settings.path) for each in read.settings.unknown]
    for recipe in read.recipes:
        found += [_misdeclared(each, recipe.path) for each in recipe.unknown]
        found.extend(_recipe(recipe, read))
    found = _suppressed(found, read)
    found = [finding for finding in found if enabled(finding, read.settings)]
    return sorted(_once(found), key=lambda finding: finding.order)


def _suppressed(found: list[Finding], read: Read) -> list[Finding]:
    """The findings less those that an ignore comment covers; pragmas that do not exist, suppress nothing, guard nothing."""
    holding: dict[str, list[Recipe]] = {}  # the recipes of a framework that is known, by their files
    asked = {*read.failed, *read.given}
    for recipe in read.recipes:
        asked.update(recipe.config.files)
        for path in recipe.config.files if recipe.framework is not None else ():
            holding.setdefault(path, []).append(recipe)
    speaking = [d for d in read.files.documents if d.source.path in asked and d.speaks]
    if read.settings.path is not None:
        # A finding may point at a target in the settings, and a comment there may ask to be silent about it.
        speaking += [
            d for d in (read.files.quietly_parsed(read.settings.path),) if d is not None and "ffbatch:" in d.source.text
        ]
    if not speaking:
        return found
    refused = {unread.path: unread.reason for unread in read.unread if unread.refused}
    pragmas = [(document, read.files.pragmas(document)) for document in speaking]
    for document, stated in pragmas:
        found += [_misdeclared(each, None) for each in stated.unknown]
        if document.source.path not in read.failed:
            found += [
                _unclaimed(target.span, refused.get(document.source.path))
                for target in stated.targets
                if not any(recipe.holds(target.span) for recipe in holding.get(target.span.path, ()))
            ]
    ran = {rule.code for rule in TABLE if _on(rule, read.settings)}
    kept, unused = apply(found, [each for _, stated in pragmas for each in stated.suppressions], ran=ran)
    return kept + [
        _said("EB904", f"{each.code} has nothing to ignore here", each.span, None)._replace(help="remove the comment")
        for each in unused
    ]


UNCLAIMED = "a target is declared, and what it stands in is of no framework that is recognised"
UNCLAIMED_HELP = (
    "name the framework with --framework, or describe your trainer in the settings: [tool.effbatch-lint.custom]"
)


def _unclaimed(span: Span, refused: str | None) -> Finding:
    """The finding for a target of which no recipe is known."""
    if refused is None:
        return _said("EB104", UNCLAIMED, span, None)._replace(help=UNCLAIMED_HELP)
    return _said("EB104", f"a target is declared, and what it stands in is refused: {refused}", span, None)


def unreadable(error: Unreadable) -> Finding:
    """The finding for a file that cannot be read, parsed or composed."""
    rule = BY_CODE[error.code]
    return Finding(rule.code, rule.name, rule.severity, error.reason, Label(error.span, ""), help=error.help)


def _recipe(recipe: Recipe, read: Read) -> Iterator[Finding]:
    context = Context(recipe, read.files)
    if recipe.targets and recipe.batches:
        from effbatch_lint.targets.verdict import judge  # noqa: PLC0415 - most configs declare nothing

        verdicts = tuple((target, judge(recipe.batches[0], target)) for target in recipe.targets)
        context = context._replace(verdicts=verdicts)
    for number, batch in enumerate(recipe.batches):
        yield from _of_script(problems(batch, context), batch, context)
        for rule in TABLE:
            if rule.needs is None or not _on(rule, read.settings):
                continue
            # A target is declared of the main batch; the others are further phases of the same run.
            if rule.needs == "targets" and (number or not recipe.targets):
                continue
            if rule.needs == "remarks" and number:
                continue
            yield from _of_script(rule.check(batch, context), batch, context)


def _of_script(found: Iterable[Finding], batch: Batch, context: Context) -> Iterable[Finding]:
    """The findings of a run that a script starts, less what it does on purpose, and no surer than its defaults are."""
    if context.recipe.launch.script is None:
        return found
    from effbatch_lint.rules.bare_run import softened  # noqa: PLC0415 - most runs are started by no script
    from effbatch_lint.rules.overridden import on_purpose  # noqa: PLC0415 - as above

    return (softened(finding, batch) for finding in found if not on_purpose(finding, context.files))


def _on(rule: Rule, settings: Settings) -> bool:
    return (rule.enabled or rule.code in settings.extend_select) and rule.code not in settings.ignore


def enabled(finding: Finding, settings: Settings) -> bool:
    """Whether the settings let a finding through."""
    if not _on(BY_CODE[finding.code], settings):
        return False
    if not settings.per_file_ignores:
        return True
    from effbatch_lint.discovery import excluded  # noqa: PLC0415 - few projects ignore rules by file

    # A target may stand in the settings or in another file: what is ignored are the findings about the file's numbers.
    labels = (finding.primary, *finding.related)
    paths = dict.fromkeys((*(label.span.path for label in labels), *((finding.recipe,) if finding.recipe else ())))
    return not any(
        finding.code in codes and any(excluded(path, settings.folder, (pattern,)) for path in paths)
        for pattern, codes in settings.per_file_ignores
    )


def _misdeclared(each: Misdeclared, path: str | None) -> Finding:
    return _said("EB905", each.message, each.span, path)._replace(help=each.help)


def _said(code: str, message: str, span: Span | None, path: str | None) -> Finding:
    """A finding of no batch."""
    rule = BY_CODE[code]
    return Finding(code, rule.name, rule.severity, message, Label(span or Span(path or "<settings>", 1, 1, 1, 1), ""))


_NAMED = 3  # of the further recipes that a finding holds for


def _once(found: list[Finding]) -> list[Finding]:
    """Each finding once: several world sizes of one recipe may say the same, and several recipes that share a file."""
    alike: dict[tuple[str, Label, str], list[Finding]] = {}
    for finding in found:
        alike.setdefault((finding.code, finding.primary, finding.message), []).append(finding)
    return [_for_all(same) for same in alike.values()]


def _for_all(same: list[Finding]) -> Finding:
    """The first of several findings that say the same, with the names of the other recipes that it holds for."""
    others = [name for name in dict.fromkeys(each.recipe for each in same) if name not in (None, same[0].recipe)]
    if not others:
        return same[0]
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    names = ", ".join(str(name) for name in others[:_NAMED])
    return same[0]._replace(notes=(*same[0].notes, f"the same holds for {names}{more}"))
