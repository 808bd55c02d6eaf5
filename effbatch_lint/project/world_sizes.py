"""Which world size holds for a run, of those that the call, the settings, the files and the launch line state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.terms import Origin, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.launch import Launch


class WorldSizes(NamedTuple):
    """The world sizes of a recipe, in accelerators.

    Attributes:
        sizes: one for each job that is run; one that is unknown where nothing states it.
        contradicted: what is declared for this tool and is not what the launch line starts.
    """

    sizes: tuple[Term, ...]
    contradicted: Term | None = None


def world_sizes(
    asked: Sequence[int], declared: Sequence[Term], launch: Launch, of_project: Sequence[Term]
) -> WorldSizes:
    """The call's own (``--world-size``), else what is declared for the run, what its line starts, the project's.

    A declaration says how a script is started that leaves it open (``${NNODES:-1}``), and so does the project's. One
    that contradicts the line is a mistake, and the line's own number is what trains.

    Args:
        asked: the call's.
        declared: by the settings' entry for the recipe, or by a pragma or ``effbatch:`` node of its files.
        launch: the launch line.
        of_project: the settings' for all recipes.
    """
    started = launch.world_size
    if asked:
        return WorldSizes(tuple(_asked(size) for size in asked))
    # Several declared sizes are several jobs: the script starts one of them.
    if not started.known or _assumed(started) or any(size.value == started.value for size in declared):
        return WorldSizes(tuple(declared) or tuple(of_project) or (started,))
    return WorldSizes((started,), declared[0] if declared else None)


def _assumed(started: Term) -> bool:
    from effbatch_lint.project.on_devices import assumed  # noqa: PLC0415 - only a launch line gets here

    return assumed(started)


def _asked(size: int) -> Term:
    return Term(size, "declared", (Origin(None, "--world-size", f"--world-size {size}"),), key="--world-size")
