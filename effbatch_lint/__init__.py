"""effbatch-lint: the effective batch of a training run, computed from its config files with its framework's arithmetic."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from effbatch_lint.recipe import Recipe

__version__ = "0.1.0"


def explain(
    paths: Iterable[str | os.PathLike[str]],
    world_size: int | None = None,
    overrides: Sequence[str] = (),
    framework: str | None = None,
) -> list[Recipe]:
    """The recipes that the files describe, each with its batches and where every number came from.

    The paths of one call belong together: files that another one names are part of its recipe. ``overrides`` are
    ``KEY=VALUE`` in the framework's spelling.
    """
    from effbatch_lint import engine  # noqa: PLC0415 - `import effbatch_lint` alone stays free

    found = engine.explain(
        [os.fspath(path) for path in paths], world_size=world_size, overrides=overrides, framework=framework
    )
    return found[0]
