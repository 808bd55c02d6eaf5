"""Files that a config names: ``deepspeed: ds_config.json``, ``deepspeed_config_file: ds.json``.

A launcher resolves such a name against its working directory, which no file states. It is looked for from the
project's root, from the config's own folder and every folder between, and among the files handed in the same call.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Config
from effbatch_lint.source import Span, Unreadable, inside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from effbatch_lint.documents.document import Document
    from effbatch_lint.files import Files


class Companions:
    """Finds the files that one config names, and remembers which it read and which it could not find.

    ``handed`` are the absolute paths of the files of the same call. ``first`` is asked before the project: a launch
    script writes files, and knows the folder that it runs in.
    """

    def __init__(
        self,
        files: Files,
        path: str,
        read: list[str],
        handed: Sequence[str] = (),
        first: Callable[[str], Document | None] | None = None,
    ) -> None:
        self.missing: list[tuple[str, str]] = []
        self.documents: list[Document] = []
        self._files = files
        self._path = os.path.abspath(path)
        self._read = read
        self._handed = handed
        self._first = first

    def __call__(self, key: str, name: str) -> Config | None:
        """The configuration in the file that ``key`` names; None when the project holds no such file.

        Raises:
            Unreadable: the file cannot be read or parsed, or the references form a cycle (EB902).
        """
        document = None if self._first is None else self._first(name)
        if document is not None:
            if not document.mappings:
                self.missing.append((key, name))
                return None
            return self._of(document)
        chain = [self._path]
        found: Config | None = None
        while True:
            target = self._find(chain[-1], name)
            if target is None:
                if found is None:
                    self.missing.append((key, name))
                return found
            if target in chain:
                shown = [self._files.shown(path) for path in (*chain, target)]
                raise Unreadable(
                    Span(shown[0], 1, 1, 1, 1),
                    f"the files that {key} names form a cycle: {' -> '.join(shown)}",
                    code="EB902",
                    help=f"let {shown[-2]} name another file, or none",
                )
            chain.append(target)
            config = self._config(target)
            if config is None:
                return found
            found = config if found is None else found
            following = config.text(key)
            if following is None:
                return found
            name = following

    def _find(self, referrer: str, name: str) -> str | None:
        if "${" in name or len(name) > 1_000 or not name.isprintable():  # noqa: PLR2004 - longer than any path
            return None
        if os.path.isabs(name):
            return name if inside(os.path.realpath(name), self._files.roots) and os.path.isfile(name) else None
        folder = os.path.dirname(referrer)
        folders = [folder]
        while inside(os.path.realpath(folder), self._files.roots) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
            folders.append(folder)
        for base in (*self._files.roots, *folders):
            path = os.path.normpath(os.path.join(base, name))
            if os.path.isfile(path) and inside(os.path.realpath(path), self._files.roots):
                return path
        tail = os.sep + os.path.normpath(name).lstrip("./")
        return next((given for given in self._handed if given.endswith(tail)), None)

    def _config(self, path: str) -> Config | None:
        document = self._files.document(path)
        return self._of(document) if document.mappings else None

    def _of(self, document: Document) -> Config:
        if all(document is not known for known in self.documents):
            self.documents.append(document)
        self._read.append(document.source.path)
        return Config(document.mappings[0], document.source.path, document.dialect)
