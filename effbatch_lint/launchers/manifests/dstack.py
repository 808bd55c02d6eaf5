"""dstack tasks: nodes x GPUs, handed to ``commands:`` as DSTACK_NODES_NUM, DSTACK_GPUS_PER_NODE and DSTACK_GPUS_NUM.

Source: dstack's documented task configuration: one node by default; ``gpu`` is ``H100:8``, ``24GB:2``, a count, a
mapping with ``count``, or a range (``1..8``), which leaves the number to the offer that is found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.nodes import Scalar, Sequence
from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launch import Allocation, Launch
from effbatch_lint.launchers.manifests.job import Manifest, alone, number_text, running
from effbatch_lint.terms import Origin, Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


def recognised(config: Config) -> bool:
    """A task with commands."""
    return config.text("type") == "task" and config.node("commands") is not None


def launches(manifest: Manifest) -> list[Launch]:
    """The launches in ``commands:``."""
    config = manifest.config
    nodes = config.integer("nodes", default=1)
    devices = _devices(config)
    world = None if devices is None else product(nodes, devices)
    allocation = Allocation(nodes, devices, world)
    environment = manifest.environment(config.node("env"))
    for name, number in (("DSTACK_NODES_NUM", nodes), ("DSTACK_GPUS_PER_NODE", devices), ("DSTACK_GPUS_NUM", world)):
        if number is not None:
            environment[name] = number_text(number, name)
    for name in ("DSTACK_NODE_RANK", "DSTACK_MASTER_NODE_IP", "DSTACK_NODES_IPS"):
        environment.setdefault(name, running(name, "dstack"))
    commands = config.node("commands")
    lines = commands.items if isinstance(commands, Sequence) else []
    text = Text.joined(part for line in lines for part in (manifest.text(line), written("\n")))
    found = manifest.of_script(text, environment, allocation)
    return found or [alone(manifest, "dstack", allocation, world or unknown("resources.gpu is not given"))]


def _devices(config: Config) -> Term | None:
    node = config.node("resources.gpu")
    key = "resources.gpu"
    if node is None:
        return None
    if not isinstance(node, Scalar):
        key = "resources.gpu.count"
        node = config.node(key)
    if not isinstance(node, Scalar):
        return Term(1, "default", (), None, None, key)
    where = Origin(node.span, key)
    for part in node.text.split(":"):
        count = re.fullmatch(r"\s*([0-9]{1,5})(\.\.([0-9]*))?\s*", part)
        if count is not None and count[2] is None:
            return Term(int(count[1]), "read", (where,), None, None, key)
        if count is not None and count[3] != count[1]:
            return unknown(f"{key} is the range {part.strip()}", where, key=key)
    return Term(1, "default", (where,), None, None, key)
