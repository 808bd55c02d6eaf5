"""Files -> candidates: each file of a call is looked at once, and what it gives or why it gives nothing is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.call import Read, Unread, UsageError
from effbatch_lint.compose.bases import names_bases
from effbatch_lint.compose.marks import lists_defaults
from effbatch_lint.documents.document import kind_of
from effbatch_lint.frameworks import table
from effbatch_lint.project import candidates
from effbatch_lint.source import MAX_PARSED, Span, Unreadable
from effbatch_lint.starters import may_be_manifest, may_start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.call import Call
    from effbatch_lint.documents.document import Document
    from effbatch_lint.files import Files
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.project.candidates import Candidate


def read_file(path: str, call: Call, read: Read, *, named: bool) -> list[Candidate]:
    """The training configs in one file. A file that no framework's words occur in is not even parsed."""
    files = call.files
    data = files.content(path) if named else files.quietly(path)
    if data is None:
        return []
    kind = kind_of(path)
    if kind == "shell" and not may_start(data):
        read.unread.append(Unread(files.shown(path), "starts no training: none of the launchers' names"))
        return []
    if len(data) > MAX_PARSED and kind == "json" and b"effbatch" not in data:
        read.unread.append(Unread(files.shown(path), f"{len(data):,} bytes: a vocabulary or a data set, no config"))
        return []
    starts = kind == "shell" or (kind == "yaml" and may_be_manifest(data))
    known = starts or call.custom or call.forced is not None or table.may_be_training(data)
    if not known and not names_bases(data) and not lists_defaults(data):
        if named:
            files.refuse_hostile(path)
        read.unread.append(Unread(files.shown(path), "not a training config: none of the frameworks' keys"))
        return []
    document = files.document(path)
    if kind == "shell":
        return _started(document, call, read)
    found = candidates.candidates(document, call)
    read.errors.extend(candidate.refusal for candidate in found if candidate.refusal is not None)
    if not found and starts:
        found = _started(document, call, read)
    elif not found:
        read.unread.append(Unread(files.shown(path), "not a training config that is recognised"))
    return found


def _started(document: Document, call: Call, read: Read) -> list[Candidate]:
    from effbatch_lint.project import scripts  # noqa: PLC0415 - the reading of scripts costs what ten configs cost

    return scripts.candidates(document, call, read)


def too_deep(path: str, call: Call) -> Unreadable:
    """The refusal of a file of which something lies too deep for the recursion of its reader."""
    at = Span(call.files.shown(path), 1, 1, 1, 1)
    return Unreadable(at, "its parts lie within each other deeper than the limit")


def is_template(path: str, files: Files) -> bool:
    """Whether a file that does not parse is the source of one that will: a Helm chart, a Jinja template; or JSON lines."""
    data = files.peek(path) or b""
    return b"effbatch" not in data and (b"{{" in data or b"{%" in data or b"}\n{" in data)


def nothing(call: Call) -> Read:
    """For files that are only looked at: what is wrong with them is nobody's question."""
    return Read(call.files, call.settings, [], [], [], set(), set())


def forced(name: str | None, custom: Iterable[Framework]) -> Framework | None:
    """The framework that is named, of the settings' own or of those that are known.

    Raises:
        UsageError: there is none of that name.
    """
    if name is None:
        return None
    found = next((framework for framework in custom if framework.name == name), None) or table.by_name(name)
    if found is None:
        raise UsageError(f"no framework is called {name!r}: see `effbatch-lint frameworks`")
    return found
