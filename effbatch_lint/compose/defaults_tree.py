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
from effbatch_lint.compose.refusal import OPEN_CHOICE, Note, refusal
from effbatch_lint.compose.selection import Selection, of_hydra
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as AbstractMapping

    from effbatch_lint.compose.config_file import Loaded
    from effbatch_lint.compose.overrides import Override
    from effbatch_lint.compose.repository import Repository
    from effbatch_lint.source import Span

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
    """What to merge, in order; the overrides that are values; every choice that was made; and what is to be said."""

    parts: list[Part]
    values: list[Override]
    choices: dict[str, str | None]
    notes: list[Note]


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
    selection = Selection(repository, overrides)
    walk = _Walk(repository, selection, environment or {}, multirun=multirun)
    main = Item(group=None, name=primary, primary=True)
    if repository.load(primary) is None:
        raise refusal(None, f"Cannot find primary config '{primary}'. Check that it's in your config search path.")
    # Hydra visits the primary first, so that its overrides of hydra/... are known, and merges its own config first.
    after = walk.follow(main, root=True)
    parts = [*walk.follow(Item(group=None, name="hydra/config")), *after]
    _refuse_twice(parts)
    selection.refuse_unused()
    return Plan(parts, selection.values, selection.choices, selection.notes)


class _Walk:
    """The state of one walk over the tree of defaults."""

    def __init__(
        self, repository: Repository, selection: Selection, environment: AbstractMapping[str, str], *, multirun: bool
    ) -> None:
        self.repository = repository
        self.selection = selection
        self.environment = environment
        self.multirun = multirun
        self._trail: list[str] = []
        self._count = 0

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
        if self.selection.is_deleted(item):
            return []
        self.selection.note(item)
        if item.option is None or self._is_missing(item):
            return []
        if loaded is None:
            if item.optional:
                return []
            raise self._not_found(item)
        if ".." in item.config_path and ".." not in item.folder:
            self.selection.notes.append(
                Note(item.span, f"Hydra 1.4 refuses '..' in a defaults list: {item.config_path}")
            )
        self._trail.append(item.config_path)
        try:
            return self._follow_list(item, loaded, root=root, late=late)
        finally:
            self._trail.pop()

    def _follow_list(self, item: Item, loaded: Loaded, *, root: bool, late: bool) -> list[Part]:
        where, package = item.config_path, item.target
        listed = list(loaded.items)
        appended = self.selection.appended if root else []
        own_added = False
        if listed or appended:
            own_added = _add_own(listed, where)
        listed = [one if one.is_self else one.placed(item.group_path, package) for one in (*listed, *appended)]
        if self.repository.legacy:
            listed = [one._replace(override=one.override or of_hydra(one)) for one in listed]
        self.selection.register(listed, where, late=late)
        slots: list[list[Part] | Item] = []
        own = Part(where, package, loaded, item.primary, item.span, own=True)
        for one in reversed(listed):
            if one.is_self:
                slots.append([own])
                continue
            if one.override:
                continue
            chosen = self.selection.overridden(one)
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
            f"{OPEN_CHOICE}{item.key}', e.g, {item.key}=<OPTION>. Available options: {options or 'none'}",
            help=f"choose one on the command line: {item.key}=<OPTION>",
        )

    def _resolved(self, item: Item, listed: list[Item], *, own_added: bool) -> Item:
        """The item with its ``${...}`` replaced by the choices made so far."""
        assert isinstance(item.name, str)
        if item.group is not None and item.name.startswith("${defaults.") and not self.repository.legacy:
            raise refusal(item.span, f"Defaults list element '{item.key}={item.name}' uses a form of Hydra 1.0")
        text = item.name if item.group is not None else item.config_path
        known = {key: Entry(key, None, _text(value)) for key, value in self.selection.choices.items()}
        earlier = [_as_node(one) for one in listed if not (own_added and one.is_self)]
        known["defaults"] = Entry("defaults", None, Sequence(list(earlier), None))
        known["_item_"] = Entry("_item_", None, Scalar(text, None, plain=False))
        tree = Interpolations(Mapping(known, None), environment=self.environment)
        try:
            value = tree.scalar(Scalar(text, None, plain=False), ("_item_",)).value
        except Unresolvable as error:
            keys = ", ".join(self.selection.choices)
            raise refusal(
                item.span,
                f"Error resolving interpolation '{text}' ({error.reason}), possible interpolation keys: {keys}",
            ) from None
        if not isinstance(value, str):
            raise refusal(item.span, f"Error resolving interpolation '{text}': it gives {value!r}, which is no text")
        return item._replace(name=value)

    def _not_found(self, item: Item) -> Exception:
        where = f"In '{self._trail[-1]}': " if self._trail else ""
        if item.group is None:
            return refusal(item.span, f"{where}Could not load '{item.config_path}'.")
        options = ", ".join(self.repository.options(item.group_path))
        return refusal(
            item.span,
            f"{where}Could not find '{item.config_path}'. Available options in '{item.group_path}': {options or 'none'}",
        )

    def _circle(self, item: Item) -> Exception:
        paths = [*self._trail, item.config_path]
        first = next((at for at, path in enumerate(paths) if path in paths[at + 1 :]), 0)
        again = paths.index(paths[first], first + 1) if paths[first] in paths[first + 1 :] else len(paths) - 1
        return refusal(item.span, f"a cycle in the defaults lists: {' -> '.join(paths[first : again + 1])}")


def _refuse_twice(parts: list[Part]) -> None:
    seen: set[str] = set()
    for part in parts:
        if part.key is not None and part.key in seen:
            raise refusal(part.span, f"{part.key} appears more than once in the final defaults list")
        if part.key is not None:
            seen.add(part.key)


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
