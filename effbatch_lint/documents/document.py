"""A file of any format, read once: its nodes, its text, and what was odd about it."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.nodes import Mapping, Node
from effbatch_lint.source import Source, Unreadable

if TYPE_CHECKING:
    from effbatch_lint.documents.scalars import Dialect
    from effbatch_lint.source import Span

SUFFIXES = {
    ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml",
    ".sh": "shell", ".bash": "shell", ".slurm": "shell", ".sbatch": "shell", ".pbs": "shell",
}  # fmt: skip

# What of the tool's name is left when it is misspelled: effbatch, efbatch, effbach, eff-batch.
MARKS = ("ffb", "FFB", "fbat", "f-batch", "f_batch")


class Document(NamedTuple):
    """A parsed file.

    Attributes:
        roots: one node per YAML document.
        commented: JSON with comments.
        look: finds the YAML keys that stand twice in one mapping.
    """

    source: Source
    kind: str
    roots: list[Node]
    commented: bool = False
    look: Callable[[], tuple[tuple[str, Span], ...]] = tuple

    @property
    def repeated(self) -> tuple[tuple[str, Span], ...]:
        """YAML keys that stand twice in one mapping, which some loaders refuse and others do not."""
        return self.look()

    @property
    def speaks(self) -> bool:
        """Whether it may declare something to this tool, in a comment or in a node; its comments are not looked at."""
        text = self.source.text
        return any(mark in text for mark in MARKS)

    @property
    def is_part(self) -> bool:
        """Whether the file says itself that it belongs into another one: Hydra's ``# @package`` header."""
        return self.kind == "yaml" and "# @package" in self.source.text[:512]

    @property
    def dialect(self) -> Dialect:
        """How scalars are typed where no framework says otherwise."""
        return "json" if self.kind == "json" else "pyyaml"

    @property
    def lines(self) -> list[tuple[int, int] | None]:
        """The first and last line of each of ``mappings``, comments included; None in a file of one document."""
        if len(self.roots) < 2:  # noqa: PLR2004 - several
            return [None for _ in self.mappings]
        text = self.source.text.split("\n")
        # In no scalar of any style may a line begin so (YAML 1.2.2, 9.1.2).
        starts = [number for number, line in enumerate(text, 1) if line[:3] == "---" and not line[3:4].strip()]
        found: list[tuple[int, int] | None] = []
        for root in self.mappings:
            at = bisect_right(starts, root.span.line) if root.span is not None else 0
            first = 1 if root is self.roots[0] or not at else starts[at - 1]
            found.append((first, starts[at] - 1 if at < len(starts) else len(text)))
        return found

    @property
    def mappings(self) -> list[Mapping]:
        """The documents that are mappings: all that a config can be."""
        return [root for root in self.roots if isinstance(root, Mapping)]


def kind_of(path: str) -> str | None:
    """The format that a file's ending promises, or None."""
    return SUFFIXES.get(os.path.splitext(path)[1].lower())


def parse(source: Source, kind: str) -> Document:
    """The nodes of a file.

    Raises:
        Unreadable: a syntax error or a limit, at its place.
    """
    match kind:
        case "toml":
            from effbatch_lint.documents import toml  # noqa: PLC0415 - tomllib is imported for TOML files only

            return Document(source, kind, toml.parse(source))
        case "json":
            from effbatch_lint.documents import json  # noqa: PLC0415 - a YAML-only run needs no JSON reader

            roots, commented = json.parse(source)
            return Document(source, kind, roots, commented)
        case "yaml":
            from effbatch_lint.documents import yaml  # noqa: PLC0415 - a TOML-only run needs no PyYAML

            roots, look = yaml.parse_and_look(source)
            return Document(source, kind, roots, look=look)
        case "shell":
            return Document(source, kind, [])  # a script is no tree: effbatch_lint.project.scripts follows it
    raise Unreadable(source.span(), f"no reader for {kind}")
