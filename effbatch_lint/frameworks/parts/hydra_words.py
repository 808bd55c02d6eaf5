"""Words of a launch line that Hydra's own grammar refuses, where the tree they are for is not in the project.

A tree that is at hand is composed with the words, and refuses them itself (compose/overrides.py is the grammar). Shared
by the frameworks whose programs are Hydra's and whose trees lie in an installed package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.launch import Launch


def refused_words(batch: Batch, launch: Launch) -> Batch:
    """The batch, whose replicas are unknown where Hydra reads no configuration out of the line."""
    problems = tuple(unreadable_words(launch))
    if not problems:
        return batch
    replicas = unknown(problems[0].message, *batch.layout.replicas.origins)
    return batch._replace(layout=batch.layout._replace(replicas=replicas), problems=(*problems, *batch.problems))


def unreadable_words(launch: Launch) -> Iterator[Problem]:
    """The ``key=value`` words that no Hydra program starts with."""
    from effbatch_lint.compose.overrides import parse  # noqa: PLC0415 - only a launch line has words

    for argument in launch.arguments:
        if "-" in argument.dashes or not argument.name or argument.text is None or argument.reason is not None:
            continue
        word = f"{argument.dashes}{argument.name}={argument.text}"
        try:
            parse(word)
        except ValueError as error:
            yield Problem(
                "EB304",
                f"Hydra cannot read a word of the launch line: {error}",
                (unknown(word, *argument.origins, key=argument.name),),
                refuses=True,
                help="put the value in quotes that reach Hydra, or fill in the placeholder",
            )
