"""Files that a config names as its bases or its parts: found inside the project, each parsed once, cycles refused."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.document import Document
from effbatch_lint.source import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.documents.nodes import Scalar
    from effbatch_lint.files import Files

# Public chains have four files. Each mention counts, so that files that name each other twice do not multiply.
MAX_NAMED = 200

Chain: TypeAlias = tuple[Document, ...]
"""The documents from the config itself to the one that names the next."""


class Named:
    """Finds the files that one config stands on.

    Attributes:
        documents: those that were read, in order.
        missing: those that the project does not hold: (key, name).
    """

    def __init__(self, files: Files, handed: Iterable[str] = ()) -> None:
        self.documents: list[Document] = []
        self.missing: list[tuple[str, str]] = []
        self._files = files
        self._handed = [os.path.abspath(path) for path in handed]

    def document(self, key: str, name: Scalar, chain: Chain) -> Document | None:
        """The document that ``key`` names in the last one of the chain; None when the project has none.

        Raises:
            Unreadable: it cannot be read or parsed (EB901); the names form a cycle, or are too many (EB902).
        """
        path = self._find(name.text, chain[-1].source.real, key)
        if path is None:
            self.missing.append((key, name.text))
            return None
        if os.path.realpath(path) in [os.path.realpath(opened.source.real) for opened in chain]:
            shown = [*(opened.source.path for opened in chain), self._files.shown(path)]
            raise refusal(name.span, f"a cycle of {key}: {' -> '.join(shown)}")
        if len(self.documents) >= MAX_NAMED:
            raise refusal(name.span, f"the config names more than {MAX_NAMED} files")
        found = self._files.document(path)
        self.documents.append(found)
        return found

    def _find(self, name: str, referrer: str, key: str) -> str | None:
        """The path, relative to the file that names it; MaxText also looks in the folder of all its configs."""
        folder = os.path.dirname(referrer)
        for base in (folder, *(_above(folder, "configs") if key == "base_config" else ())):
            path = os.path.normpath(os.path.join(base, name))
            if os.path.isfile(path) and inside(os.path.realpath(path), self._files.roots):
                return path
        tail = os.sep + os.path.normpath(name).lstrip("./")
        return next((given for given in self._handed if given.endswith(tail) and given != referrer), None)


def _above(folder: str, name: str) -> Iterator[str]:
    """The folders of that name which hold ``folder``, the nearest first."""
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        if os.path.basename(folder) == name:
            yield folder
