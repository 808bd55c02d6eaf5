"""MosaicML's mcli: ``compute.gpus`` is the total; ``command:`` starts composer in it.

Source: MosaicML's run schema as llm-foundry's mcli/*.yaml use it: the platform sets WORLD_SIZE (processes here),
LOCAL_WORLD_SIZE and NODE_RANK for the composer launcher; ``parameters:`` is mounted as /mnt/config/parameters.yaml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.launch import Allocation, Launch
from effbatch_lint.launchers.manifests.job import Manifest, alone, number_text, running
from effbatch_lint.terms import exact, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


def recognised(config: Config) -> bool:
    """A run: compute with its total, and something to run on it."""
    return config.has("compute.gpus", "gpu_num") and config.has("command", "image")


def launches(manifest: Manifest) -> list[Launch]:
    """The launches in ``command:``."""
    config = manifest.config
    key = "compute.gpus" if config.has("compute.gpus") else "gpu_num"
    world = config.integer(key)
    nodes = config.integer("compute.nodes") if config.has("compute.nodes") else None
    devices = None if nodes is None else exact(world, nodes)
    allocation = Allocation(nodes, devices, world)
    environment = manifest.environment(config.node("env_variables"))
    environment.setdefault("WORLD_SIZE", number_text(world, "WORLD_SIZE"))
    if devices is not None:
        environment.setdefault("LOCAL_WORLD_SIZE", number_text(devices, "LOCAL_WORLD_SIZE"))
    environment.setdefault("NODE_RANK", running("NODE_RANK", "the platform"))
    command = config.node("command")
    found = [] if command is None else manifest.of_script(manifest.text(command), environment, allocation)
    unsaid = unknown("compute.gpus is the total; how many devices a node has is the cluster's")
    return [
        launch if launch.launcher not in ("composer", "python") else launch._replace(
            world_size=world.named("world_size"), nodes=nodes or unsaid, devices_per_node=devices or unsaid
        )
        for launch in found
    ] or [alone(manifest, "mcli", allocation, world)]  # fmt: skip
