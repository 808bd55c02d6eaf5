"""A file with a defaults list, composed with its own folder as the search path; or found to be a part of a larger tree."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as AbstractMapping
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.merge import environment
from effbatch_lint.compose.overrides import Word
from effbatch_lint.compose.repository import Store
from effbatch_lint.compose.runs import Run, jobs
from effbatch_lint.compose.view import seen_through
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar, Sequence
from effbatch_lint.source import Unreadable, inside

if TYPE_CHECKING:
    from effbatch_lint.compose.code import Code
    from effbatch_lint.compose.config import Companion, Config
    from effbatch_lint.compose.hydra import Composition
    from effbatch_lint.compose.refusal import Note
    from effbatch_lint.documents.document import Document
    from effbatch_lint.documents.nodes import Node
    from effbatch_lint.files import Files


# A config that is missing may hold anything.
_ANYTHING = Store({}, "it is not in the project")


class Composed(NamedTuple):
    """What a file composes to. ``refusal`` is why Hydra would stop, where parts of the tree are not in the project:
    what they may hold is unknown then, and the rest holds. ``swept`` are the values of a multirun's job, ``notes`` what should be known."""

    config: Config
    refusal: Unreadable | None = None
    swept: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    choices: AbstractMapping[str, str | None] = {}


def composed(
    code: Code, document: Document, overrides: Iterable[str], companion: Callable[[list[str]], Companion]
) -> list[Composed] | None:
    """The configs of this file: one, or one for each job where it is a multirun; None when the file is a part of a tree
    whose root lies above.

    Raises:
        Unreadable: Hydra refuses (EB902), or a file cannot be read.
    """
    folder, name = os.path.split(document.source.real)
    words = [Word(word, anyway=True) for word in overrides]
    run = Run(code, (folder, *code.search_path), name, words, companion)
    try:
        return [
            Composed(_resolved(composition, document, code), None, swept, notes, composition.choices)
            for composition, swept, notes in jobs(run)
        ]
    except Unreadable as error:
        if error.code != "EB902":
            raise
        # The group "hydra" holds parts of Hydra's own config.
        if os.path.basename(folder) == "hydra" or _belongs_above(document, code.files):
            return None
        try:
            found = run.composition(store=_ANYTHING)
        except Unreadable:
            raise error from None
        return [Composed(_resolved(found, document, code), error, choices=found.choices)]


def mounted(root: Mapping, document: Document) -> Mapping:
    """The tree in which a group's file finds itself: below the name of its group, which is the name of a folder above it.

    ``fine_tuning/llama/squad.yaml`` of a tree refers to itself as ``${fine_tuning.model}``. A copy that lies elsewhere
    tells its group by its references: all that start with the name find what they name in the file. The tree itself is
    given back when no reference starts with such a name, or a key has it.
    """
    text = document.source.text
    if "${" not in text or "@package _global_" in text[:512]:
        return root
    above = os.path.dirname(document.source.real).split(os.sep)
    references: dict[str, set[str]] = {}
    for name, path in re.findall(r"\$\{(\w+)\.([\w.:]*)", text):
        if name not in root.entries:
            references.setdefault(name, set()).add(path)
    groups = {
        name: Entry(name, None, root)
        for name, paths in references.items()
        if name in above or all(_found(root, path) for path in paths)
    }
    return Mapping({**root.entries, **groups}, root.span) if groups else root


def _found(root: Mapping, path: str) -> bool:
    """Whether a dotted path names something below ``root``."""
    node: Node = root
    for key in path.split("."):
        entry = node.entries.get(key) if isinstance(node, Mapping) else None
        if entry is None:
            return False
        node = entry.value
    return True


def _resolved(found: Composition, document: Document, code: Code) -> Config:
    tree = mounted(found.root, document)
    if tree is found.root:
        return found.config
    given = environment(found.config.overrides)
    return seen_through(found.config.over(found.root), tree, given, code.operations)


def _belongs_above(document: Document, files: Files) -> bool:
    """Whether an item of the defaults list is not found beside the file, and in a folder above it."""
    own = os.path.dirname(document.source.real)
    defaults = document.mappings[0].get("defaults")
    for item in defaults.items if isinstance(defaults, Sequence) else []:
        names = [item.text] if isinstance(item, Scalar) else list(item.entries) if isinstance(item, Mapping) else []
        for name in names:
            path = name.rpartition(" ")[2].partition("@")[0].strip("/")
            if not path or path in (".", "_self_") or _holds(own, path):
                continue
            if name.startswith("/") and "@package _global_" in document.source.text[:512]:
                return True  # counted from the tree's root, which a group's file of the whole config has above itself
            folder = os.path.dirname(own)
            while inside(folder, files.roots):
                if _holds(folder, path):
                    return True
                folder = os.path.dirname(folder)
    return False


def _holds(folder: str, path: str) -> bool:
    found = os.path.join(folder, path)
    return os.path.isdir(found) or os.path.isfile(f"{found}.yaml")
