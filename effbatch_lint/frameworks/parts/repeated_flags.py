"""A flag of the batch that stands twice under different spellings or in two files: the later one counts, silently.

The rule EB307 sees a key that is repeated as it is spelled, in one file; which spellings are one key only a framework knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.compose.spelling import repeats, text_of
from effbatch_lint.terms import Origin, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from effbatch_lint.documents.nodes import Mapping


def repeated_flags(tree: Mapping, rule: Callable[[str], str], keys: Iterable[str]) -> Iterator[Problem]:
    """A problem for each of the ``keys`` that two entries of a ``respelled`` tree set to two values."""
    for earlier, counting in repeats(tree, rule, keys):
        ignored, used = (
            unknown(f"{entry.key}: {text_of(entry)}", Origin(entry.value.span, entry.key), key=entry.key)
            for entry in (earlier, counting)
        )
        yield Problem(
            "EB307",
            f"{earlier.key} stands twice: {text_of(counting)} counts, and {text_of(earlier)} has no effect",
            (ignored, used),
            help="remove one of them",
        )
