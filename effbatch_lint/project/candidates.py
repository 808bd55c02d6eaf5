"""Documents -> candidates: which are training configs, and of which framework."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.companions import Companions
from effbatch_lint.compose.bases import BASES, names_bases, names_parts
from effbatch_lint.compose.config import Config
from effbatch_lint.compose.marks import is_primary
from effbatch_lint.compose.merge import environment, override
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks import table
from effbatch_lint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Mapping as AbstractMapping

    from effbatch_lint.call import Call
    from effbatch_lint.compose.refusal import Note
    from effbatch_lint.documents.document import Document
    from effbatch_lint.frameworks.framework import Framework
    from effbatch_lint.launch import Launch
    from effbatch_lint.project.launched import Launched


class Candidate(NamedTuple):
    """A document that a framework recognises.

    Attributes:
        bases: the files that it stands on, as shown.
        refusal: why the program would not compose it, when it would not.
        launched: the launch line that starts it, and lies over it.
        name: tells it from the other runs of a script; None for the only one.
        choice: what this tool chose to come to it: ``experiment=large``.
        swept: of a multirun's job, the values that are swept.
        declaring: the files whose targets are this run's; None for the document's own.
        notes: what refuses nothing and should be known of how it was composed.
        choices: of a run that Hydra composes, the option of each group.
        lines: the first and last line of the document, in a file of several.
        parts: further files of the run that are merged into the config, or start it.
    """

    config: Config
    framework: Framework
    document: Document
    companions: Companions
    runner_up: Framework | None = None
    bases: tuple[str, ...] = ()
    refusal: Unreadable | None = None
    launched: Launched | None = None
    name: str | None = None
    choice: str = ""
    swept: tuple[str, ...] = ()
    declaring: tuple[Document, ...] | None = None
    notes: tuple[Note, ...] = ()
    choices: AbstractMapping[str, str | None] = {}
    lines: tuple[int, int] | None = None
    parts: tuple[Document, ...] = ()

    @property
    def path(self) -> str:
        """The file that a person would name for it."""
        return self.config.path if self.launched is None else self.launched.script.source.path


# A file holds a few configs at the most; one of hundreds is a list of something else, and every one of them is read whole.
MAX_CONFIGS = 200
MAX_DOCUMENTS = 2_000

# A program of the framework's own is a surer sign than any number of keys.
_STARTED = 100


def candidates(document: Document, call: Call, launched: Launched | None = None) -> list[Candidate]:
    """The configs in one file (several in a multi-document YAML), each with the framework that reads it.

    With ``launched`` the flags of a launch line lie over the file; over an empty one, when the file is the script.

    Raises:
        ValueError: an override that is no ``KEY=VALUE``.
        Unreadable: more than :data:`MAX_CONFIGS` configs.
    """
    if is_primary(document, call.options.overrides):
        return _composed(document, call)
    found = []
    roots = document.mappings or ([Mapping({}, None)] if document.kind == "shell" else [])
    line = "" if launched is None else launched.text
    ranges = document.lines or [None for _ in roots]
    for root, lines in zip(roots[:MAX_DOCUMENTS], ranges, strict=False):
        tree = _standing(document, root, call)
        known = _known(tree.texts, call, line)
        if not known:
            continue
        config, companions = _config(document, tree, call, launched)
        best = _best(known, config, call, None if launched is None else launched.launch)
        if best is not None:
            chosen, runner_up = best
            dialect = "json" if document.kind == "json" else chosen.dialect
            config = _resolved(config.with_dialect(dialect), document, tree.texts, launched, call)
            bases = tuple(base.source.path for base in tree.bases)
            found.append(
                Candidate(config, chosen, document, companions, runner_up, bases, launched=launched, lines=lines)
            )
        if len(found) > MAX_CONFIGS:
            raise Unreadable(
                document.source.span(), f"more than the limit of {MAX_CONFIGS} training configs in one file"
            )
    return found


def _known(texts: Sequence[str], call: Call, line: str = "") -> list[Framework]:
    """The frameworks to ask: the one that is named, else those of which a word stands in the texts."""
    return [call.forced] if call.forced is not None else [*call.custom, *table.candidates(*texts, line=line)]


def _composed(document: Document, call: Call) -> list[Candidate]:
    """The configs that Hydra composes from this file, with the folder of the file as its search path."""
    from effbatch_lint.compose.primary import composed  # noqa: PLC0415 - only a file with a defaults list is composed

    def companion(read: list[str]) -> Companions:
        return Companions(call.files, document.source.real, read, call.handed)

    jobs = composed(call.code.of(document.source.real), document, call.options.overrides, companion)
    found = []
    for job in jobs or ():
        config = job.config
        read = call.files.parsed_of(config.files)
        best = _best(_known([known.source.text for known in read], call), config, call)
        if best is not None:
            companions = config.finder
            assert isinstance(companions, Companions)
            # Primary configs beside this one are runs of their own, though this one stands on them.
            folder = os.path.dirname(document.source.real)
            beside = [one for one in read if one is not document and os.path.dirname(one.source.real) == folder]
            bases = tuple(one.source.path for one in beside if is_primary(one, ()))
            found.append(
                Candidate(
                    config, best[0], document, companions, best[1], bases, job.refusal, swept=job.swept, declaring=read,
                    notes=job.notes, choices=job.choices,
                )
            )  # fmt: skip
    return found


def recognised(
    config: Config, texts: Sequence[str], launched: Launched, companions: Companions, call: Call
) -> Candidate | None:
    """A config that was composed elsewhere, with the framework that reads it."""
    best = _best(_known(texts, call, launched.text), config, call, launched.launch)
    if best is None:
        return None
    chosen, runner_up = best
    return Candidate(
        config.with_dialect(chosen.dialect), chosen, launched.script, companions, runner_up, launched=launched
    )


class _Tree(NamedTuple):
    """A document's mapping on top of the files that it stands on.

    Attributes:
        texts: the document's, then those of the others.
        bases: the others, in the order of reading.
        missing: those that the project does not hold: (key, name).
    """

    root: Mapping
    texts: tuple[str, ...]
    bases: tuple[Document, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()


def _standing(document: Document, root: Mapping, call: Call) -> _Tree:
    text = document.source.text
    if document.kind != "yaml" or not (names_bases(text) or names_parts(text)):
        return _Tree(root, (text,))
    from effbatch_lint.compose.inherit import inherited  # noqa: PLC0415 - few configs stand on others
    from effbatch_lint.compose.named_files import Named  # noqa: PLC0415 - as above

    named = Named(call.files, call.handed)
    root = inherited(named, root, (document,))
    texts = (text, *(base.source.text for base in named.documents))
    return _Tree(root, texts, tuple(named.documents), tuple(named.missing))


def _config(document: Document, tree: _Tree, call: Call, launched: Launched | None) -> tuple[Config, Companions]:
    read = list(dict.fromkeys((document.source.path, *(base.source.path for base in tree.bases))))
    root = tree.root
    if launched is not None:
        read[:] = dict.fromkeys((*launched.files, *read))
        root = launched.over(root)
    find = None if launched is None else launched.find
    companions = Companions(call.files, document.source.real, read, call.handed, find)
    companions.missing.extend(tree.missing)
    for word in call.options.overrides:
        if not word.startswith(("env:", "arg:")):
            root = override(root, word)
    config = Config(
        root, document.source.path, document.dialect, files=read, overrides=call.options.overrides, companion=companions,
        unseen=tuple(
            ("" if not key or key in (*BASES, "<<") else key, f"{name}, which may set it, is not in the project")
            for key, name in (*tree.missing, *(() if launched is None else launched.missing))
        ),
    )  # fmt: skip
    return config, companions


def _resolved(
    config: Config, document: Document, texts: Iterable[str], launched: Launched | None, call: Call
) -> Config:
    """The config with its ``${...}`` given values, where the loader is OmegaConf."""
    if config.dialect != "omegaconf" or not any("${" in text for text in texts):
        return config
    from effbatch_lint.compose.primary import mounted  # noqa: PLC0415 - only where a value refers to another
    from effbatch_lint.compose.view import seen_through  # noqa: PLC0415 - as above

    exported = {} if launched is None else launched.launch.environment
    given = {**exported, **environment(config.overrides)}
    return seen_through(config, mounted(config.root, document), given, call.code.of(document.source.real).operations)


def _best(
    known: list[Framework], config: Config, call: Call, launch: Launch | None = None
) -> tuple[Framework, Framework | None] | None:
    """The framework with most distinctive keys; the earlier one of the table on a tie. And the next best.

    The one that the call names is taken though the config has none of its keys.
    """
    scored = [
        (
            framework.recognise(config) + _STARTED * bool(launch and framework.starts and framework.starts(launch)),
            framework,
        )
        for framework in known
    ]
    scored = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
    if not scored:
        return None if call.forced is None else (call.forced, None)
    return scored[0][1], scored[1][1] if len(scored) > 1 else None
