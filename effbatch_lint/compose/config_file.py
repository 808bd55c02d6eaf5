"""One config file as Hydra takes it: its tree, its defaults list, its ``# @package`` line, and what is refused in it.

Sources: hydra/plugins/config_source.py, hydra/_internal/core_plugins/file_config_source.py (1.3).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose import references
from effbatch_lint.compose.defaults import Item, items
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import resolve

if TYPE_CHECKING:
    from effbatch_lint.documents.document import Document
    from effbatch_lint.files import Files
    from effbatch_lint.source import Span, Unreadable

_WORD = r"[a-zA-Z_]\w*"
_ARGUMENT = r"[\w/.+$%*@?|-]+"
_SIMPLE = rf"(?a:\$\{{(?:\.*[$\w]+(?:\.[$\w]+)*|{_WORD}(?:\.{_WORD})*:[ \t]*{_ARGUMENT}(?:[ \t]*,[ \t]*{_ARGUMENT})*[ \t]*)\}})"
# The same, around others that were simple and have become a NUL: as a whole part of a key, or anywhere in an argument.
_PART, _INNER = r"(?:[$\w]+|\0)", r"(?:[\w/.+$%*@?|-]|\0)+"
_SIMPLE_AROUND = (
    rf"(?a:\$\{{(?:\.*{_PART}(?:\.{_PART})*|{_WORD}(?:\.{_WORD})*:[ \t]*{_INNER}(?:[ \t]*,[ \t]*{_INNER})*[ \t]*)\}})"
)
_NESTED = 8


class Loaded(NamedTuple):
    """A config of the search path.

    Attributes:
        path: the file as a person sees it; None for a config of Hydra's own and for a node that only the program knows.
        root: its tree without the defaults list.
        items: its defaults list.
        header: the package of its ``# @package`` line, from the root; None without one.
        unknown: why it may hold more than is seen; None for a file.
        schema: the ConfigStore's node of the same name, which a file is merged onto.
    """

    path: str | None
    root: Node
    items: tuple[Item, ...] = ()
    header: str | None = None
    unknown: str | None = None
    span: Span | None = None
    schema: Loaded | None = None


EMPTY = Mapping({}, None)


class Reader:
    """Reads config files for one call; compositions that share it look at each file once."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._loaded: dict[tuple[str, str, bool], Loaded] = {}

    def read(self, path: str, config_path: str, span: Span | None, *, legacy: bool) -> Loaded:
        """The config in a file that exists.

        Raises:
            Unreadable: the file lies outside the project, cannot be parsed, or Hydra refuses it (EB902).
        """
        key = (path, config_path, legacy)
        if key not in self._loaded:
            if not self.files.holds(path):
                raise outside(config_path, span)
            self._loaded[key] = _loaded(self.files.document(path), config_path, legacy=legacy)
        return self._loaded[key]


def outside(config_path: str, span: Span | None) -> Unreadable:
    """The refusal of a config that is not read."""
    return refusal(
        span,
        f"'{config_path}' lies outside the project, and is not read",
        help='name its folder in the settings: extra-roots = ["..."]',
    )


def _loaded(document: Document, config_path: str, *, legacy: bool) -> Loaded:
    start = document.source.span()
    if document.repeated:
        key, place = document.repeated[0]
        raise refusal(place, f"the key {key} stands twice in one mapping, which OmegaConf refuses")
    if len(document.roots) > 1:
        raise refusal(document.roots[1].span or start, "the file holds several YAML documents, and Hydra reads one")
    root = _tree(document)
    _check_interpolations(document, root)
    header = _header(document, legacy=legacy)
    if not isinstance(root, Mapping):
        return Loaded(document.source.path, root, (), header, span=start)
    defaults = root.entries.get("defaults")
    if defaults is None:
        return Loaded(document.source.path, root, (), header, span=start)
    rest = Mapping({key: entry for key, entry in root.entries.items() if key != "defaults"}, root.span)
    listed = tuple(items(defaults.value, config_path, legacy=legacy))
    return Loaded(document.source.path, rest, listed, header, span=start)


def _tree(document: Document) -> Node:
    """The root as OmegaConf takes it: nothing is an empty mapping, a text is a key without a value."""
    root = document.roots[0] if document.roots else EMPTY
    if not isinstance(root, Scalar):
        return root
    value = resolve(root, "omegaconf")
    if value is None:
        return EMPTY
    if not isinstance(value, str):
        raise refusal(root.span, f"the file holds {value!r}, which is neither a mapping nor a list")
    return Mapping({value: Entry(value, root.span, Scalar("null", root.span))}, root.span)


def _header(document: Document, *, legacy: bool) -> str | None:
    """``# @package x`` in the lines before anything else; the package is from the root whether it says so or not."""
    package: str | None = None
    for number, line in enumerate(document.source.text[:512].splitlines(), 1):
        text = line.strip()
        if not text:
            continue
        if not re.match(r"#\s*@", text):
            break
        words = text.lstrip("#").split()
        if len(words) != 2:  # noqa: PLR2004 - the key and its value
            raise refusal(document.source.span(number), f"Expected header format: @package NAME, got '{text}'")
        if words[0] == "@package":
            package = words[1]
    if package is None or (legacy and package == "_group_"):
        return None
    if package == "_global_" or package.startswith("_global_."):
        return package
    return f"_global_.{package}"


def _is_made_of_simple(text: str) -> bool:
    """Whether every interpolation is simple once the simple ones inside it stand for a word: ``${mul:${a},${b}}``."""
    for _ in range(_NESTED):
        text, count = re.subn(_SIMPLE_AROUND, "\0", text)  # YAML holds no such character
        if not count:
            break
    return "${" not in text


def _check_interpolations(document: Document, root: Node) -> None:
    """OmegaConf refuses a file in which one interpolation cannot be parsed; nearly all are simple and need no walk."""
    text = document.source.text
    if text.count("${") == len(re.findall(_SIMPLE, text)) or _is_made_of_simple(text):
        return
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(entry.value for entry in node.entries.values())
        elif isinstance(node, Sequence):
            stack.extend(node.items)
        elif "${" in node.text:
            try:
                references.parse(node.text)
            except ValueError as error:
                raise refusal(node.span, str(error)) from None
