"""What the settings come to: plain records, for the stages that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.findings import Misdeclared
    from effbatch_lint.source import Span
    from effbatch_lint.targets.target import Target
    from effbatch_lint.terms import Term


class RecipeSettings(NamedTuple):
    """A ``[[recipes]]`` entry: files that are one run, with what is declared of it. ``span`` is where its files stand."""

    files: tuple[str, ...]
    name: str | None = None
    overrides: tuple[str, ...] = ()
    world_sizes: tuple[Term, ...] = ()
    targets: tuple[Target, ...] = ()
    framework: str | None = None
    span: Span | None = None


class Settings(NamedTuple):
    """What the project says. ``folder`` is where paths in it start; ``unknown`` are keys that do not exist."""

    folder: str
    path: str | None = None
    targets: tuple[Target, ...] = ()
    world_sizes: tuple[Term, ...] = ()
    framework: str | None = None
    exclude: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    ignore: frozenset[str] = frozenset()
    extend_select: frozenset[str] = frozenset()
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    fail_on: str = "error"
    recipes: tuple[RecipeSettings, ...] = ()
    custom: tuple[Config, ...] = ()
    unknown: tuple[Misdeclared, ...] = ()
    search_path: tuple[str, ...] = ()
    resolvers: tuple[tuple[str, str], ...] = ()


def none(folder: str) -> Settings:
    """A project without settings."""
    return Settings(folder)
