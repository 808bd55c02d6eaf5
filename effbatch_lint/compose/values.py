"""The overrides that are values, applied to the composed tree: after all files, in the order of the command line.

The tree is in struct mode: ``k=v`` on a key that is not there is refused, ``+k=v`` on one that is there too; a mapping
is merged, everything else replaced.

Sources: hydra/_internal/config_loader_impl.py (_apply_overrides_to_config, 1.3), omegaconf/omegaconf.py (update, 2.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose import references
from effbatch_lint.compose.config import Unresolved
from effbatch_lint.compose.interpolation import MISSING, Path, Unresolvable, is_interpolation
from effbatch_lint.compose.layers import replaced
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.compose.sweeps import SWEEPS, Element
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from effbatch_lint.documents.scalars import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.compose.layers import Layers
    from effbatch_lint.compose.overrides import Override
    from effbatch_lint.source import Unreadable


def apply(layers: Layers, overrides: Iterable[Override], unseen: tuple[tuple[str, str], ...] = ()) -> None:
    """Apply the overrides to the tree. ``unseen`` are the sections in which keys may exist that no file holds.

    Raises:
        Unreadable: EB902, an override that Hydra refuses.
    """
    for override in overrides:
        if override.package is not None:
            raise refusal(
                override.word.span,
                f"Override {override.word.text} looks like a config group override, but config group "
                f"'{override.key}' does not exist.",
            )
        _Change(layers, override, unseen).apply()


class _Change:
    """One override on its way into the tree."""

    def __init__(self, layers: Layers, override: Override, unseen: tuple[tuple[str, str], ...]) -> None:
        self.layers = layers
        self.override = override
        # Hydra's own node has a schema that is not modelled: any key of it may exist.
        sections = ("hydra", *(section for section, _ in unseen))
        self.open = any(not section or f"{override.key}.".startswith(f"{section}.") for section in sections)

    def apply(self) -> None:
        override = self.override
        match override.action:
            case "delete":
                self.delete()
            # Hydra reads the value that is there before it looks at the new one: a broken reference is refused.
            case "add" if not self.open and self.found() and not isinstance(override.value, (dict, list)):
                raise self.refused(
                    "Could not append to config. An item is already there",
                    help=f"remove the + to change it: {override.word.text.removeprefix('+')}",
                )
            case "add" | "force-add":
                self.update(force=True)
            case "change":
                self.update(force=self.open or override.word.anyway)

    def refused(self, reason: str, help: str | None = None) -> Unreadable:
        return refusal(self.override.word.span, f"{reason}: override '{self.override.word.text}'", help=help)

    def refused_key(self, key: str) -> Unreadable:
        word = self.override.word.text
        return self.refused(
            f"Could not override '{self.override.key}'. Key '{key}' is not in struct",
            help=f"no file sets it: to append it to the config use +{word}",
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    def found(self) -> tuple[Node, Path] | None:
        """What the key holds, references followed, and where it stands; None for a missing key, null and ???."""
        path: Path = ()
        try:
            entry, path = self.layers.interpolations.select(self.override.key)
            node: Node = entry.value
            if isinstance(node, Scalar) and is_interpolation(node):
                value = self.layers.interpolations.scalar(node, path).value
                node = value if isinstance(value, (Mapping, Sequence)) else Scalar(str(value), None, value=value)
        except Unresolvable as error:
            if error.absent and not path:
                return None
            if not error.unknown:
                raise self.refused(error.reason) from None
            node = Scalar("", None, plain=False)
        if isinstance(node, Scalar) and (node.text == MISSING or resolve(node, "omegaconf") is None):
            return None
        return node, path

    # -- writing ---------------------------------------------------------------------------------------------------

    def update(self, *, force: bool) -> None:
        """Set or merge the value; ``force`` makes what is not there."""
        *above, last = self.override.key.split(".")
        holder: Mapping | Sequence = self.layers.root
        for name in above:
            holder = self.step(holder, name, force=force)
        value = self.node(self.override.value)
        entry = Entry(last, self.override.word.span, value, note=self.note)
        if isinstance(holder, Sequence):
            self.set_item(holder, last, entry, force=force)
            return
        old = holder.entries.get(last)
        if old is None:
            if not force:
                raise self.refused_key(last)
            holder.entries[last] = entry
        elif isinstance(value, Mapping) and isinstance(old.value, Mapping):
            self.merge(old, holder, value, force=force)
        elif not isinstance(value, Scalar) and not isinstance(old.value, (Scalar, type(value))):
            raise self.refused("Cannot merge DictConfig with ListConfig")
        else:
            holder.entries[last] = replaced(old, entry)

    @property
    def note(self) -> str:
        span = self.override.word.span
        return f"--override {self.override.word.text}" if span is None else self.override.word.text

    def step(self, holder: Mapping | Sequence, name: str, *, force: bool) -> Mapping | Sequence:
        """One level down. A value on the way is replaced by a mapping, when keys may be made."""
        if isinstance(holder, Sequence):
            return self.step_item(holder, name)
        entry = holder.entries.get(name)
        if entry is None and not force:
            raise self.refused_key(name)
        if entry is None or isinstance(entry.value, Scalar):
            # Without force the new mapping is empty and closed: whatever comes below it is refused.
            if not force:
                raise self.refused_key(self.override.key.rpartition(".")[2])
            fresh = Entry(name, self.override.word.span, Mapping({}, None), note=self.note)
            entry = fresh if entry is None else replaced(entry, fresh)
        if isinstance(entry.value, Mapping):
            entry = Entry(name, entry.span, self.layers.owned(entry), entry.previous, entry.note)
        else:
            assert isinstance(entry.value, Sequence)
            entry = Entry(
                name, entry.span, Sequence(list(entry.value.items), entry.value.span), entry.previous, entry.note
            )
        holder.entries[name] = entry
        assert not isinstance(entry.value, Scalar)
        return entry.value

    def step_item(self, holder: Sequence, name: str) -> Mapping | Sequence:
        index = self.index(holder, name)
        item = holder.items[index]
        if isinstance(item, Scalar):
            raise self.refused_key(self.override.key.rpartition(".")[2])
        if isinstance(item, Mapping):
            item = self.layers.owned(Entry(name, None, item))
        else:
            item = Sequence(list(item.items), item.span)
        holder.items[index] = item
        return item

    def index(self, holder: Sequence, name: str) -> int:
        if not name.isdecimal():
            raise self.refused(f"'{name}' is no index of a list")
        if int(name[:9]) >= len(holder.items):
            raise self.refused(f"the list has {len(holder.items)} items, and no item {name}")
        return int(name[:9])

    def set_item(self, holder: Sequence, name: str, entry: Entry, *, force: bool) -> None:
        index = self.index(holder, name)
        old = holder.items[index]
        if isinstance(entry.value, Mapping) and isinstance(old, Mapping):
            section = Mapping({name: Entry(name, None, old)}, None)
            self.merge(section.entries[name], section, entry.value, force=force)
            holder.items[index] = section.entries[name].value
        elif not isinstance(entry.value, Scalar) and not isinstance(old, (Scalar, type(entry.value))):
            raise self.refused("Cannot merge DictConfig with ListConfig")
        else:
            holder.items[index] = entry.value

    def merge(self, old: Entry, holder: Mapping, value: Mapping, *, force: bool) -> None:
        if not force:
            self.check_struct(old.value, value)
        joined = self.layers.owned(old)
        holder.entries[old.key] = Entry(old.key, old.span, joined, old.previous, old.note)
        self.layers.merge(joined, value, tuple(self.override.key.split(".")), self.override.word.text)

    def check_struct(self, old: Node, value: Mapping) -> None:
        """A mapping that is merged may bring no new key either."""
        if not isinstance(old, Mapping):
            return
        for key, entry in value.entries.items():
            there = old.entries.get(key)
            if there is None:
                raise self.refused_key(key)
            if isinstance(entry.value, Mapping) and isinstance(there.value, Mapping):
                self.check_struct(there.value, entry.value)

    def delete(self) -> None:
        override = self.override
        found = self.found()
        if found is None:
            if self.open:
                return
            raise self.refused(f"Could not delete '{override.key}' from config: it does not exist")
        node, path = found
        if override.value is not None and not _equal(node, override.value):
            raise self.refused(f"Could not delete '{override.key}' from config: its value is not {override.value}")
        *above, last = path or override.key.split(".")
        holder: Mapping | Sequence = self.layers.root
        for name in above:
            holder = self.step(holder, name, force=False)
        if not isinstance(holder, Mapping):
            raise self.refused("Could not delete: items of a list cannot be deleted")
        holder.entries.pop(last, None)

    def node(self, value: Element) -> Node:
        """The value as a node that stands where the override stands."""
        span = self.override.word.span
        if self.override.word.unknown is not None:
            return Scalar(self.override.word.text, span, value=Unresolved(self.override.word.unknown))
        if isinstance(value, dict):
            if None in value:
                raise self.refused("null is no key")
            named = {(str(key).lower() if isinstance(key, bool) else str(key)): item for key, item in value.items()}
            return Mapping(
                {key: Entry(key, span, self.node(item), note=self.note) for key, item in named.items()}, span
            )
        if isinstance(value, list):
            return Sequence([self.node(item) for item in value], span)
        if isinstance(value, SWEEPS):
            raise self.refused("a sweep cannot be a value")
        if isinstance(value, str):
            if "${" in value:
                try:
                    references.parse(str(value))
                except ValueError as error:
                    raise self.refused(str(error)) from None
            return Scalar(str(value), span, plain=False, value=str(value))
        return Scalar("null" if value is None else str(value), span, value=value)


def _equal(node: Node, value: Element) -> bool:
    return bool(plain(node) == value)


def plain(node: Node) -> Element:
    """The node as Python's own values, interpolations as text."""
    if isinstance(node, Mapping):
        return {key: plain(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return resolve(node, "omegaconf")
