"""OmegaConf's merge: a tree that takes one config after another, and remembers what each value replaced.

    mapping onto mapping     joined, key by key; a key keeps its place
    list onto list           replaced
    ??? onto anything        nothing happens
    mapping onto list        refused, and the other way round
    anything else            replaced: a mapping by null or a number, a number by a mapping
    onto ${other}            when a mapping or ??? comes and ${other} is a mapping or list: that is copied in first

Source: omegaconf/basecontainer.py (_map_merge, _list_merge), 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.interpolation import MISSING, Interpolations, Path, Unresolvable, is_interpolation
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

MAX_COPIED = 100_000
MAX_DEPTH = 200


class Layers:
    """The tree that is being composed. Parsed nodes are shared and never changed; what is changed is copied first."""

    def __init__(self, environment: AbstractMapping[str, str] | None = None) -> None:
        self.root = Mapping({}, None)
        self.interpolations = Interpolations(self.root, environment=environment)
        # Mappings made here, which may be changed in place; kept alive, since they are known by their identity.
        self._own: dict[int, Mapping] = {id(self.root): self.root}
        self._lists: dict[int, Sequence] = {}
        self._live: dict[str, Mapping] = {}
        self._copied = 0

    def add(self, config: Node, package: str, where: str, *, again: bool = False) -> None:
        """Merge a config in at a dotted package; empty for the root.

        ``again`` tells a config that is merged more than once. Hydra reads it once, and what it merges at the root is
        not a copy (the flag no_deepcopy_set_nodes in _compose_config_from_defaults_list): configs in between change
        the mappings and lists that came from it, and the second time they come as changed.

        Raises:
            Unreadable: EB902, a list or mapping that does not go onto what is there.
        """
        node = config
        if again and isinstance(config, Mapping):
            live = self._live.setdefault(where, self._thawed(config))
            node = self._copy(live) if package else live
        for name in reversed(package.split(".") if package else []):
            node = Mapping({name: Entry(name, config.span, node)}, config.span)
        if not isinstance(node, Mapping):
            raise refusal(config.span, f"In '{where}': a list cannot be merged into the root of the config")
        self.merge(self.root, node, (), where)

    def merge(self, into: Mapping, other: Mapping, path: Path, where: str) -> None:
        """Merge a mapping into one of this tree's own, in place."""
        entries = into.entries
        for key, entry in list(other.entries.items()):
            old = entries.get(key)
            if old is None:
                entries[key] = entry
            elif old.value is not entry.value:
                entries[key] = self._joined(old, entry, (*path, key), where)

    def owned(self, entry: Entry) -> Mapping:
        """The entry's mapping, replaced by a copy that may be changed if it is a parsed one."""
        value = entry.value
        assert isinstance(value, Mapping)
        if id(value) not in self._own:
            value = Mapping(dict(value.entries), value.span)
            self._own[id(value)] = value
        return value

    def _joined(self, old: Entry, new: Entry, path: Path, where: str) -> Entry:
        missing = isinstance(new.value, Scalar) and new.value.text == MISSING
        if is_interpolation(old.value) and (missing or not isinstance(new.value, Scalar)):
            old = self._followed(old, path)
        if missing:
            return old
        if isinstance(old.value, Mapping) and isinstance(new.value, Mapping):
            joined = self.owned(old)
            kept = Entry(old.key, new.span, joined, old.previous, old.note)
            self.merge(joined, new.value, path, where)
            return kept
        if not isinstance(old.value, Scalar) and not isinstance(new.value, (Scalar, type(old.value))):
            kinds = "DictConfig with ListConfig" if isinstance(old.value, Mapping) else "ListConfig with DictConfig"
            at = f", which {old.value.span.where} sets" if old.value.span is not None else ""
            raise refusal(
                new.span or new.value.span,
                f"In '{where}': ConfigTypeError raised while composing config: Cannot merge {kinds} at "
                f"{'.'.join(path)}{at}",
            )
        if isinstance(old.value, Sequence) and isinstance(new.value, Sequence) and id(old.value) in self._lists:
            return _refilled(old, new)
        return replaced(old, new)

    def _followed(self, old: Entry, path: Path) -> Entry:
        """A reference to a mapping or list becomes a copy of it, since something is merged onto it."""
        assert isinstance(old.value, Scalar)
        try:
            target = self.interpolations.scalar(old.value, path).value
        except Unresolvable:
            return old
        if not isinstance(target, (Mapping, Sequence)):
            return old
        self._copied += _size(target, {}, 0)
        if self._copied > MAX_COPIED:
            raise refusal(old.value.span, f"references copy more than {MAX_COPIED:,} values into the config")
        before = Entry(old.key, old.span, old.value)
        return Entry(old.key, old.span, self._copy(target), (*old.previous, before), old.note)

    def _copy(self, node: Node) -> Node:
        """A node that changes of this tree no longer reach; parsed nodes never change and are shared."""
        if isinstance(node, Sequence) and id(node) in self._lists:
            return Sequence(list(node.items), node.span)
        if not isinstance(node, Mapping) or id(node) not in self._own:
            return node
        return Mapping(
            {key: Entry(key, e.span, self._copy(e.value), e.previous, e.note) for key, e in node.entries.items()},
            node.span,
        )

    def _thawed(self, mapping: Mapping) -> Mapping:
        """A copy of a parsed mapping that belongs to this tree, with all that it holds."""
        entries = {}
        for key, entry in mapping.entries.items():
            value: Node = entry.value
            if isinstance(value, Mapping):
                value = self._thawed(value)
            elif isinstance(value, Sequence):
                value = Sequence(list(value.items), value.span)
                self._lists[id(value)] = value
            entries[key] = Entry(key, entry.span, value, entry.previous, entry.note)
        made = Mapping(entries, mapping.span)
        self._own[id(made)] = made
        return made


def _refilled(old: Entry, new: Entry) -> Entry:
    """The old list with the new one's items: whoever else holds it sees them too."""
    kept, other = old.value, new.value
    assert isinstance(kept, Sequence)
    assert isinstance(other, Sequence)
    before = Entry(old.key, old.span, Sequence(list(kept.items), kept.span), old.previous, old.note)
    kept.items[:], kept.span = other.items, other.span
    return replaced(before, Entry(new.key, new.span, kept, new.previous, new.note))


def _size(node: Node, known: dict[int, int], depth: int) -> int:
    """How many values the node holds when nothing is shared. Copies share nodes, and whoever walks the tree does not."""
    if isinstance(node, Scalar) or depth > MAX_DEPTH:
        return 1 if depth <= MAX_DEPTH else MAX_COPIED
    size = known.get(id(node))
    if size is None:
        below = node.items if isinstance(node, Sequence) else [entry.value for entry in node.entries.values()]
        size = known[id(node)] = 1 + sum(_size(one, known, depth + 1) for one in below)
    return size


def replaced(old: Entry, new: Entry) -> Entry:
    """The new entry, which remembers what it replaced."""
    before = Entry(old.key, old.span, old.value, (), old.note)
    return Entry(old.key, new.span, new.value, (*new.previous, before, *old.previous), new.note)
