"""Files that a launch line names: written by the script itself, or held by the project.

A config that a script writes with a here-document has its places in the script: a finding about it points there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Unresolved
from effbatch_lint.documents.document import Document, kind_of, parse
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.shell.script import locate
from effbatch_lint.documents.shell.text import MARK, Text, written
from effbatch_lint.source import Source, Span, Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

    from effbatch_lint.files import Files
    from effbatch_lint.launch import Argument, Launch


def find(
    name: Text,
    files: Files | None,
    own_files: AbstractMapping[str, Text],
    *,
    script: Source,
    directory: Text | None = None,
) -> Document | None:
    """The parsed file that ``name`` means; None when neither the script nor the project has it, or it is no config.

    Raises:
        Unreadable: the file cannot be read or parsed, at its place (in the script, when the script writes it).
    """
    own = written_under(name, own_files)
    if own is not None:
        return document(own, name.display, script)
    path = None if files is None else locate(files, name, script.real, directory)
    if path is None or files is None or kind_of(path) is None:
        return None
    return files.document(path)


def named(launch: Launch, argument: Argument, files: Files | None) -> Document | None:
    """The config file that an argument of a launch names (``--deepspeed ds.json``, ``--config_file x.yaml``).

    Raises:
        Unreadable: see :func:`find`.
    """
    if argument.text is None:
        return None
    name = argument.word or written(argument.text)
    path = launch.script or ""
    script = Source(path, path if files is None else os.path.join(files.base, path), "")
    return find(name, files, launch.written, script=script, directory=launch.directory)


def written_under(name: Text, own_files: AbstractMapping[str, Text]) -> Text | None:
    """The text that the script wrote to a file of this name; the same folder may be spelled in several ways."""
    wanted = _normal(name.display)
    return next((text for key, text in own_files.items() if _normal(key) == wanted), None)


def _normal(path: str) -> str:
    return os.path.normpath(path).removeprefix("./")


def document(text: Text, name: str, script: Source) -> Document | None:
    """A file that a script writes, parsed; its nodes stand where the script wrote them. Without nodes when it is
    the output of a program, which cannot be known.

    Raises:
        Unreadable: a syntax error, at its place in the script.
    """
    if not any(piece.reason is None for piece in text.pieces):
        return Document(Source(script.path, script.real, ""), "yaml", [])  # what a program prints, nobody knows here
    kind = kind_of(name) or ("json" if text.chars.lstrip().startswith("{") else "yaml")
    source = Source(script.path, script.real, text.chars)
    try:
        parsed = parse(source, kind)
    except Unreadable as error:
        place = _place(text, error.span)
        raise Unreadable(
            place or script.span(), f"{name}, which the script writes: {error.reason}", error.code
        ) from None
    roots = [_placed(root, text) for root in parsed.roots]
    return Document(source, kind, roots, parsed.commented)


def _placed(node: Node, text: Text) -> Node:
    """The node with the places of its characters in the script; an unknown value keeps its reason."""
    span = None if node.span is None else _place(text, node.span)
    if isinstance(node, Scalar):
        if MARK not in node.text:
            return Scalar(node.text, span, plain=node.plain, tag=node.tag, value=node.value)
        part = _stretch(text, node.span) if node.span is not None else text
        return Scalar(part.display, span, plain=node.plain, value=Unresolved(f"{part.display}: {part.reason}"))
    if isinstance(node, Sequence):
        return Sequence([_placed(item, text) for item in node.items], span)
    entries = {
        key: Entry(key, None if entry.span is None else _place(text, entry.span), _placed(entry.value, text))
        for key, entry in node.entries.items()
    }
    return Mapping(entries, span)


def _offset(text: Text, line: int, column: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = text.chars.find("\n", at) + 1
    return at + column - 1


def _stretch(text: Text, span: Span) -> Text:
    return text.slice(_offset(text, span.line, span.column), _offset(text, span.end_line, span.end_column))


def _place(text: Text, span: Span) -> Span | None:
    """The place in the script of a place in the written file."""
    part = _stretch(text, span)
    first = part.place()
    if first is None:
        return text.place(_offset(text, span.line, span.column))
    last = part.place(len(part) - 1)
    if last is None or last.line != first.line or last.path != first.path:
        return first
    return Span(first.path, first.line, first.column, last.line, max(last.end_column, first.end_column))
