"""Which world size holds for a run, of those that the call, the settings, the files and the launch line state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.launch import NO_WORLD_SIZE
from effbatch_lint.terms import Origin, Term, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.project.launched import Launched


class WorldSizes(NamedTuple):
    """The world sizes of a recipe, in accelerators.

    Attributes:
        sizes: one for each job that is run; one that is unknown where nothing states it.
        contradicted: what is declared for this tool and is not what the launch line starts.
    """

    sizes: tuple[Term, ...]
    contradicted: Term | None = None


def world_sizes(
    asked: Sequence[int], declared: Sequence[Term], candidate: Candidate, of_project: Sequence[Term]
) -> WorldSizes:
    """The call's own (``--world-size``), else what is declared for the run, what its line starts, the project's.

    A declaration says how a script is started that leaves it open (``${NNODES:-1}``), and so does the project's. One
    that contradicts the line is a mistake, and the line's own number is what trains.

    Args:
        asked: the call's.
        declared: by the settings' entry for the recipe, or by a pragma or ``effbatch:`` node of its files.
        candidate: the run.
        of_project: the settings' for all recipes.
    """
    if asked:
        return WorldSizes(tuple(_asked(size) for size in asked))
    if candidate.launched is None or not candidate.launched.launch.world_size.known:
        started = candidate.launched.launch.world_size if candidate.launched is not None else unknown(NO_WORLD_SIZE)
        return WorldSizes(tuple(declared) or tuple(of_project) or (started,))
    return _of_line(declared, candidate, candidate.launched, of_project)


def _of_line(declared: Sequence[Term], candidate: Candidate, line: Launched, of_project: Sequence[Term]) -> WorldSizes:
    """The same, for a launch line whose own number of devices is known."""
    from effbatch_lint.project.on_devices import assumed, may_start, realised  # noqa: PLC0415 - only for a launch line

    started = line.launch.world_size
    if not declared:
        return WorldSizes((tuple(of_project) if assumed(started) else ()) or (started,))
    # Several declared sizes are several jobs: the script starts one of them.
    if any(size.value == started.value for size in declared):
        return WorldSizes(tuple(declared))
    if assumed(started):
        possible = tuple(size for size in declared if may_start(line.launch, size))
        return WorldSizes(possible) if possible else WorldSizes((started,), declared[0])
    possible = tuple(size for size in declared if isinstance(size.value, int) and realised(candidate, size.value))
    # What decides a condition is not known here: the declared job may be another way through the script.
    if possible or line.sizes.intersection(size.value for size in declared):
        return WorldSizes(possible or (started,))
    return WorldSizes((started,), declared[0])


def _asked(size: int) -> Term:
    return Term(size, "declared", (Origin(None, "--world-size", f"--world-size {size}"),), key="--world-size")
