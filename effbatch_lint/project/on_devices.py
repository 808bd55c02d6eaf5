"""A run of a script that leaves its devices open, as it is started on so many.

``NNODES=${NNODES:-1}`` is one node for whoever says nothing. Asked for 64 devices, the job sets the variable, and all else
that the script makes of it (``ACC=$((GBS / (MICRO * NNODES * 8)))``) follows: the script is followed again with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.launch import Launch
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.terms import Term


def assumed(started: Term) -> bool:
    """Whether a number of devices is only what the script takes when nobody says otherwise."""
    from effbatch_lint.documents.shell.said import replaceable  # noqa: PLC0415 - only a script's number has such notes

    return any(origin.note is not None and replaceable(origin.note) for origin in started.origins)


def on_devices(candidate: Candidate, size: Term) -> Candidate:
    """The run as it is started on ``size`` devices; as it stands where nothing that is given to the script says how many."""
    line = candidate.launched
    if line is None or line.again is None or not isinstance(size.value, int):
        return candidate
    started = line.launch.world_size
    if started.known and (started.value == size.value or not assumed(started)):
        return candidate
    for word in dict.fromkeys(_words(line.launch, size.value)):
        other = line.again(word)
        if other is not None and other.launched is not None and other.launched.launch.world_size.value == size.value:
            # What sets it apart from the script's other runs is said of the script as it stands.
            return other._replace(name=candidate.name, launched=other.launched._replace(alone=line.alone))
    return candidate


def _words(launch: Launch, devices: int) -> Iterator[str]:
    """What to try to give the script, the number of nodes first: ``env:NNODES=8``, ``arg:8``."""
    from effbatch_lint.documents.shell.said import needed, opened  # noqa: PLC0415 - as above

    started = launch.world_size.value
    for term in (launch.nodes, launch.devices_per_node, launch.world_size):
        for note in [origin.note for origin in term.origins if origin.note is not None]:
            found = opened(note)
            if found is not None and isinstance(started, int) and started and devices * found[1] % started == 0:
                yield f"{found[0]}{devices * found[1] // started}"
    counts = [term.value for term in (launch.devices_per_node, launch.nodes) if isinstance(term.value, int)]
    for option in launch.options if started is None else ():
        word = needed(option.reason) if option.reason is not None else None
        if word is not None:
            yield from (f"{word}{devices // count}" for count in (*counts, 1) if count and devices % count == 0)
