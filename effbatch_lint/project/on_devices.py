"""A run of a script that leaves its devices open, as it is started on so many.

``NNODES=${NNODES:-1}`` is one node for whoever says nothing. Asked for 64 devices, the job sets the variable, and all else
that the script makes of it (``ACC=$((GBS / (MICRO * NNODES * 8)))``) follows: the script is followed again with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import replaceable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.launch import Launch
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.terms import Term

# "the default in ${NNODES:-1}": a variable, or an argument of the script.
_OPEN = re.compile(r"\$\{(?:(?P<variable>[A-Za-z_]\w*)|1):?[-=](?P<value>[0-9]{1,9})\}")


def assumed(started: Term) -> bool:
    """Whether a number of devices is only what the script takes when nobody says otherwise."""
    return any(origin.note is not None and replaceable(origin.note) for origin in started.origins)


def on_devices(candidate: Candidate, size: Term) -> Candidate:
    """The run as it is started on ``size`` devices; as it stands where no variable of the script says how many."""
    line = candidate.launched
    if line is None or line.again is None or size.value is None:
        return candidate
    started = line.launch.world_size
    if not started.value or started.value == size.value or not assumed(started):
        return candidate
    for word in _words(line.launch, int(size.value), int(started.value)):
        other = line.again(word)
        if other is not None and other.launched is not None and other.launched.launch.world_size.value == size.value:
            # What sets it apart from the script's other runs is said of the script as it stands.
            return other._replace(name=candidate.name, launched=other.launched._replace(alone=line.alone))
    return candidate


def _words(launch: Launch, devices: int, started: int) -> Iterator[str]:
    """What to give the script, the number of nodes first: ``env:NNODES=8``, ``arg:8``."""
    for term in (launch.nodes, launch.devices_per_node, launch.world_size):
        for note in dict.fromkeys(origin.note for origin in term.origins if origin.note is not None):
            found = _OPEN.search(note) if replaceable(note) else None
            if found is not None and devices * int(found["value"]) % started == 0:
                value = devices * int(found["value"]) // started
                yield f"env:{found['variable']}={value}" if found["variable"] else f"arg:{value}"
