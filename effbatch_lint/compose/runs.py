"""A command line of a Hydra program -> what it composes: one config, or one for each job of a multirun.

The project's Python code is asked where the files alone do not tell: which rules hold, which resolvers there are, and,
when the files alone are refused, which nodes the code puts beside them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.hydra import Composition, compose
from effbatch_lint.compose.marks import is_legacy
from effbatch_lint.compose.refusal import Note
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from effbatch_lint.compose.code import Code
    from effbatch_lint.compose.config import Companion
    from effbatch_lint.compose.overrides import Word
    from effbatch_lint.compose.repository import Store


class Run(NamedTuple):
    """A command line: the search path, the name of the primary config, and the words."""

    code: Code
    folders: tuple[str, ...]
    primary: str
    words: list[Word]
    companion: Callable[[list[str]], Companion] | None = None

    @property
    def legacy(self) -> bool:
        """Whether the rules of Hydra 1.1 hold: the program asks for them, or the file is of that time."""
        name = self.primary if self.primary.endswith((".yaml", ".yml")) else f"{self.primary}.yaml"
        document = self.code.files.quietly_parsed(os.path.join(self.folders[0], name))
        marked = document is not None and is_legacy(document.source.text)
        return marked or self.code.legacy(self.folders[0], self.primary)

    def composition(self, store: Store | None = None, *, multirun: bool = False) -> Composition:
        """What Hydra composes.

        Raises:
            Unreadable: Hydra refuses (EB902), or a file cannot be read.
        """
        return compose(
            self.code.files, self.folders, self.primary, self.words, reader=self.code.reader,
            operations=self.code.operations, store=store, multirun=multirun, legacy=self.legacy, companion=self.companion,
        )  # fmt: skip


class Job(NamedTuple):
    """One run of a command line: what it composes; of a multirun, the swept values (``lr=0.1``); and what refuses nothing
    and should be known: a rule of Hydra 1.4, that there are more jobs than are looked at."""

    composition: Composition
    swept: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def jobs(run: Run, *, multirun: bool = False) -> list[Job]:
    """What the command line composes.

    Raises:
        Unreadable: Hydra refuses (EB902) also with the nodes that the code stores, or a file cannot be read.
    """
    try:
        return list(_jobs(run, None, multirun=multirun))
    except Unreadable as error:
        store = run.code.store if error.code == "EB902" else None
        if store is None or not (store.nodes or store.more):
            raise
        return list(_jobs(run, store, multirun=multirun))


def _jobs(run: Run, store: Store | None, *, multirun: bool) -> Iterator[Job]:
    if not multirun:
        found = run.composition(store)
        if getattr(found.hydra.get("mode"), "text", None) != "MULTIRUN":
            yield Job(found, (), found.notes)
            return
    from effbatch_lint.compose.multirun import expand  # noqa: PLC0415 - few runs are multiruns

    every = expand(
        run.code.files, run.folders, run.primary, run.words, multirun=multirun, reader=run.code.reader, store=store,
        legacy=run.legacy,
    )  # fmt: skip
    for words in every.jobs:
        swept = tuple(word.text for word in words if word.text.lstrip("+").partition("=")[0] in every.swept)
        composition = run._replace(words=list(words)).composition(store)
        bounded = () if every.bounded is None else (Note(None, every.bounded),)
        yield Job(composition, swept, (*composition.notes, *bounded))
