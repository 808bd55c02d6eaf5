"""A call of the tool: what is asked for, the files that may be read, and what they gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.compose.code import Code
    from effbatch_lint.files import Files
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.settings.records import Settings
    from effbatch_lint.source import Unreadable
    from effbatch_lint.targets.target import Target


class UsageError(Exception):
    """The call itself is wrong: a framework that does not exist, an override without ``=``. Exit status 2."""


class Options(NamedTuple):
    """What a call asks for. ``framework`` forces one; ``target`` is declared by the call itself; ``scripts`` asks for the
    launch scripts of the project that name a given config."""

    paths: tuple[str, ...] = ()
    world_sizes: tuple[int, ...] = ()
    overrides: tuple[str, ...] = ()
    target: Target | None = None
    framework: str | None = None
    scripts: bool = False


class Unread(NamedTuple):
    """A file that gave no recipe, and why. ``refused``: it is a training config, of which nothing can be composed."""

    path: str
    reason: str
    refused: bool = False

    def as_dict(self) -> dict[str, object]:
        """The contract's form."""
        return {"path": self.path, "reason": self.reason}


class Call(NamedTuple):
    """A call, prepared: what it asks for, under which settings, and the files it may read.

    Attributes:
        forced: the framework that every config is read as, when one is named.
        custom: the trainers that the settings describe.
        given: every file to look at, and whether it was named itself (or found in a folder).
        handed: the absolute paths of the files that were named.
        code: what the project's Python code says to Hydra.
        looked_up: the scripts of the project that may name one of them, as shown.
    """

    options: Options
    settings: Settings
    files: Files
    forced: Framework | None
    custom: list[Framework]
    given: dict[str, bool]
    handed: list[str]
    code: Code
    looked_up: frozenset[str] = frozenset()


class Read(NamedTuple):
    """What the files of a call hold.

    Attributes:
        files: the files themselves.
        settings: what governs them.
        recipes: the runs that they describe.
        unread: the files that are no training configs.
        errors: what is wrong with a file that cannot be read or put together.
        failed: the files of runs that an error kept from being read: nothing else is to be said of them.
        given: the paths that the call asked for, as shown.
    """

    files: Files
    settings: Settings
    recipes: list[Recipe]
    unread: list[Unread]
    errors: list[Unreadable]
    failed: set[str]
    given: set[str]
