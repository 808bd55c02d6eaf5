"""Script text -> syntax tree, by tree-sitter with the bash grammar: which stretch is which kind of statement.

The tree gives structure only (statements, redirections, here-documents); words are scanned by
:mod:`effbatch_lint.documents.shell.words`, the same way wherever they come from. A script that is no valid bash
still has a tree, with local error nodes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.words import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node, Parser

    from effbatch_lint.documents.shell.text import Text


SIMPLE = frozenset(("command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command"))
STATEMENTS = SIMPLE | frozenset((
    "program", "redirected_statement", "list", "pipeline", "negated_command", "subshell", "compound_statement",
    "if_statement", "for_statement", "c_style_for_statement", "while_statement", "case_statement",
    "function_definition", "test_command", "ERROR",
))  # fmt: skip
REDIRECTIONS = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))

_CONTINUED = re.compile(r"<<<[ \t]*\\\n")


class Code:
    """A parsed stretch of script: the text and its tree; ``lines`` are the raw words of the commands looked at so far."""

    __slots__ = ("_surplus", "_wide", "lines", "root", "text")

    def __init__(self, text: Text) -> None:
        self.text = text
        self.lines: dict[int, list[list[Text]]] = {}
        # A placeholder would swallow the rest of the script as a redirection.
        chars = PLACEHOLDER.sub(lambda found: "_" * len(found[0]), text.chars) if "<" in text.chars else text.chars
        if "<<<" in chars:
            # The grammar wants a here-string's word on the line of its operator; bash goes on behind a backslash.
            chars = _CONTINUED.sub(lambda found: f"<<<{' ' * (len(found[0]) - 3)}", chars)
        data = chars.encode("utf-8", "replace")
        self.root: Node = _parser().parse(data).root_node
        # Where bytes and characters part: the byte after each character of several, and the surplus so far.
        self._wide, self._surplus = _widths(chars) if len(data) != len(chars) else ([], [])

    def start(self, node: Node) -> int:
        """The character offset at which a node begins."""
        return self._character(node.start_byte)

    def end(self, node: Node) -> int:
        """The character offset at which a node ends."""
        return self._character(node.end_byte)

    def _character(self, byte: int) -> int:
        wide = bisect_right(self._wide, byte)
        return byte - self._surplus[wide - 1] if wide else byte

    def slice(self, node: Node) -> Text:
        """The text of a node."""
        return self.text.slice(self.start(node), self.end(node))

    def errors(self) -> Iterator[Node]:
        """The places where the text is no valid bash, in order."""
        return _errors(self.root)


def statements(nodes: Iterable[Node]) -> list[Node]:
    """The nodes that are statements."""
    return [node for node in nodes if node.type in STATEMENTS]


def inside(text: Text, width: int) -> Text:
    """What stands between brackets of ``width`` characters."""
    return text.slice(width, max(len(text) - width, width))


def _errors(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            stack.extend(reversed(node.children))


def _widths(chars: str) -> tuple[list[int], list[int]]:
    ends: list[int] = []
    surplus: list[int] = []
    extra = 0
    for found in re.finditer(r"[^\x00-\x7f]", chars):
        width = len(found[0].encode("utf-8", "replace"))
        extra += width - 1
        ends.append(found.end() + extra)
        surplus.append(extra)
    return ends, surplus


@cache
def _parser() -> Parser:
    from tree_sitter import Language, Parser  # noqa: PLC0415 - paid for launch scripts only

    return Parser(Language(_grammar()))


def _grammar() -> object:
    """``tree_sitter_bash.language()`` from the package's extension alone.

    The package itself imports importlib.resources, for queries that nobody asks for here: that costs more than reading a
    script. It is imported where it is installed in a way that the extension is not found.
    """
    from importlib.machinery import PathFinder  # noqa: PLC0415 - as above

    package = PathFinder.find_spec("tree_sitter_bash")
    binding = package and PathFinder.find_spec("tree_sitter_bash._binding", package.submodule_search_locations)
    if not binding or binding.loader is None:
        import tree_sitter_bash  # noqa: PLC0415 - as above

        return tree_sitter_bash.language()
    from importlib.util import module_from_spec  # noqa: PLC0415 - as above

    module = module_from_spec(binding)
    binding.loader.exec_module(module)
    language: object = module.language()
    return language
