"""Files that are parts of a run -> the runs that include them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.call import Unread
from effbatch_lint.compose.refusal import OPEN_CHOICE
from effbatch_lint.documents.document import kind_of
from effbatch_lint.project.reading import nothing, read_file
from effbatch_lint.project.trees import Trees
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from effbatch_lint.call import Call, Read
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.project.dependents import Dependent


def through(found: list[Candidate], call: Call, read: Read) -> list[Candidate]:
    """The runs that include a file which is only a part of theirs."""
    whole = {c.document.source.real for c in found if c.framework.role == "trainer" and not c.document.is_part}
    whole |= {c.launched.script.source.real for c in found if c.launched is not None}
    trees = Trees(call)
    options: set[str] = set()
    undecided = {unread.path for unread in read.unread if OPEN_CHOICE in unread.reason}
    out: dict[int, Candidate] = {}
    for path, named in call.given.items():
        if kind_of(path) != "yaml" or not os.path.isfile(path):
            continue
        real = os.path.realpath(path)
        if call.files.shown(path) in undecided:
            out.update((id(run), run) for run in trees.open(real))
        if trees.holds(real):
            found_in_tree = trees.through(real, named=named, whole=real in whole)
            if trees.is_option(real):
                # Read by itself, an option does not find what lies beside the primary.
                shown = call.files.shown(path) if named else None
                read.errors[:] = [one for one in read.errors if one.code != "EB902" or one.span.path != shown]
                options.update((os.path.abspath(path),) if found_in_tree.runs else ())
            out.update((id(run), run) for run in found_in_tree.runs)
            for error in found_in_tree.refusals:
                _refused(call.files.shown(path), error, read, named=named)
    # An option is named by its place in the tree: nothing else of the project is looked through for it.
    done = whole | options
    parts = [path for path in call.handed if path not in done and kind_of(path) and os.path.isfile(path)]
    if parts:
        from effbatch_lint.project.dependents import dependents  # noqa: PLC0415 - most calls name whole recipes

        for dependent in dependents(parts, call):
            out.update((id(run), run) for run in _naming(dependent, trees, call, read))
    return list(out.values())


def _refused(shown: str, error: Unreadable, read: Read, *, named: bool) -> None:
    """Keep why a part is in no run: for one that was named a finding, for others what a target in it waits for."""
    said = any((other.span, other.reason) == (error.span, error.reason) for other in read.errors)
    if named and not said:
        read.errors.append(error)
    if named or said:
        read.failed.add(shown)
    else:
        read.unread[:] = [unread for unread in read.unread if unread.path != shown]
        read.unread.append(Unread(shown, error.reason, refused=True))


def _naming(dependent: Dependent, trees: Trees, call: Call, read: Read) -> list[Candidate]:
    """The runs of a config that may name parts; of a file of a tree, those of the tree.

    Whether the part is named for good shows when the batch is read, and the file is opened.
    """
    if kind_of(dependent.path) == "yaml" and trees.holds(dependent.path):
        runs = trees.through(dependent.path, named=True, whole=False).runs
        if runs:
            return runs
    try:
        return read_file(dependent.path, call, nothing(call), named=False)
    except Unreadable as error:
        if error.span.path in map(call.files.shown, dependent.parts):
            read.errors.append(error)
        return []
