"""torchrun, ``python -m torch.distributed.run`` and the old ``torch.distributed.launch``: nodes x processes per node.

Upstream: pytorch torch/distributed/run.py (get_args_parser, determine_local_world_size), argparse_util.py: the
variable ``PET_NNODES`` (PET_ and the option's name) replaces the default of every option.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.launchers import words
from effbatch_lint.terms import Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.launchers.start import Start

SWITCHES = frozenset(("standalone", "m", "module", "no-python", "run-path", "use-env", "virtual-local-rank", "help"))
OPTIONS = (
    "nnodes", "nproc-per-node", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "standalone", "max-restarts",
    "monitor-interval", "start-method", "event-log-handler", "role", "module", "no-python", "run-path", "log-dir",
    "redirects", "tee", "local-ranks-filter", "node-rank", "master-addr", "master-port", "local-addr", "logs-specs",
    "numa-binding", "signals-to-handle", "use-env",
)  # fmt: skip


def peel(start: Start) -> Start:
    """The program below torchrun, its world size known from torchrun's options."""
    found = words.options(start.words[1:], SWITCHES, known=OPTIONS)
    start = start._replace(hidden=found.hidden)
    nodes = _nodes(start, found)
    devices = _processes(start, found)
    rest = found.rest
    if found.switches & {"no-python"}:
        pass
    elif rest:
        rest = (_python("-m"), *rest) if found.switches & {"m", "module"} else rest
        rest = (_python("python"), *rest)
    world = product(nodes, devices)
    return start.left(rest)._replace(
        launcher="torchrun", nodes=nodes, devices=devices, world_size=world, processes=world, options=found.arguments()
    )


def _python(word: str) -> Text:
    from effbatch_lint.documents.shell.text import written  # noqa: PLC0415 - two words

    return written(word)


def _nodes(start: Start, found: words.Options) -> Term:
    given = found.values.get("nnodes") or start.environment.get("PET_NNODES")
    if given is None:
        return start.default(1, "--nnodes")
    limits = re.fullmatch(r"([0-9]{1,7}):([0-9]{1,7})", given.chars)
    if limits is None:
        return words.term(given, "--nnodes")
    low, high = int(limits[1]), int(limits[2])
    where = words.origins(given, "--nnodes")
    if low == high:
        return Term(low, "read", where, None, None, "--nnodes")
    return unknown(f"--nnodes is {given.chars}: elastic, from {low} to {high} nodes", *where, key="--nnodes")


def _processes(start: Start, found: words.Options) -> Term:
    """The processes per node, one per device."""
    given = found.values.get("nproc-per-node") or start.environment.get("PET_NPROC_PER_NODE")
    if given is None:
        return start.default(1, "--nproc-per-node")
    if given.chars not in ("auto", "gpu", "cpu", "xpu"):
        return words.term(given, "--nproc-per-node")
    if given.chars != "cpu":
        # One process per device that the job sees on a node.
        allocation = start.job.allocation
        counted = start.visible() or (allocation and allocation.devices_per_node)
        if counted is not None:
            return counted
    reason = f"--nproc-per-node is {given.chars}: the number is the machine's"
    return unknown(reason, *words.origins(given, "--nproc-per-node"), key="--nproc-per-node")
