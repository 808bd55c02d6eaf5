"""A run of a script that leaves its devices open, as it is started on so many.

``NNODES=${NNODES:-1}`` is one node for whoever says nothing. Asked for 64 devices, the job sets the variable, and all else
that the script makes of it (``ACC=$((GBS / (MICRO * NNODES * 8)))``) follows: the script is followed again with it. Where
nothing that could be given does it, what hangs on the number is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.launch import Argument, Launch
    from effbatch_lint.project.candidates import Candidate
    from effbatch_lint.terms import Term

FOLLOWS = "it follows the number of devices, which the script leaves open"


def assumed(started: Term) -> bool:
    """Whether a number of devices is only what the script takes when nobody says otherwise."""
    from effbatch_lint.documents.shell.said import replaceable  # noqa: PLC0415 - only a script's number has such notes

    return any(origin.note is not None and replaceable(origin.note) for origin in started.origins)


def may_start(launch: Launch, size: Term) -> bool:
    """Whether a line that leaves its devices open may start so many: whole nodes, where those are of one size."""
    each = launch.devices_per_node
    if not isinstance(size.value, int) or not isinstance(each.value, int) or each.value < 1 or assumed(each):
        return True
    return size.value < each.value or size.value % each.value == 0


def on_devices(candidate: Candidate, size: Term) -> Candidate:
    """The run as it is started on ``size`` devices; as it stands where its line says how many."""
    line = candidate.launched
    if line is None or line.again is None or not isinstance(size.value, int):
        return candidate
    started = line.launch.world_size
    if started.value == size.value:
        return candidate
    found = realised(candidate, size.value)
    if found is None and started.known and assumed(started):
        found = _same_run(line.again(None), candidate)
    return found or candidate


def realised(candidate: Candidate, devices: int) -> Candidate | None:
    """The run with what makes the script start so many devices; None where nothing that is tried does."""
    line = candidate.launched
    if line is None or line.again is None:
        return None
    for word in dict.fromkeys(_words(line.launch, line.script.source.text, devices)):
        other = line.again(word)
        if other is not None and other.launched is not None and other.launched.launch.world_size.value == devices:
            return _same_run(other, candidate)
    return None


def doubted(launch: Launch) -> Launch:
    """The launch, of whose words those that hang on the number of devices are not known."""
    spans = {span for origin in launch.world_size.origins if (span := origin.span) is not None}

    def hanging(argument: Argument) -> bool:
        return argument.reason is None and any(origin.span in spans for origin in argument.origins)

    return launch._replace(
        arguments=tuple(
            argument._replace(reason=FOLLOWS, word=None) if hanging(argument) else argument
            for argument in launch.arguments
        )
    )


def _same_run(other: Candidate | None, candidate: Candidate) -> Candidate | None:
    """Another reading of a run: what sets it apart from the script's other runs is said of the script as it stands."""
    if other is None or other.launched is None or candidate.launched is None:
        return None
    return other._replace(name=candidate.name, launched=other.launched._replace(alone=candidate.launched.alone))


def _words(launch: Launch, script: str, devices: int) -> Iterator[str]:
    """What to try to give the script, the number of nodes first: ``env:NNODES=8``, ``arg:8``."""
    from effbatch_lint.documents.shell.said import asked_for, asked_in, listed_in, needed, opened  # noqa: PLC0415 - as above

    started = launch.world_size.value
    counts = [term.value for term in (launch.devices_per_node, launch.nodes) if isinstance(term.value, int)]
    wanted = [devices // count for count in (*counts, 1) if count and devices % count == 0]
    starts: list[str] = []
    for term in (launch.nodes, launch.devices_per_node, launch.world_size):
        for note in [origin.note for origin in term.origins if origin.note is not None]:
            start, value = opened(note) or ("", None)
            if start and value and isinstance(started, int) and started and devices * value % started == 0:
                yield f"{start}{devices * value // started}"
            starts += [start] if start else []
    for option in launch.options if started is None else ():
        start = (needed(option.reason) if option.reason is not None else None) or ""
        starts += [start] if start else []
    starts += [start for condition in launch.conditions for start in asked_in(condition.text)]
    starts += asked_for(script)
    yield from (f"{start}{value}" for start in dict.fromkeys(starts) for value in wanted)
    yield from (f"{start}{','.join(map(str, range(value)))}" for start in listed_in(script) for value in wanted)
