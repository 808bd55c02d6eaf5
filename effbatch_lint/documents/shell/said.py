"""What is said of a value that is not simply written, and what a caller would give to say otherwise.

A note tells how a known value came about, a reason why a value is not known. Both are read by people; what they say of a
variable is asked for here, so that their words stand in one place.
"""

from __future__ import annotations

import re

UNLESS_GIVEN = "the script's default, which its arguments may replace"
"""The note of a value that a loop over the script's arguments may set."""

_DEFAULT = "the default in "
# A variable, or the script's first argument, and its default.
_OPEN = re.compile(r"\$\{(?:(?P<variable>[A-Za-z_]\w*)|1):?[-=][\"']?(?P<value>[0-9]{1,9}(?![\w,]))?")
_VARIABLE = re.compile(r"\$\{?(?:(?P<variable>[A-Za-z_]\w*)|[1#@])")
# What a script lets its caller set: a variable that it asks for, a list of devices that it counts.
_ASKED = re.compile(r"""-[nz] +["']?\$\{?(?:(?P<variable>[A-Za-z_]\w*)|[1#@])""")
_LISTED = re.compile(r"\$\{(?:(?P<variable>[A-Za-z_]\w*)|1):?-[0-9]+(?:,[0-9]+)+\}")
_NEEDED = re.compile(
    r"the variable (?P<unset>\w+) is not given|(?P<running>\w+) is set by [\w .]+ when the job runs"
    r"|the script's argument \$(?P<argument>1) is not given"
)

# Set for a job by Slurm, Kubeflow (PET_: torchrun's own), PBS, LSF, Grid Engine, MPI, SkyPilot, dstack, Beaker and the
# platforms whose variables stand in public scripts; WORLD_SIZE is what Kubeflow and Volcano call the number of pods.
_SCHEDULED = re.compile(
    r"(?:SLURM|PET|PBS|LSB|SGE|OMPI|PMI|PMIX|SKYPILOT|DSTACK|BEAKER|MLP|ARNOLD|VC|COBALT)_\w+|NHOSTS|WORLD_SIZE"
)


def default_in(expansion: str) -> str:
    """The note of a value that ``${NAME:-VALUE}`` gave."""
    return f"{_DEFAULT}{expansion}"


def not_given(name: str) -> str:
    """The reason of a variable that nobody set."""
    return f"the variable {name} is not given"


def argument_not_given(number: int) -> str:
    """The reason of an argument that nobody gave the script."""
    return f"the script's argument ${number} is not given"


def set_when_running(name: str, who: str) -> str:
    """The reason of a variable that the scheduler or the machine sets."""
    return f"{name} is set by {who} when the job runs"


def replaceable(note: str) -> bool:
    """Whether a value with this note is only what the script takes when nobody says otherwise."""
    return note.startswith(_DEFAULT) or note == UNLESS_GIVEN


def opened(note: str) -> tuple[str, int | None] | None:
    """What to give the script in place of a default, as the start of a word, and the default where it is a number.

    ``${NNODES:-4}``: ``env:NNODES=`` and 4; ``${1:-4}``: ``arg:`` and 4; ``${NNODES:-$N}``: ``env:NNODES=`` and None.
    """
    found = _OPEN.match(note.removeprefix(_DEFAULT)) if note.startswith(_DEFAULT) else None
    return None if found is None else (_word(found["variable"]), int(found["value"]) if found["value"] else None)


def asked_in(condition: str) -> list[str]:
    """What to give the script to decide a condition, as the start of a word: ``[ -z "$N" ]`` asks for ``env:N=``."""
    return [_word(found["variable"]) for found in _VARIABLE.finditer(condition)]


def asked_for(script: str) -> list[str]:
    """The same, for the variables that a script asks for anywhere before it takes a number of its own."""
    return [_word(found["variable"]) for found in _ASKED.finditer(script)]


def listed_in(script: str) -> list[str]:
    """The same, for the lists of devices that a script counts: ``${CUDA_VISIBLE_DEVICES:-0,1,2,3}``."""
    return [_word(found["variable"]) for found in _LISTED.finditer(script)]


def scheduled(note: str) -> str | None:
    """The scheduler's variable in place of which a default was taken, as outside of every job."""
    found = re.match(r"\$\{(\w+)", note.removeprefix(_DEFAULT)) if note.startswith(_DEFAULT) else None
    return found[1] if found is not None and _SCHEDULED.fullmatch(found[1]) else None


def needed(reason: str) -> str | None:
    """What to give the script for a value that is not known for this reason, as the start of a word: ``env:NNODES=``."""
    found = _NEEDED.search(reason)
    return None if found is None else _word(found["unset"] or found["running"])


def _word(variable: str | None) -> str:
    return f"env:{variable}=" if variable else "arg:"
