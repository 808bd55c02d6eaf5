"""``xpk workload create --command "..."``: the command runs on every host of ``--num-slices`` slices of TPUs, or nodes of GPUs.

Upstream: AI-Hypercomputer/xpk src/xpk/core/system_characteristics.py (the names of the accelerators: v4, v5p and tpu7x
count cores, two to a chip; a name may write the topology instead; GPU names end in the GPUs of a node) and
src/xpk/parser (one slice, one node by default).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launch import Allocation
from effbatch_lint.launchers import words
from effbatch_lint.terms import Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start

# Cores to a device of JAX. Of tpu7x each core is a device of its own.
_TPU = {"v4": 2, "v5p": 2, "v5litepod": 1, "v5e": 1, "v6e": 1}
_NAME = re.compile(r"([a-z0-9]+)-(\d{1,6}|\d{1,3}x\d{1,3}(?:x\d{1,3})?)")
_GPU = re.compile(r"(?:l4|[abh]\d+|gb\d+)(?:-\w+)*?-(\d{1,2})(?:-nolssd)?")
_SWITCHES = frozenset((
    "enable-debug-logs", "use-pathways", "use-vertex-tensorboard", "enable-ops-agent", "restart-on-user-code-failure",
    "headless", "dry-run", "skip-validation", "managed-mldiagnostics", "deploy-stacktrace-sidecar", "debug-dump-gcs",
))  # fmt: skip


def workload(start: Start) -> Start | None:
    """The command on the hosts; None for any other use of xpk."""
    if [word.chars for word in start.words[1:3]] != ["workload", "create"]:
        return None
    found = words.options(start.words[3:], _SWITCHES)
    command = found.values.get("command")
    if command is None:
        return None
    kind = found.values.get("tpu-type") or found.values.get("device-type")
    devices = _devices(kind) if kind is not None else unknown("neither --tpu-type nor --device-type is given")
    slices = found.term("num-nodes") or found.term("num-slices") or start.default(1, "--num-slices")
    world = product(slices, devices)
    said = tuple(option for option in found.arguments() if option.name != "command")
    return start.left((written("bash"), written("-c"), command))._replace(
        launcher="xpk", nodes=slices, devices=devices, world_size=world, options=said,
        job=start.job._replace(allocation=Allocation(slices, devices, world)),
    )  # fmt: skip


def _devices(kind: Text) -> Term:
    """The devices of one slice, or of one node."""
    where = words.origins(kind, "--tpu-type")
    if not kind.known:
        return unknown(f"the accelerator is {kind.display}: {kind.reason}", *where, key="--tpu-type")
    gpus = _GPU.fullmatch(kind.chars)
    if gpus is not None:
        return Term(int(gpus[1]), "read", where, f"{gpus[1]} GPUs of {kind.chars}", None, "--device-type")
    name = _NAME.fullmatch(kind.chars)
    if name is None or name[1] not in _TPU:
        return unknown(f"how many devices {kind.chars} has is xpk's table", *where, key="--tpu-type")
    chips = math.prod(map(int, name[2].split("x"))) if "x" in name[2] else int(name[2]) // _TPU[name[1]]
    return Term(chips, "read", where, f"{chips} chips of {kind.chars}", None, "--tpu-type")
