"""Determined: ``resources.slots_per_trial`` is the total, a process per slot; ``hyperparameters`` go to the program.

Upstream: determined-ai docs (reference/training/experiment-config-reference): one slot by default. The section
``training_args`` of the hyperparameters is what Determined's examples hand to HF's TrainingArguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping, Scalar, leaves
from effbatch_lint.launch import Allocation, Argument, Launch
from effbatch_lint.launchers import words
from effbatch_lint.launchers.manifests.job import Manifest, alone, joined
from effbatch_lint.launchers.start import Said
from effbatch_lint.terms import Origin

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_UNWRAPPED = ("training_args.", "training_arguments.")


def recognised(config: Config) -> bool:
    """An experiment: an entry point, with slots, a searcher or hyperparameters."""
    return config.has("entrypoint") and config.count("searcher", "hyperparameters", "resources", "max_restarts") > 1


def launches(manifest: Manifest) -> list[Launch]:
    """The launch of the entry point, with the hyperparameters among its arguments."""
    config = manifest.config
    slots = config.integer("resources.slots_per_trial", default=1)
    allocation = Allocation(devices=slots)
    environment = manifest.environment(config.node("environment.environment_variables"))
    text = joined(manifest, config.node("entrypoint"))
    said = Said("determined", world_size=slots, processes=slots)
    found = [] if text is None else manifest.of_script(text, environment, allocation, said)
    parameters = _parameters(config)
    return [
        launch._replace(
            arguments=(*parameters, *launch.arguments),
            overrides={**words.overrides(parameters), **launch.overrides},
        )
        for launch in found or [alone(manifest, "determined", allocation, slots)]
    ]


def _parameters(config: Config) -> tuple[Argument, ...]:
    root = config.node("hyperparameters")
    if not isinstance(root, Mapping):
        return ()
    found = []
    for path, entry in leaves(root):
        if isinstance(entry.value, Scalar):
            name = next((path.removeprefix(prefix) for prefix in _UNWRAPPED if path.startswith(prefix)), path)
            origin = Origin(entry.value.span, f"hyperparameters.{path}")
            found.append(Argument(name, entry.value.text, "", (origin,)))
    return tuple(found)
