"""composer: ``--nproc`` processes per node, ``--world_size`` in all.

Upstream: mosaicml/composer composer/cli/launcher.py (_get_parser, _parse_args): the variables LOCAL_WORLD_SIZE and
WORLD_SIZE replace the defaults (and mean processes here), else all devices of the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import written
from effbatch_lint.launchers import words
from effbatch_lint.terms import Term, exact, unknown

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start

_SWITCHES = frozenset(("v", "verbose", "m", "module-mode", "c", "command-mode", "version"))


def peel(start: Start) -> Start:
    """The program below the composer launcher."""
    found = words.options(start.words[1:], _SWITCHES, short={"n": "nproc"})
    start = start._replace(hidden=found.hidden)
    devices = found.term("nproc") or start.variable("LOCAL_WORLD_SIZE") or start.visible()
    if devices is None or found.hidden is not None:
        devices = unknown("composer takes all devices of the machine: --nproc is not given", key="--nproc")
    world = found.term("world-size") or start.variable("WORLD_SIZE") or devices
    one = Term(1, "default", (), "composer stays on one node without --world_size", None, "nodes")
    nodes = one if world is devices else exact(world, devices)
    rest = found.rest
    if rest and not found.switches & {"c", "command-mode"}:
        module = found.switches & {"m", "module-mode"}
        rest = (written("python"), *((written("-m"),) if module else ()), *rest)
    return start.left(rest)._replace(
        launcher="composer", nodes=nodes, devices=devices, world_size=world, processes=world, options=found.arguments()
    )
