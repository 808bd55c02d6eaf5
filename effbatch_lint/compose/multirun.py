"""Multirun: the jobs that one command line starts, each a command line of its own.

``--multirun`` (or ``hydra.mode: MULTIRUN``) makes sweeps of ``a=1,2``, ``choice()``, ``range()`` and ``glob()``: first
those of ``hydra.sweeper.params``, then those of the command line, which win; the jobs are their Cartesian product.
Other sweepers (Optuna, Ax, Nevergrad) try points of the same space: their discrete values are expanded alike, and an
interval makes the key unknown.

Source: hydra/_internal/core_plugins/basic_sweeper.py, hydra/_internal/config_loader_impl.py (load_sweep_config), 1.3.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from itertools import islice, product
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose import overrides as words
from effbatch_lint.compose.hydra import compose
from effbatch_lint.compose.overrides import Override, Word
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.compose.sweeps import Choices, Element, Glob, Interval, Steps, text_of
from effbatch_lint.compose.values import plain
from effbatch_lint.documents.nodes import Mapping, entry_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Sequence as AbstractSequence

    from effbatch_lint.compose.config_file import Reader
    from effbatch_lint.compose.hydra import Composition
    from effbatch_lint.compose.repository import Repository, Store
    from effbatch_lint.files import Files
    from effbatch_lint.source import Span

MAX_JOBS = 64

# Where the plug-ins keep their search spaces: Optuna (before 1.2), Ax, Nevergrad.
_SPACES = ("sweeper.search_space", "sweeper.ax_config.params", "sweeper.parametrization")


class Jobs(NamedTuple):
    """The jobs of one command line.

    Attributes:
        jobs: the overrides of each job, in the order in which they are started.
        total: how many there are; more than ``jobs`` holds when the limit was met.
        swept: the keys that are swept over, each with how many values it takes; None for any number of a range.
    """

    jobs: tuple[tuple[Word, ...], ...]
    total: int = 1
    swept: AbstractMapping[str, int | None] = {}

    @property
    def bounded(self) -> str | None:
        """What to say when not every job is here."""
        left = self.total - len(self.jobs)
        return f"{self.total:,} jobs, of which the first {len(self.jobs):,} are looked at" if left else None


def expand(
    files: Files,
    folders: AbstractSequence[str],
    primary: str,
    overrides: Iterable[str | Word] = (),
    *,
    multirun: bool = False,
    limit: int = MAX_JOBS,
    reader: Reader | None = None,
    store: Store | None = None,
    legacy: bool = False,
) -> Jobs:
    """The jobs that a command line starts; the command line itself when it is no multirun.

    Raises:
        Unreadable: Hydra refuses the command line or its sweeps (EB902), or a file cannot be read.
    """
    given = [Word(word) if isinstance(word, str) else word for word in overrides]
    stated = [word for word in given if word.text.startswith(("env:", "arg:"))]
    parsed = [_parsed(word) for word in given if word not in stated]
    master = compose(files, folders, primary, given, reader=reader, store=store, multirun=True, legacy=legacy)
    if not multirun and _at(master, "mode") != "MULTIRUN":
        return Jobs((tuple(given),))
    for override in parsed:
        if override.sweeps and override.of_hydra:
            raise refusal(
                override.word.span, f"Sweeping over Hydra's configuration is not supported: '{override.word.text}'"
            )
    values: dict[str, list[Word]] = {}
    swept: dict[str, int | None] = {}
    total = 1
    for override in (*_of_sweeper(master), *(override for override in parsed if not override.of_hydra)):
        key = override.full_key
        values[key] = [Word(*word) for word in islice(_words(override, master), limit)]
        swept[key] = _count(override, master.repository)
    for count in swept.values():
        total *= 1 if count is None else count
    fixed = (*stated, *(override.word for override in parsed if override.of_hydra))
    jobs = tuple((*fixed, *job) for job in islice(product(*values.values()), limit))
    return Jobs(jobs, total, {key: swept[key] for key in values if _is_swept(values[key], swept[key])})


def _parsed(word: Word) -> Override:
    try:
        return words.parse(word)
    except ValueError as error:
        raise refusal(word.span, str(error)) from None


def _at(master: Composition, key: str) -> Element:
    entry = entry_at(master.hydra, key)
    return plain(entry.value) if entry is not None else None


def _is_swept(values: list[Word], count: int | None) -> bool:
    return count != 1 or any(word.unknown for word in values)


# -- where sweeps stand ------------------------------------------------------------------------------------------------


def _of_sweeper(master: Composition) -> Iterator[Override]:
    """The sweeps in the files: ``hydra.sweeper.params``, and what the plug-ins call their search space."""
    for section in ("sweeper.params", *_SPACES):
        entry = entry_at(master.hydra, section)
        if entry is None or not isinstance(entry.value, Mapping):
            continue
        for key, setting in entry.value.entries.items():
            span, value = setting.value.span, plain(setting.value)
            if section == "sweeper.params":
                yield _parsed(Word(f"{key}={value}", span))
                continue
            listed = (
                next((value[name] for name in ("choices", "values") if name in value), None)
                if isinstance(value, dict)
                else None
            )
            if isinstance(listed, list):
                yield words.parse(Word(f"{key}=0", span))._replace(value=Choices(listed))
            elif not master.repository.is_group(key):
                yield _parsed(Word(f"{key}=0", span, f"{key} is sampled, as hydra.{section} says"))


# -- what a sweep holds --------------------------------------------------------------------------------------------------


def _words(override: Override, master: Composition) -> Iterator[tuple[str, Span | None, str | None]]:
    """One word for each value."""
    key, span, value = override.full_key, override.word.span, override.value
    if override.word.unknown is not None:
        yield override.word.text, span, override.word.unknown
    elif isinstance(value, Interval):
        if master.choices.get("hydra/sweeper", "basic") == "basic":
            raise refusal(span, f"BasicSweeper does not support sweep type: '{override.word.text}'")
        yield f"{key}={value.start}", span, f"{key} is any number from {value.start:g} to {value.end:g}"
    elif isinstance(value, Glob):
        for name in value.among(master.repository.options(override.key)):
            yield f"{key}={text_of(name)}", span, None
    elif isinstance(value, (Choices, Steps)):
        try:
            for one in value.numbers() if isinstance(value, Steps) else value.values:
                yield f"{key}={text_of(one)}", span, None
        except ValueError as error:
            raise refusal(span, f"'{override.word.text}': {error}") from None
    else:
        yield f"{key}={text_of(value)}", span, None


def _count(override: Override, repository: Repository) -> int | None:
    match override.value:
        case Choices(values=values):
            return len(values)
        case Steps() as steps:
            return steps.length
        case Glob() as shapes:
            return len(shapes.among(repository.options(override.key)))
        case Interval():
            return None
    return 1 if override.word.unknown is None else None
