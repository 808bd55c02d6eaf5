"""GNU parallel: one command line, started once for each value behind ``:::`` or line of its input.

Source: the manual of GNU parallel: ``{}`` stands for the value, which comes last where no ``{}`` does; the words are
joined and given to a shell. What differs from job to job is not known, unless there is one value only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, spaced, unknowable, written

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start

_VALUED = frozenset((
    "-j", "--jobs", "-P", "--max-procs", "-n", "--max-args", "-N", "-a", "--arg-file", "--joblog", "--delay", "--timeout",
    "--results", "-S", "--sshlogin", "-C", "--colsep", "--retries", "--env", "--tmpdir", "--halt", "--memfree", "--wd",
    "--workdir", "--load", "--rpl", "-d", "--delimiter", "--tagstring", "-L",
))  # fmt: skip
_HOLE = re.compile(r"\{(?:\d+|[/.#%]|//|/\.|\d+[/.]{1,2})?\}")


def each(start: Start) -> Start | None:
    """The command for any of the values; None when no command is named."""
    words = start.words[1:]
    while words and words[0].chars.startswith("-"):
        words = words[2 if words[0].chars in _VALUED else 1 :]
    at = next((index for index, word in enumerate(words) if re.fullmatch(r":::?:?\+?", word.chars)), len(words))
    command, values = spaced(list(words[:at])), words[at + 1 :]
    if not command:
        return None
    if not _HOLE.search(command.chars):
        command = spaced([command, written("{}")])
    only = values[0] if len(values) == 1 and values[0].known else None
    return start.left((written("bash"), written("-c"), _filled(command, only)))


def _filled(command: Text, only: Text | None) -> Text:
    parts, at = [], 0
    for hole in _HOLE.finditer(command.chars):
        differs = unknowable(hole[0], "parallel puts another value here for each job", filled=True)
        parts += [command.slice(at, hole.start()), only if only is not None and hole[0] == "{}" else differs]
        at = hole.end()
    return Text.joined([*parts, command.slice(at)])
