"""The command line: the only module that prints, reads the arguments, or exits."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from effbatch_lint import arguments, engine
from effbatch_lint.call import UsageError
from effbatch_lint.report.style import COLOURED, PLAIN, Style, printable
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from effbatch_lint.findings import Finding
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.report.report import Report

OK, FOUND, USAGE, NOTHING = 0, 1, 2, 3
SEVERITIES = ("info", "warning", "error")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0 for nothing found, 1 for findings, 2 for a usage or input error, 3 for no recipe where one is required.
    """
    given = arguments.parse(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:  # started with its output closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    try:
        status = COMMANDS[given.command](given)
    except UsageError as error:
        return _complain(str(error))
    except Unreadable as error:  # the settings: every other file is one finding among others
        return _complain(f"{error.span.where}:{error.span.column}: {error.reason}")
    except OSError as error:  # a full disk, a working directory that is gone
        return _complain(error.strerror or str(error))
    else:
        return status


def _check(given: argparse.Namespace) -> int:
    settings, options = arguments.settings(given), arguments.options(given)
    report = engine.check(options, settings)
    shown = _shown(report, given.verbose, given.fail_on or settings.fail_on)
    style = _style(given)
    if given.output_format == "json":
        from effbatch_lint.report import json  # noqa: PLC0415 - each run prints one format

        _write(json.dumps(report.as_dict()), given)
    elif given.output_format == "concise":
        from effbatch_lint.report import concise  # noqa: PLC0415 - as above

        _write(concise.findings(shown, style), given)
    else:
        _write(_text(report, shown, given, style), given)
    if any(not os.path.lexists(path) for path in given.paths):
        return USAGE
    threshold = SEVERITIES.index(given.fail_on or settings.fail_on)
    if any(SEVERITIES.index(finding.severity) >= threshold for finding in report.findings):
        return FOUND
    return NOTHING if given.require_recipes and not report.recipes else OK


def _text(report: Report, shown: list[Finding], given: argparse.Namespace, style: Style) -> str:
    """The findings and a closing line. A hook run that passes prints nothing at all."""
    from effbatch_lint.report import summary, text  # noqa: PLC0415 - each run prints one format

    out = text.findings(shown, report.files.line, style)
    if given.verbose:
        out += "".join(f"{printable(unread.path)}: {printable(unread.reason)}\n" for unread in report.unread)
        out += "".join(f"{printable(_named(r))}: {_reader(r)}\n" for r in report.recipes)
        commented = (document.source.path for document in report.files.documents if document.commented)
        out += "".join(f"{printable(path)}: holds comments, which strict JSON forbids\n" for path in commented)
    if given.quiet:
        return out
    if not report.recipes and not report.findings:
        return out + summary.nothing(report) + "\n" if given.verbose or not given.paths or _folders(given) else out
    if shown or given.verbose or _folders(given) or not given.paths:
        out += ("\n" if shown else "") + summary.line(report) + "\n"
    return out


def _named(recipe: Recipe) -> str:
    """The file, and what tells the run from others of it."""
    return recipe.name if recipe.name is not None and recipe.name.startswith(recipe.path) else recipe.path


def _reader(recipe: Recipe) -> str:
    """Whose arithmetic was used; of a file that looks like two frameworks, which was not, and how to ask for it."""
    said = f"read as {recipe.reader}"
    if recipe.runner_up is None:
        return said
    return (
        f"{said}, of which it holds more keys than of {recipe.runner_up} (--framework {recipe.runner_up} reads it so)"
    )


def _folders(given: argparse.Namespace) -> bool:
    return any(os.path.isdir(path) for path in given.paths)


def _shown(report: Report, verbose: bool, fail_on: str) -> list[Finding]:  # noqa: FBT001 - passed on from argparse
    return [finding for finding in report.findings if verbose or fail_on == "info" or finding.severity != "info"]


def _explain(given: argparse.Namespace) -> int:
    report = engine.explain(arguments.options(given), arguments.settings(given))
    if given.output_format == "json":
        from effbatch_lint.report import json  # noqa: PLC0415 - each run prints one format

        _write(json.dumps(report.recipes_as_dict()), given)
    else:
        from effbatch_lint.report import explain  # noqa: PLC0415 - as above

        style = _style(given)
        _write("\n".join(explain.recipe(recipe, style) for recipe in report.recipes), given)
        if not report.recipes and not report.errors:
            for unread in report.unread:
                sys.stderr.write(f"effbatch-lint: {printable(unread.path)}: {printable(unread.reason)}\n")
    for message in dict.fromkeys(f"{error.span.where}:{error.span.column}: {error.reason}" for error in report.errors):
        _complain(message)
    return USAGE if report.errors else OK


def _calc(given: argparse.Namespace) -> int:
    from effbatch_lint import calculator  # noqa: PLC0415 - one command of several

    _write(calculator.view(given, _style(given)), given)
    return OK


def _rule(given: argparse.Namespace) -> int:
    from effbatch_lint.report import pages  # noqa: PLC0415 - one command of several

    text = pages.rules() if given.code is None else pages.rule(given.code)
    if text is None:
        raise UsageError(f"no rule is called {given.code!r}: see `effbatch-lint rule`")
    _write(text, given)
    return OK


def _frameworks(given: argparse.Namespace) -> int:
    from effbatch_lint.report import pages  # noqa: PLC0415 - one command of several

    text = pages.frameworks() if given.name is None else pages.framework(given.name)
    if text is None:
        raise UsageError(f"no framework is called {given.name!r}: see `effbatch-lint frameworks`")
    _write(text, given)
    return OK


COMMANDS = {"check": _check, "explain": _explain, "calc": _calc, "rule": _rule, "frameworks": _frameworks}


def _style(given: argparse.Namespace) -> Style:
    """Colour as asked; else by FORCE_COLOR, NO_COLOR, and whether a person reads (https://no-color.org)."""
    choice = given.color
    if choice == "auto":
        if getattr(given, "output_file", None):
            return PLAIN
        if os.environ.get("NO_COLOR"):
            return PLAIN
        if os.environ.get("FORCE_COLOR"):
            return COLOURED
        choice = "always" if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else "never"
    return COLOURED if choice == "always" else PLAIN


def _write(text: str, given: argparse.Namespace) -> None:
    path = getattr(given, "output_file", None)
    if path is None:
        # A config may hold what the terminal's encoding does not: replaced rather than refused.
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
            sys.stdout.flush()
        except BrokenPipeError:
            # `effbatch-lint ... | head`: the reader has seen enough, and the status says what was found all the same.
            # Keep the interpreter's exit from complaining again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _complain(message: str) -> int:
    sys.stderr.write(f"effbatch-lint: {printable(message)}\n")
    return USAGE


def run() -> None:
    """The console script."""
    sys.exit(main())
