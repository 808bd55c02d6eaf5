"""``effbatch_lint.verify``: the check in the training script itself, on the config that really runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from effbatch_lint import arguments
from effbatch_lint.call import UsageError
from effbatch_lint.compose.config import Config, from_mapping
from effbatch_lint.documents.pragmas import Pragmas
from effbatch_lint.frameworks import table
from effbatch_lint.launch import NO_WORLD_SIZE, Launch
from effbatch_lint.source import Unreadable
from effbatch_lint.targets.declared import declared as declared_in
from effbatch_lint.targets.verdict import judge
from effbatch_lint.terms import Origin, Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.frameworks.framework import Framework


def problem(config: object, world_size: int | None, target: str | int | None, framework: str | None) -> str | None:
    """What is wrong with the config's batch, in a sentence; None when it meets the target.

    Raises:
        TypeError: no mapping.
        UsageError: no framework recognises the config, or the call itself is wrong.
    """
    try:
        composed = from_mapping(_plain(config))
    except Unreadable as error:
        raise UsageError(error.reason) from None
    known = table.by_name(framework) if framework is not None else _recognised(composed)
    if known is None:
        asked = (
            f"no framework is called {framework!r}"
            if framework
            else "the config is of no framework that is recognised; name it: framework="
        )
        raise UsageError(asked)
    stated = declared_in(composed, Pragmas())
    world = next(iter(stated.world_sizes), unknown(NO_WORLD_SIZE))
    if world_size is not None:
        world = Term(world_size, "declared", (Origin(None, None, f"world_size={world_size}"),), key="world_size")
    batch = next(iter(known.read(composed, Launch(world))), None)
    if batch is None:
        return f"{known.name} describes no batch with this config"
    if batch.refused is not None:
        return f"{known.name} refuses this config: {batch.refused}"
    declared = arguments.target(target) or next(iter(stated.targets), None)
    if declared is None:
        return None if batch.effective.known else f"the effective batch is not known: {batch.effective.reason}"
    verdict = judge(batch, declared)
    if verdict.met:
        return None
    if verdict.computed.value is None:
        return f"{declared.words(verdict.unit)} declared, and the batch is not known: {verdict.computed.reason}"
    found = f"{declared.words(verdict.unit)} per optimizer step declared, {shown(verdict.computed.value)} computed"
    if verdict.factors:
        found += f": {' or '.join(each.words for each in verdict.factors)} was counted as replicas"
    return found


def _plain(config: object) -> Mapping[str, object]:
    if type(config).__module__.split(".")[0] == "omegaconf":
        from omegaconf import OmegaConf  # noqa: PLC0415 - the caller's own, only when it hands a DictConfig

        config = OmegaConf.to_container(config, resolve=True)
    if not isinstance(config, Mapping):
        raise TypeError(f"verify() takes a mapping or a DictConfig, not {type(config).__name__}")
    return config


def _recognised(config: Config) -> Framework | None:
    """The framework with most distinctive keys; all are asked, for there is no text whose words could rule any out."""
    known = [table.load(module) for module, _ in table.TABLE]
    best = max(known, key=lambda framework: framework.recognise(config))
    return best if best.recognise(config) else None
