"""Findings with their source lines and carets; the file the finding points at first, then the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.report.style import PLAIN, Style, printable, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from effbatch_lint.findings import Finding, Label

MAX_WIDTH = 120  # a minified JSON file is one line: only the stretch around the caret is shown


def findings(found: Iterable[Finding], line: Callable[[str, int], str], style: Style = PLAIN) -> str:
    """Every finding as a block of text. ``line(path, number)`` gives a source line."""
    return "\n".join(_finding(finding, line, style) for finding in found)


def _finding(finding: Finding, line: Callable[[str, int], str], style: Style) -> str:
    span = finding.primary.span
    colour = style.severity(finding.severity)
    out = [
        (
            f"{style.bold}{printable(span.path)}:{span.line}:{span.column}:{style.reset} "
            f"{colour}{finding.severity}[{finding.code}]{style.reset} {style.bold}{printable(finding.message)}{style.reset}"
        )
    ]
    by_file: dict[str, list[Label]] = {}
    for label in (finding.primary, *finding.related):
        by_file.setdefault(label.span.path, []).append(label)
    digits = max(len(str(label.span.line)) for label in (finding.primary, *finding.related))
    gutter = " " * digits
    for path, labels in by_file.items():
        if path != span.path:
            out.append(f"{gutter} {style.blue}-->{style.reset} {printable(path)}")
        out += _snippet(labels, finding.primary, digits, line, style, colour)
    if len(out) > 1:
        out.append(f"{gutter} {style.blue}|{style.reset}")
    out += [f"{gutter} {style.blue}={style.reset} {printable(note)}" for note in finding.notes]
    if finding.help:
        out.append(f"{gutter} {style.green}help:{style.reset} {printable(finding.help)}")
    if finding.recipe is not None and finding.recipe != span.path:
        out.append(f"{gutter} in the recipe {printable(finding.recipe)}")
    out.append(f"{gutter} page: effbatch-lint rule {finding.code}")
    return "\n".join(out) + "\n"


def _snippet(
    labels: list[Label], primary: Label, digits: int, line: Callable[[str, int], str], style: Style, colour: str
) -> list[str]:
    by_line: dict[int, list[Label]] = {}
    for label in labels:
        by_line.setdefault(label.span.line, []).append(label)
    bar = f"{style.blue}|{style.reset}"
    out: list[str] = []
    before = 0
    for number in sorted(by_line):
        text = line(labels[0].span.path, number)
        if not text and number == 1:
            continue  # nothing to show: a file that could not be read
        if before and number > before + 1:
            out.append(f"{'...':>{digits + 1}}")
        if not before:
            out.append(f"{' ' * digits} {bar}")
        before = number
        start = _window(by_line[number], text)
        shown = ("... " if start else "") + printable(text[start : start + MAX_WIDTH])
        out.append(f"{style.blue}{number:>{digits}} |{style.reset} {shown}".rstrip())
        for label in sorted(by_line[number], key=lambda item: item.span.column):
            mark = "^" if label is primary else "-"
            lead = width(printable(text[start : label.span.column - 1])) + (4 if start else 0)
            length = _length(label, text)
            tint = colour if label is primary else style.blue
            out.append(
                f"{' ' * digits} {bar} {' ' * lead}{tint}{mark * length} {printable(label.text)}{style.reset}".rstrip()
            )
    return out


def _window(labels: list[Label], text: str) -> int:
    first = min(label.span.column for label in labels) - 1
    return max(0, first - MAX_WIDTH // 3) if len(text) > MAX_WIDTH and first > MAX_WIDTH // 2 else 0


def _length(label: Label, text: str) -> int:
    span = label.span
    end = span.end_column - 1 if span.end_line == span.line else len(text)
    return max(1, min(width(printable(text[span.column - 1 : end])), MAX_WIDTH))
