"""Which option each choice takes: the overrides of the command line and of the defaults lists, and what was chosen.

Source: hydra/_internal/defaults_list.py (Overrides, 1.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.defaults import Item
from effbatch_lint.compose.refusal import Note, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.compose.overrides import Override
    from effbatch_lint.compose.repository import Repository
    from effbatch_lint.source import Span

Name = str | list[str] | None


class _Forced:
    """An override of a choice: its option, where it stands, and whether anything matched it."""

    __slots__ = ("name", "span", "used", "where")

    def __init__(self, name: Name, span: Span | None, where: str | None) -> None:
        self.name = name
        self.span = span
        self.where = where
        self.used = False


class Selection:
    """The state of the choices while the defaults lists are followed.

    Attributes:
        values: the overrides that are values and no choices.
        appended: the choices that the command line adds (``+group=option``).
        choices: what was chosen so far, by key.
        notes: where Hydra 1.4 would choose differently.
    """

    def __init__(self, repository: Repository, overrides: Iterable[Override]) -> None:
        self.values: list[Override] = []
        self.appended: list[Item] = []
        self.choices: dict[str, str | None] = {}
        self.notes: list[Note] = []
        self._legacy = repository.legacy
        self._forced: dict[str, _Forced] = {}
        self._deleted: dict[str, _Forced] = {}
        self._keys: dict[str, set[str]] = {}
        for override in overrides:
            if override.sweeps:
                continue
            if isinstance(override.value, dict) or not repository.is_group(override.key):
                self.values.append(override)
            else:
                self._take(override)

    def _take(self, override: Override) -> None:
        """An override of the command line that chooses, adds or deletes an option."""
        span, line = override.word.span, override.word.text
        name = override.value
        if override.action == "force-add":
            raise refusal(span, f"force-add of config groups is not supported: '{line}'")
        if override.action == "delete":
            if name is not None and not isinstance(name, str):
                raise refusal(span, f"Config group override deletion value must be a string: '{line}'")
            self._deleted[override.choice_key] = _Forced(name and str(name), span, None)
            return
        if not isinstance(name, (str, list)) or not all(isinstance(one, str) for one in name):
            raise refusal(span, f"Config group override must be a string or a list of strings: '{line}'")
        names: Name = str(name) if isinstance(name, str) else [str(one) for one in name]
        if override.action == "change":
            self._forced[override.choice_key] = _Forced(names, span, None)
            return
        package = "" if override.package == "_here_" else override.package
        self.appended.append(Item(group=override.key, name=names, package=package, appended=True, span=span))

    def register(self, listed: list[Item], where: str, *, late: bool) -> None:
        """The overrides of one list; the first one that was registered for a key counts.

        Raises:
            Unreadable: EB902, an override before an item of another kind, or below an interpolated choice (``late``).
        """
        last: Item | None = None
        for item in listed:
            if item.is_self:
                continue
            if last is not None and not item.override and not item.appended:
                raise refusal(
                    last.span,
                    f"In {where}: Override '{last.key}: {last.name}' is defined before '{item.key}: {item.name}'. "
                    "Overrides must be at the end of the defaults list",
                )
            if item.override:
                last = last if self._legacy and of_hydra(item) else item
                if late:
                    raise refusal(
                        item.span,
                        f"{where}: Default List Overrides are not allowed in the subtree of an interpolated config group "
                        f"(override {item.key}={item.name})",
                    )
                first = self._forced.setdefault(item.key, _Forced(item.name, item.span, where))
                if first.where == where and first.name != item.name:
                    message = f"{item.key} is overridden twice: Hydra 1.3 takes {first.name}, the first, and 1.4 {item.name}, the last"
                    self.notes.append(Note(item.span, message))

    def overridden(self, item: Item) -> Item:
        """The item with the option that an override gives it."""
        forced = self._forced.get(item.key) if item.group is not None else None
        if forced is None:
            return item
        forced.used = True
        return item._replace(name=forced.name, span=forced.span or item.span)

    def note(self, item: Item) -> None:
        """Remember a choice.

        Raises:
            Unreadable: EB902, the same choice was made before, and differently.
        """
        if item.group is None:
            return
        key = item.key
        before = self.choices.setdefault(key, item.option)
        if before != item.option:
            raise refusal(item.span, f"Multiple values for {key}. To override a value use 'override {key}: {before}'")
        self._keys.setdefault(item.group_path, set()).add(key)

    def is_deleted(self, item: Item) -> bool:
        """Whether the command line deletes the choice (``~group``, ``~group=option``)."""
        forced = self._deleted.get(item.key) if item.group is not None else None
        if forced is None or (forced.name is not None and forced.name != item.option):
            return False
        forced.used = True
        return True

    def refuse_unused(self) -> None:
        """An override that matched nothing is an error, once the whole tree is known.

        Raises:
            Unreadable: EB902.
        """
        for key, forced in self._forced.items():
            if not forced.used:
                raise self._unmatched(key, forced)
        for key, forced in self._deleted.items():
            if not forced.used:
                name = key if forced.name is None else f"{key}={forced.name}"
                raise refusal(forced.span, f"Could not delete '{name}'. No match in the defaults list")

    def _unmatched(self, key: str, forced: _Forced) -> Exception:
        choices = sorted(self._keys.get(key.partition("@")[0], ()))
        reason = f"Could not override '{key}'. "
        if choices:
            reason += f"Did you mean to override {'one of ' if len(choices) > 1 else ''}{', '.join(choices)}?"
        else:
            reason += "No match in the defaults list."
        if forced.where is not None:
            return refusal(forced.span, f"In '{forced.where}': {reason}")
        return refusal(forced.span, reason, help=f"to append to the defaults list use +{key}={forced.name}")


def of_hydra(item: Item) -> bool:
    """Before version_base 1.2 a choice of Hydra's own groups is an override, with or without the word."""
    return item.group is not None and item.group.startswith("hydra/")
