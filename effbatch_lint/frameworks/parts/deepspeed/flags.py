"""Flags of the launch line beside DeepSpeed's file: which numbers are the file's own, and what a program's flag contradicts.

Upstream: deepspeedai/DeepSpeed deepspeed/__init__.py (initialize reads the file, and no flag beside ``--deepspeed_config``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.documents.nodes import Entry, Mapping
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO
from effbatch_lint.terms import Term, product, shown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

# What programs call their own batch size of a rank.
_SIZES = tuple(
    name
    for stem in (
        "batch_size",
        "micro_batch_size",
        "batch_size_per_gpu",
        "batch_size_per_device",
        "batch_size_per_replica",
    )
    for name in (stem, stem.replace("_", "-"))
)


def numbers_of_file(config: Config) -> tuple[Config, Problem | None]:
    """The file's own numbers, and a flag of the program that has the name of one and another value.

    DeepSpeed reads its file (deepspeed.initialize(config=...)), and no flag beside ``--deepspeed_config``.
    """
    entries, found = dict(config.root.entries), None
    for key in (BATCH, MICRO, ACCUMULATION):
        entry = config.root.entries.get(key)
        own = None if entry is None or _asked_for(entry) else in_file(entry, config.path)
        if own is None and entry is not None and not _asked_for(entry) and config.has("deepspeed_config"):
            del entries[key]  # the program's alone: the file leaves the number out
        if own is None or own is entry:
            continue
        argument, entries[key] = config.integer(key), own
        stated = config.over(Mapping({key: own}, config.root.span)).integer(key)
        if key != BATCH and argument.known and stated.known and argument.value != stated.value:
            found = found or _untied(argument, f"{key} {shown(stated.value)}", stated)
    return config.over(Mapping(entries, config.root.span)), found


def _asked_for(entry: Entry) -> bool:
    """Whether the value is given to this tool (``--override``), in place of what the run says."""
    return entry.value.span is None and (entry.note or "").startswith("--override")


def batch_of_program(config: Config, micro: Term, accumulation: Term, fixed: Term | None) -> Problem | None:
    """A program's ``--train_batch_size``, of one process or of all as its loader takes it, which is none of the file's."""
    entry = config.root.entries.get(BATCH)
    own = None if entry is None or _asked_for(entry) else in_file(entry, config.path)
    if own is None or own is entry or fixed is None:
        return None
    argument = config.integer(BATCH)
    fitting = [term.value for term in (micro, product(micro, accumulation), fixed)]
    if not argument.known or None in fitting or argument.value in fitting:
        return None
    return _untied(argument, f"{BATCH} {shown(fixed.value)}", fixed)


def argument_of_program(config: Config, micro: Term, fixed: Term | None) -> Problem | None:
    """A batch size among the arguments of a program that is not known, which is none of the file's numbers.

    A loader that the program builds takes the argument, one that DeepSpeed builds the file's.
    """
    key = config.present(*_SIZES)
    if key is None or not micro.known:
        return None
    argument = config.integer(key)
    if not argument.known or argument.value in (micro.value, None if fixed is None else fixed.value):
        return None
    numbers = f"{MICRO} {shown(micro.value)}" + (f" and {BATCH} {shown(fixed.value)}" if fixed is not None else "")
    return _untied(argument, numbers, micro)


def _untied(argument: Term, numbers: str, stated: Term) -> Problem:
    return Problem(
        "EB301",
        f"the program is given --{argument.key} {shown(argument.value)}, and DeepSpeed's file has {numbers}: nothing ties "
        "the two",
        (argument, stated),
        help=f"give the program {shown(stated.value)}, or read the number from the file",
    )


def as_written(config: Config) -> Config:
    """The file without the flags that were laid over its top level, for Trainer compares the two."""
    entries = {key: in_file(entry, config.path) for key, entry in config.root.entries.items()}
    return config.over(Mapping({key: entry for key, entry in entries.items() if entry is not None}, config.root.span))


def in_file(entry: Entry, path: str) -> Entry | None:
    """What the file says under a key, below the flags and words that were laid over it."""

    def own(candidate: Entry) -> bool:
        span = candidate.value.span
        return candidate.note is None and (span is None or span.path == path)

    return next((candidate for candidate in (entry, *entry.previous) if own(candidate)), None)
