"""The defaults list of a primary config, followed: which configs are merged, in which order, at which package.

Depth first, in the order of the lists; an override (of a list, or of the command line) changes a choice where it
stands. Overrides are gathered on the way: a file's own before those of the files that it includes, and the first one
counts. Items with ``${...}`` wait until the others of their list are known.

Source: hydra/_internal/defaults_list.py (1.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.defaults import MISSING, Item
from effbatch_lint.compose.interpolation import Interpolations, Unresolvable
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as AbstractMapping

    from effbatch_lint.compose.overrides import Override
    from effbatch_lint.compose.repository import Loaded, Repository
    from effbatch_lint.source import Span

Name = str | list[str] | None

MAX_DEPTH = 64
MAX_PARTS = 2_000


class Part(NamedTuple):
    """A config to merge: what it holds, and the package it is put at."""

    config_path: str
    package: str
    loaded: Loaded
    primary: bool
    span: Span | None
    key: str | None = None
    own: bool = False


class Plan(NamedTuple):
    """What to merge, in order; the overrides that are values; and every choice that was made."""

    parts: list[Part]
    values: list[Override]
    choices: dict[str, str | None]


class _Forced:
    """An override of a choice: its option, where it stands, and whether anything matched it."""

    __slots__ = ("name", "span", "used", "where")

    def __init__(self, name: Name, span: Span | None, where: str | None) -> None:
        self.name = name
        self.span = span
        self.where = where
        self.used = False


def plan(
    repository: Repository,
    primary: str,
    overrides: Iterable[Override],
    *,
    environment: AbstractMapping[str, str] | None = None,
    multirun: bool = False,
) -> Plan:
    """The parts of the composition.

    Raises:
        Unreadable: Hydra refuses (EB902), at the item that it refuses.
    """
    walk = _Walk(repository, environment or {}, multirun=multirun)
    walk.take(overrides)
    main = Item(group=None, name=primary, primary=True)
    if repository.load(primary) is None:
        raise refusal(None, f"Cannot find primary config '{primary}'. Check that it's in your config search path.")
    # Hydra visits the primary first, so that its overrides of hydra/... are known, and merges its own config first.
    after = walk.follow(main, root=True)
    parts = [*walk.follow(Item(group=None, name="hydra/config")), *after]
    walk.finish(parts)
    return Plan(parts, walk.values, walk.choices)


class _Walk:
    """The state of one walk over the tree of defaults."""

    def __init__(self, repository: Repository, environment: AbstractMapping[str, str], *, multirun: bool) -> None:
        self.repository = repository
        self.environment = environment
        self.multirun = multirun
        self.values: list[Override] = []
        self.choices: dict[str, str | None] = {}
        self._forced: dict[str, _Forced] = {}
        self._deleted: dict[str, _Forced] = {}
        self._appended: list[Item] = []
        self._keys: dict[str, set[str]] = {}
        self._trail: list[tuple[str, Item]] = []
        self._count = 0

    def take(self, overrides: Iterable[Override]) -> None:
        """Sort the overrides of the command line into values, choices, additions and deletions."""
        for override in overrides:
            if override.sweeps:
                continue
            span, line = override.word.span, override.word.text
            name = override.value
            if isinstance(name, dict) or not self.repository.is_group(override.key):
                self.values.append(override)
            elif override.action == "force-add":
                raise refusal(span, f"force-add of config groups is not supported: '{line}'")
            elif override.action == "delete":
                if name is not None and not isinstance(name, str):
                    raise refusal(span, f"Config group override deletion value must be a string: '{line}'")
                self._deleted[override.choice_key] = _Forced(name and str(name), span, None)
            elif not isinstance(name, (str, list)) or not all(isinstance(one, str) for one in name):
                raise refusal(span, f"Config group override must be a string or a list of strings: '{line}'")
            else:
                names = str(name) if isinstance(name, str) else [str(one) for one in name]
                if override.action == "add":
                    self._appended.append(
                        Item(group=override.key, name=names, package=_here(override.package), appended=True, span=span)
                    )
                else:
                    self._forced[override.choice_key] = _Forced(names, span, None)

    # -- the walk --------------------------------------------------------------------------------------------------

    def follow(self, item: Item, *, root: bool = False, late: bool = False) -> list[Part]:
        """The parts that an item stands for. ``late`` tells a subtree that was reached by an interpolation."""
        self._count += 1
        if self._count > MAX_PARTS:
            raise refusal(item.span, f"the defaults lists name more than {MAX_PARTS:,} configs")
        if len(self._trail) > MAX_DEPTH:
            raise self._circle(item)
        loaded = None
        if item.option is not None and item.option != MISSING:
            loaded = self.repository.load(item.config_path, item.span)
            item = item._replace(header=loaded.header if loaded is not None else None)
            if self.repository.legacy:
                item = item.renamed()
        if self._is_deleted(item):
            return []
        self._note_choice(item)
        if item.option is None or self._is_missing(item):
            return []
        if loaded is None:
            if item.optional:
                return []
            raise self._not_found(item)
        self._trail.append((item.config_path, item))
        try:
            return self._follow_list(item, loaded, root=root, late=late)
        finally:
            self._trail.pop()

    def _follow_list(self, item: Item, loaded: Loaded, *, root: bool, late: bool) -> list[Part]:
        where, package = item.config_path, item.target
        listed = list(loaded.items)
        appended = self._appended if root else []
        own_added = False
        if listed or appended:
            own_added = _add_own(listed, where)
        listed = [one if one.is_self else one.placed(item.group_path, package) for one in (*listed, *appended)]
        if self.repository.legacy:
            listed = [one._replace(override=one.override or _of_hydra(one)) for one in listed]
        self._register(listed, where, late=late)
        slots: list[list[Part] | Item] = []
        own = Part(where, package, loaded, item.primary, item.span, own=True)
        for one in reversed(listed):
            if one.is_self:
                slots.append([own])
                continue
            if one.override:
                continue
            chosen = self._overridden(one)
            if isinstance(chosen.name, list):
                slots.extend(self._options(chosen, where, item.group_path, package, late=late))
            elif chosen.is_reference:
                slots.append(chosen)
            else:
                slots.append(self.follow(chosen, late=late))
        for position, slot in enumerate(slots):
            if isinstance(slot, Item):
                known = self._resolved(slot, listed, own_added=own_added)
                slots[position] = self.follow(known.placed(item.group_path, package), late=True)
        if not slots:
            return [Part(where, package, loaded, item.primary, item.span, item.key if item.group is not None else None)]
        return [part for slot in reversed(slots) if isinstance(slot, list) for part in slot]

    def _options(self, item: Item, where: str, folder: str, within: str, *, late: bool) -> list[list[Part]]:
        """Several options of one group: no choice any more, each is a config by path."""
        assert isinstance(item.name, list)
        found = []
        for name in reversed(item.name):
            if "${" in name:
                raise refusal(
                    item.span, f"In '{where}': Defaults List interpolation is not supported in options list items"
                )
            one = item._replace(group=None, name=f"{item.group}/{name}", header=None)
            found.append(self.follow(one.placed(folder, within), late=late))
        return found

    # -- overrides and choices -------------------------------------------------------------------------------------

    def _register(self, listed: list[Item], where: str, *, late: bool) -> None:
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
                last = last if self.repository.legacy and _of_hydra(item) else item
                if late:
                    raise refusal(
                        item.span,
                        f"{where}: Default List Overrides are not allowed in the subtree of an interpolated config group "
                        f"(override {item.key}={item.name})",
                    )
                self._forced.setdefault(item.key, _Forced(item.name, item.span, where))

    def _overridden(self, item: Item) -> Item:
        forced = self._forced.get(item.key) if item.group is not None else None
        if forced is None:
            return item
        forced.used = True
        return item._replace(name=forced.name, span=forced.span or item.span)

    def _note_choice(self, item: Item) -> None:
        if item.group is None:
            return
        key = item.key
        before = self.choices.setdefault(key, item.option)
        if before != item.option:
            raise refusal(item.span, f"Multiple values for {key}. To override a value use 'override {key}: {before}'")
        self._keys.setdefault(item.group_path, set()).add(key)

    def _is_deleted(self, item: Item) -> bool:
        forced = self._deleted.get(item.key) if item.group is not None else None
        if forced is None or (forced.name is not None and forced.name != item.option):
            return False
        forced.used = True
        return True

    def _is_missing(self, item: Item) -> bool:
        if not item.config_path.endswith(MISSING):
            return False
        if self.multirun:
            return True
        if item.group is None:
            raise refusal(item.span, f"Missing ConfigDefault is not supported: {item.config_path}")
        options = ", ".join(self.repository.options(item.group_path))
        raise refusal(
            item.span,
            f"You must specify '{item.key}', e.g, {item.key}=<OPTION>. Available options: {options or 'none'}",
            help=f"choose one on the command line: {item.key}=<OPTION>",
        )

    def _resolved(self, item: Item, listed: list[Item], *, own_added: bool) -> Item:
        """The item with its ``${...}`` replaced by the choices made so far."""
        assert isinstance(item.name, str)
        if item.group is not None and item.name.startswith("${defaults.") and not self.repository.legacy:
            raise refusal(item.span, f"Defaults list element '{item.key}={item.name}' uses a form of Hydra 1.0")
        text = item.name if item.group is not None else item.config_path
        known = {key: Entry(key, None, _text(value)) for key, value in self.choices.items()}
        earlier = [_as_node(one) for one in listed if not (own_added and one.is_self)]
        known["defaults"] = Entry("defaults", None, Sequence(list(earlier), None))
        known["_item_"] = Entry("_item_", None, Scalar(text, None, plain=False))
        tree = Interpolations(Mapping(known, None), environment=self.environment)
        try:
            value = tree.scalar(Scalar(text, None, plain=False), ("_item_",)).value
        except Unresolvable as error:
            keys = ", ".join(self.choices)
            raise refusal(
                item.span,
                f"Error resolving interpolation '{text}' ({error.reason}), possible interpolation keys: {keys}",
            ) from None
        if not isinstance(value, str):
            raise refusal(item.span, f"Error resolving interpolation '{text}': it gives {value!r}, which is no text")
        return item._replace(name=value)

    # -- refusals --------------------------------------------------------------------------------------------------

    def finish(self, parts: list[Part]) -> None:
        """What can be refused only when the whole tree is known."""
        seen: set[str] = set()
        for part in parts:
            if part.key is not None and part.key in seen:
                raise refusal(part.span, f"{part.key} appears more than once in the final defaults list")
            if part.key is not None:
                seen.add(part.key)
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

    def _not_found(self, item: Item) -> Exception:
        where = f"In '{self._trail[-1][0]}': " if self._trail else ""
        if item.group is None:
            return refusal(item.span, f"{where}Could not load '{item.config_path}'.")
        options = ", ".join(self.repository.options(item.group_path))
        return refusal(
            item.span,
            f"{where}Could not find '{item.config_path}'. Available options in '{item.group_path}': {options or 'none'}",
        )

    def _circle(self, item: Item) -> Exception:
        paths = [path for path, _ in self._trail]
        paths.append(item.config_path)
        first = next((at for at, path in enumerate(paths) if path in paths[at + 1 :]), 0)
        again = paths.index(paths[first], first + 1) if paths[first] in paths[first + 1 :] else len(paths) - 1
        return refusal(item.span, f"a cycle in the defaults lists: {' -> '.join(paths[first : again + 1])}")


def _of_hydra(item: Item) -> bool:
    """Before version_base 1.2 a choice of Hydra's own groups is an override, with or without the word."""
    return item.group is not None and item.group.startswith("hydra/")


def _here(package: str | None) -> str | None:
    return "" if package == "_here_" else package


def _add_own(listed: list[Item], where: str) -> bool:
    """Where the file's own values come in when it does not say: last. Returns whether that had to be added."""
    own = [item for item in listed if item.is_self]
    if len(own) > 1:
        raise refusal(own[1].span, f"Duplicate _self_ defined in {where}")
    # A list of nothing but overrides needs none: the file has no children, and stands for itself.
    if not own and (not listed or any(not item.override for item in listed)):
        listed.append(Item(group=None, name="_self_"))
    return not own


def _text(value: str | None) -> Scalar:
    return Scalar("null", None) if value is None else Scalar(value, None, plain=False)


def _as_node(item: Item) -> Mapping | Scalar:
    """An item as an interpolation of another one sees it (``${defaults.0}``)."""
    if item.group is None:
        return Scalar(item.config_path, None, plain=False)
    name = item.name if isinstance(item.name, str) else None
    return Mapping({item.key: Entry(item.key, None, _text(name))}, None)
