"""One primary config of Hydra's, and the runs that the choice of an option makes of it; each is composed once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.compose.marks import listed_groups
from effbatch_lint.compose.refusal import open_choice
from effbatch_lint.project.candidates import candidates
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.call import Call
    from effbatch_lint.documents.document import Document
    from effbatch_lint.project.candidates import Candidate

# A primary of which several groups are open has as many runs as a sweep over them.
MOST_CHOICES = 64


class Primary:
    """A primary config; its folder is where its groups lie.

    ``refused`` says why Hydra does not compose it, with the option of that path, or as it stands.
    """

    def __init__(self, path: str, call: Call) -> None:
        self.path = path
        self.refused: dict[str, Unreadable] = {}
        self._call = call
        self._composed: dict[tuple[str, ...], list[Candidate]] = {}
        self._refusals: dict[tuple[str, ...], Unreadable] = {}
        self._listed: list[str] | None = None

    @property
    def composed(self) -> list[Candidate]:
        """The primary as it stands, and what was chosen so far."""
        self.run(())
        return [run for runs in self._composed.values() for run in runs]

    def run(self, words: tuple[str, ...], option: str | None = None) -> list[Candidate]:
        """What Hydra composes with these choices; nothing when it refuses, or no framework recognises it."""
        if words not in self._composed:
            try:
                self._composed[words] = self._compose(words)
            except Unreadable as error:
                self.refused[option or self.path] = self._refusals[words] = error
                self._composed[words] = []
        return self._composed[words]

    def choosing(self, option: str) -> list[Candidate]:
        """The runs in which an option is chosen; none when Hydra composes none."""
        for words in self._choices(option):
            runs = self.run(words, option)
            refused = self._refusals.get(words)
            if refused is not None and open_choice(refused) is not None:
                runs = list(self.open(words))  # the option leaves another choice to the command line
            if any(self._call.files.shown(option) in run.config.files for run in runs):
                return runs
        own = self.refused.get(self.path)
        if own is not None and option in self.refused:
            # Of a primary that is no config itself the keys are not known: the choice fails for no reason of its own.
            self.refused[option] = own
        return []

    @property
    def stands(self) -> bool:
        """Whether it is a run without any choice."""
        own = next(iter(self.run(())), None)
        return own is not None and own.refusal is None

    def open(self, words: tuple[str, ...] = ()) -> Iterator[Candidate]:
        """The runs with each option of the groups of which one must be chosen (``data: ???``); none where nothing is open."""
        yield from self.run(words)
        refused = self._refusals.get(words)
        key = None if refused is None else open_choice(refused)
        if key is None or len(self._composed) > MOST_CHOICES:
            return
        group = os.path.join(os.path.dirname(self.path), key.partition("@")[0])
        names = sorted(name for name in os.listdir(group) if name.endswith(".yaml")) if os.path.isdir(group) else []
        for name in names[:MOST_CHOICES]:
            yield from self.open((*words, f"{key}={name.removesuffix('.yaml')}"))

    def broken_by(self, part: str) -> Unreadable | None:
        """Why no run holds a part: it does not parse, or the primary as it stands is refused for what the part says."""
        self.run(())
        shown = self._call.files.shown(part)
        at_part = [(asked, error) for asked, error in self.refused.items() if error.span.path == shown]
        return next((error for asked, error in at_part if error.code == "EB901" or asked == self.path), None)

    def keys(self, option: str) -> list[tuple[str, str]]:
        """The keys of this config by which an option can be chosen, with the option's name under each."""
        known = self._keys()
        groups = self._groups(option)
        return [(key, name) for group, name in groups for key in dict.fromkeys(known) if key.partition("@")[0] == group]

    def stands_on(self, shown: set[str]) -> bool:
        """Whether another of these primaries is among its defaults."""
        own = next(iter(self.run(())), None)
        return own is not None and any(path in shown for path in own.config.files if path != own.config.path)

    def _choices(self, option: str) -> Iterator[tuple[str, ...]]:
        """How a command line chooses an option: by the key of a group that the tree knows, else by a new one."""
        keys = self.keys(option)
        yield from ((f"{key}={name}",) for key, name in keys)
        for group, name in () if keys else self._groups(option):
            yield (f"{group}={name}",)
            yield (f"+{group}={name}",)

    def _keys(self) -> Iterable[str]:
        """The keys of the groups that the tree knows.

        A primary that gives no run as it stands (its default experiment is not in the project, or it holds too little to
        be recognised) has at least those of its own defaults list.
        """
        own = next(iter(self.run(())), None)
        if self._listed is None:
            document = self._call.files.quietly_parsed(self.path)
            self._listed = [] if document is None else list(listed_groups(document))
        if own is None:
            return self._listed
        # Where two keys choose of one group, the first is the one that trains: `loader@data`, `loader@val`.
        return (*(key for key in self._listed if key in own.choices), *own.choices)

    def _groups(self, option: str) -> list[tuple[str, str]]:
        """The groups that hold an option, with its name in each: ``gpt3/5b`` of ``training``, ``5b`` of ``training/gpt3``."""
        parts = os.path.relpath(option, os.path.dirname(self.path)).removesuffix(".yaml").split(os.sep)
        return [("/".join(parts[:end]), "/".join(parts[end:])) for end in range(len(parts) - 1, 0, -1)]

    def _compose(self, words: tuple[str, ...]) -> list[Candidate]:
        """The runs of the primary with these choices.

        Raises:
            Unreadable: Hydra refuses the choices (EB902).
        """
        call = self._call
        changed = call._replace(options=call.options._replace(overrides=(*words, *call.options.overrides)))
        found = candidates(call.files.document(self.path), changed)
        if not words:
            return found
        refusal = next((run.refusal for run in found if run.refusal is not None), None)
        if refusal is not None:
            raise refusal
        chosen = " ".join(word.lstrip("+") for word in words)
        return [run._replace(choice=chosen, declaring=self._new(run)) for run in found]

    def _new(self, run: Candidate) -> tuple[Document, ...] | None:
        """The files that a choice brings in: what the others declare is said of the primary as it stands. Where that is
        no run (a choice is mandatory), it is said of every choice."""
        own = next(iter(self.run(())), None)
        if own is None or own.refusal is not None or run.declaring is None:
            return run.declaring
        return tuple(one for one in run.declaring if one.source.path not in own.config.files)
