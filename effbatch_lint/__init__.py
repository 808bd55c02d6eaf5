"""effbatch-lint: the effective batch of a training run, computed from its config files with its framework's arithmetic."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from effbatch_lint.recipe import Recipe
    from effbatch_lint.report.report import Report
    from effbatch_lint.settings.records import Settings

__version__ = "0.1.0"
__all__ = ["BatchMismatch", "check", "explain", "verify"]


Paths: TypeAlias = "Iterable[str | os.PathLike[str]] | str | os.PathLike[str]"


class BatchMismatch(ValueError):
    """The effective batch of a running config is not the declared one."""


def explain(
    paths: Paths,
    world_size: int | None = None,
    overrides: Sequence[str] = (),
    framework: str | None = None,
) -> list[Recipe]:
    """The recipes that the files describe, each with its batches and where every number came from.

    The paths of one call belong together: a file that another one names is part of its recipe. ``overrides`` are
    ``KEY=VALUE`` in the framework's spelling, ``env:NAME=VALUE`` or ``arg:VALUE``.

    Warns:
        UserWarning: a file that cannot be read, parsed or composed, which is none of the recipes: which, and why.
    """
    import warnings  # noqa: PLC0415 - `import effbatch_lint` alone stays free

    from effbatch_lint import call, engine  # noqa: PLC0415 - as above
    from effbatch_lint.settings.place import governing  # noqa: PLC0415 - as above

    names = _names(paths)
    options = call.Options(names, _sizes(world_size), tuple(overrides), framework=framework)
    report = engine.explain(options, governing(names))
    for error in report.errors:
        warnings.warn(str(error), stacklevel=2)
    return report.recipes


def check(
    paths: Paths,
    settings: Settings | Mapping[str, object] | str | os.PathLike[str] | None = None,
    world_size: int | None = None,
    overrides: Sequence[str] = (),
    target: str | int | None = None,
) -> Report:
    """The findings of all rules on the files; ``report.as_dict()`` is the contract's JSON.

    ``settings``: a settings file, a mapping with the same keys, or None for the nearest file above.
    ``target``: 2048, "2048 sequences", "8.4M tokens".
    """
    from effbatch_lint import arguments, call, engine  # noqa: PLC0415 - `import effbatch_lint` alone stays free
    from effbatch_lint.settings import place  # noqa: PLC0415 - as above
    from effbatch_lint.settings.records import Settings  # noqa: PLC0415 - as above

    names = _names(paths)
    options = call.Options(names, _sizes(world_size), tuple(overrides), arguments.target(target))
    if settings is None:
        chosen = place.governing(names)
    elif isinstance(settings, Settings):
        chosen = settings
    elif isinstance(settings, (str, os.PathLike)):
        chosen = place.load(os.fspath(settings))
    else:
        chosen = place.from_python(settings, os.getcwd())
    return engine.check(options, chosen)


def verify(
    config: object,
    world_size: int | None = None,
    target: str | int | None = None,
    framework: str | None = None,
) -> None:
    """Check a config in a training script: any mapping, or an OmegaConf ``DictConfig``.

    Raises:
        BatchMismatch: the batch cannot be known, the framework would refuse, or it is not the target.
    """
    from effbatch_lint import verification  # noqa: PLC0415 - `import effbatch_lint` alone stays free

    problem = verification.problem(config, next(iter(_sizes(world_size)), None), target, framework)
    if problem is not None:
        raise BatchMismatch(problem)


def _names(paths: Paths) -> tuple[str, ...]:
    """The paths of a call; a single one may stand without a list around it."""
    if isinstance(paths, (str, os.PathLike)):
        return (os.fspath(paths),)
    return tuple(os.fspath(path) for path in paths)


def _sizes(world_size: int | None) -> tuple[int, ...]:
    """The world sizes of a call."""
    if world_size is None:
        return ()
    if not isinstance(world_size, int) or isinstance(world_size, bool) or world_size < 1:
        from effbatch_lint.call import UsageError  # noqa: PLC0415 - `import effbatch_lint` alone stays free

        raise UsageError(f"world_size={world_size!r} is no whole number above zero")
    return (world_size,)
