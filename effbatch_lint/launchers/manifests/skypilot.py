"""SkyPilot: num_nodes x accelerators, handed to ``run:`` as SKYPILOT_NUM_NODES and SKYPILOT_NUM_GPUS_PER_NODE.

Upstream: skypilot-org/skypilot docs (reference/yaml-spec, running-jobs/environment-variables): one node and one device
by default, a fraction of a device is rounded up in the variable; ``envs`` are defaults that a caller may replace; a
list of accelerators are alternatives.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Mapping, Node, Scalar, Sequence
from effbatch_lint.launch import Allocation, Launch
from effbatch_lint.launchers.manifests.job import Manifest, alone, number_text, running
from effbatch_lint.terms import Origin, Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_RUNNING = ("SKYPILOT_NODE_RANK", "SKYPILOT_NODE_IPS", "SKYPILOT_TASK_ID", "SKYPILOT_CLUSTER_INFO")


def recognised(config: Config) -> bool:
    """A task: something to run, on resources or nodes."""
    return config.has("run") and (config.node("resources") is not None or config.has("num_nodes"))


def launches(manifest: Manifest) -> list[Launch]:
    """The launches in ``run:``."""
    config = manifest.config
    nodes = config.integer("num_nodes", default=1)
    devices = _devices(config)
    allocation = Allocation(nodes, devices, None if devices is None else product(nodes, devices))
    environment = manifest.environment(config.node("envs"))
    environment["SKYPILOT_NUM_NODES"] = number_text(nodes, "SKYPILOT_NUM_NODES")
    if devices is not None:
        environment["SKYPILOT_NUM_GPUS_PER_NODE"] = number_text(devices, "SKYPILOT_NUM_GPUS_PER_NODE")
    for name in _RUNNING:
        environment.setdefault(name, running(name, "SkyPilot"))
    run = config.node("run")
    found = [] if run is None else manifest.of_script(manifest.text(run), environment, allocation)
    world = allocation.devices or unknown("resources.accelerators is not given")
    return found or [alone(manifest, "skypilot", allocation, world)]


def _devices(config: Config) -> Term | None:
    """The devices per node; unknown when the alternatives differ."""
    candidates = [config.node("resources.accelerators")]
    for key in ("resources.any_of", "resources.ordered"):
        candidates += [item.get("accelerators") for item in config.items(key) if isinstance(item, Mapping)]
    counts = [count for node in candidates if node is not None for count in _counts(node)]
    if not counts:
        return None
    if len({count.value for count in counts}) == 1:
        return counts[0]
    origins = tuple(origin for count in counts for origin in count.origins)
    return unknown("the alternatives in resources have different numbers of devices", *origins)


def _counts(node: Node) -> list[Term]:
    """``H100:8``, ``{H100: 8}``, or a list of such."""
    if isinstance(node, Sequence):
        return [count for item in node.items for count in _counts(item)]
    if isinstance(node, Mapping):
        return [
            _count(entry.value.text, (Origin(entry.value.span, "resources.accelerators"),))
            for entry in node.entries.values()
            if isinstance(entry.value, Scalar)
        ]
    name, _, count = node.text.partition(":")
    return [_count(count or "1", (Origin(node.span, "resources.accelerators"),))] if name.strip() else []


def _count(text: str, origins: tuple[Origin, ...]) -> Term:
    found = re.fullmatch(r"\s*([0-9]{1,6})(\.[0-9]+)?\s*", text)
    if found is None:
        return unknown(f"resources.accelerators counts {text.strip() or 'nothing'}", *origins)
    value = int(found[1]) + (1 if found[2] and found[2].strip(".0") else 0)
    return Term(value, "read", origins, None, None, "resources.accelerators")
