"""Another number where one of the batch's numbers stands: how it is typed there, and what the run's batch is with it.

A number may stand in a config, in a companion that it names (a DeepSpeed JSON), on the line of a launch script, on this
tool's own command line, or nowhere, as a default. What cannot be typed at a place of its own is no change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.merge import override
from effbatch_lint.documents.document import kind_of
from effbatch_lint.documents.nodes import Scalar

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.compose.config import Config, Place
    from effbatch_lint.launch import Argument, Launch
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.terms import Origin, Term


class Change(NamedTuple):
    """Another value for one of the batch's terms, which is read from a file or a line, or is a framework's default."""

    term: Term
    value: int

    @property
    def origin(self) -> Origin | None:
        """Where the number stands; None for a default."""
        return self.term.origins[0] if self.term.origins else None

    @property
    def key(self) -> str:
        """The key as it is spelled there."""
        return (self.origin.key if self.origin is not None else None) or self.term.key or ""


def typed(change: Change, recipe: Recipe) -> str | None:
    """The number as it is written where it stands: ``accumulation: 8``, ``--accumulation 8``, ``a.batch_size = 256``.

    None where it cannot be told how: a variable of a script that is no word of the launch line, a file in code.
    """
    origin = change.origin
    if origin is None:
        return _added(change, recipe)
    if origin.span is None:
        stated = origin.note is not None and origin.note.startswith("--override ")
        return f"--override {change.key}={change.value}" if stated else None
    argument = _argument(change, recipe)
    if argument is not None:
        script = recipe.launch.script or origin.span.path
        return f"{_word(argument, argument.name, change.value)}{_elsewhere(script, recipe)}"
    path = origin.span.path
    in_script = path == recipe.launch.script or kind_of(path) not in ("yaml", "json", "toml")
    return None if in_script else f"{_assignment(path, change.key, change.value)}{_elsewhere(path, recipe)}"


def tried(change: Change, recipe: Recipe, launch: Launch) -> Batch | None:
    """The batch of the run with the change, read by its own framework, companions included; None where it has none."""
    if recipe.framework is None:
        return None
    config = recipe.config
    if change.origin is None:
        key = _missing_key(change, recipe)
        if key is None:
            return None
        config = config.over(override(config.root, f"{key}={change.value}"))
    else:
        argument = _argument(change, recipe)
        place = _place(change, recipe, argument)
        if place is None:
            return None
        places = {place: change.value}
        config, launch = config.assuming(places), _assuming(launch, places)
        if argument is not None:
            other = argument._replace(text=str(change.value), reason=None, word=None)
            launch = launch._replace(arguments=tuple(other if a is argument else a for a in launch.arguments))
    return next(iter(recipe.framework.read(config, launch)), None)


def _assuming(launch: Launch, places: dict[Place, int]) -> Launch:
    def changed(config: Config | None) -> Config | None:
        return None if config is None else config.assuming(places)

    return launch._replace(accelerate=changed(launch.accelerate), settings=changed(launch.settings))


def _place(change: Change, recipe: Recipe, argument: Argument | None) -> Place | None:
    """The scalar that is replaced. Words of a line that one variable fills stand in one place: the word itself is told."""
    span = change.origin.span if change.origin is not None else None
    shared = argument is not None and any(
        other is not argument and any(origin.span == span for origin in other.origins)
        for other in recipe.launch.arguments
    )
    if span is not None and not shared:
        return span
    node = recipe.config.node(change.key)
    return id(node) if isinstance(node, Scalar) and node.span == span else None


def _argument(change: Change, recipe: Recipe) -> Argument | None:
    """The word of the launch line that holds the number."""
    span = change.origin.span if change.origin is not None else None
    if span is None:
        return None
    return next(
        (
            argument
            for argument in reversed(recipe.launch.arguments)
            if argument.text is not None
            and _last(argument.name) == _last(change.key)
            and any(origin.span == span for origin in argument.origins)
        ),
        None,
    )


def _added(change: Change, recipe: Recipe) -> str | None:
    """What is written for a default: a key of the config, or one more flag of a line that has no config."""
    key = _missing_key(change, recipe)
    path = recipe.config.path
    if key is None:
        return None
    if kind_of(path) in ("yaml", "json", "toml"):
        return f"{_assignment(path, key, change.value)}{_elsewhere(path, recipe)}"
    like = _example(recipe)
    return None if like is None else _word(like, key, change.value)


def _missing_key(change: Change, recipe: Recipe) -> str | None:
    """A default's key as the config, or else the line's other flags, would spell it; None where nothing shows how."""
    if kind_of(recipe.config.path) in ("yaml", "json", "toml"):
        return change.key
    like = _example(recipe)
    if like is None or not change.key:
        return None
    return change.key.replace("_", "-") if "-" in like.name else change.key.replace("-", "_")


def _example(recipe: Recipe) -> Argument | None:
    """A flag of the line that states a number of the batch, in whose style another would be written."""
    spans = {span for batch in recipe.batches[:1] for term in batch.terms().values() for span in term.spans}
    return next(
        (
            argument
            for argument in recipe.launch.arguments
            if ("-" in argument.name or "_" in argument.name) and any(o.span in spans for o in argument.origins)
        ),
        None,
    )


def _word(argument: Argument, name: str, value: int) -> str:
    """As the line writes it: a flag, or a ``key=value`` word; parsers of dotted flags want the sign."""
    sign = "=" if "-" not in argument.dashes or "." in name else " "
    return f"{argument.dashes}{name}{sign}{value}"


def _assignment(path: str, key: str, value: int) -> str:
    if path.endswith(".toml"):
        return f"{key} = {value}"
    return f'"{key}": {value}' if path.endswith(".json") else f"{key}: {value}"


def _elsewhere(path: str, recipe: Recipe) -> str:
    return f" in {path}" if path != recipe.path else ""


def _last(key: str) -> str:
    return key.lstrip("+-").rpartition(".")[2].replace("-", "_")
