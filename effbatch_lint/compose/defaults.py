"""One item of a defaults list: the config it names, the key that overrides it, and the package it is put at.

    - model: small                a choice: option "small" of the group "model"
    - model@net.encoder: small    the same, put at net.encoder; its key is then model@net.encoder
    - /model: small               from the root of the search path, not from the folder of this file
    - base/tiny                   a config by path: no choice, and nothing overrides it
    - optional, override          words before the group
    - _self_                      where this file's own values come in

Source: hydra/core/default_element.py and hydra/_internal/config_repository.py (1.3).
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence
from effbatch_lint.documents.scalars import resolve

if TYPE_CHECKING:
    from effbatch_lint.documents.nodes import Node
    from effbatch_lint.source import Span

SELF = "_self_"
MISSING = "???"


class Item(NamedTuple):
    """An item of a defaults list.

    Attributes:
        group: the group as written, perhaps with a leading slash; None for a config named by its path.
        name: the option, several options, or None (``group: null``); for a config named by path, that path.
        package: the package written in the item (``@pkg``), or None.
        header: the package in the named file's ``# @package`` line, from the root; or None.
        folder: the group path of the file that holds the item.
        within: the package of the file that holds the item.
        appended: whether the command line added it (``+group=option``).
    """

    group: str | None
    name: str | list[str] | None
    package: str | None = None
    optional: bool = False
    override: bool = False
    appended: bool = False
    primary: bool = False
    header: str | None = None
    folder: str = ""
    within: str = ""
    span: Span | None = None

    @property
    def is_self(self) -> bool:
        """Whether it stands for the file that holds it."""
        return self.name == SELF

    @property
    def is_reference(self) -> bool:
        """Whether the name holds an interpolation (``${model}_${dataset}``)."""
        return "${" in (self.name if isinstance(self.name, str) else "")

    @property
    def option(self) -> str | None:
        """The last part of the name."""
        if self.group is not None or not isinstance(self.name, str):
            return self.name if isinstance(self.name, str) else None
        return self.name.rpartition("/")[2]

    @property
    def group_path(self) -> str:
        """The group from the root of the search path: ``model``, ``model/encoder``, or empty."""
        local, absolute = self._local()
        if absolute or not self.folder:
            return local
        return f"{self.folder}/{local}" if local else self.folder

    @property
    def config_path(self) -> str:
        """The named config from the root of the search path, without its ending."""
        if self.group is not None:
            return f"{self.group_path}/{self.name}"
        path = str(self.name)
        if path.startswith("/"):
            return path[1:]
        return f"{self.folder}/{path}" if self.folder else path

    @property
    def target(self) -> str:
        """The package that the config is put at, dotted; empty for the root."""
        return self._package(self.header)

    @property
    def key(self) -> str:
        """What overrides the choice: the group path, with ``@package`` when that is not the group's own."""
        package = self._package(None)
        if package == self.group_path.replace("/", "."):
            return self.group_path
        return f"{self.group_path}@{package or '_global_'}"

    def placed(self, folder: str, within: str) -> Item:
        """The item in a file of that group and package; ``_group_`` in its own package is its group, from the root."""
        placed = self._replace(folder=folder, within=within)
        if self.package is None or "_group_" not in self.package:
            return placed
        group = placed.group_path.replace("/", ".")
        return placed._replace(package="_global_." + self.package.replace("_group_", group))

    def renamed(self) -> Item:
        """The item with ``_group_`` and ``_name_`` filled in where version_base 1.1 still knew them."""
        group, name = self.group_path.replace("/", "."), self.option or ""

        def filled(package: str | None) -> str | None:
            return package and package.replace("_group_", group).replace("_name_", name)

        return self._replace(package=filled(self.package), header=filled(self.header))

    def _local(self) -> tuple[str, bool]:
        """The group as written without its leading slash, and whether it had one."""
        text = str(self.name) if self.group is None else self.group
        absolute = text.startswith("/")
        text = text[1:] if absolute else text
        return (text.rpartition("/")[0] if self.group is None else text), absolute

    def _package(self, header: str | None) -> str:
        """Relative to the package of the file that holds the item; ``_global_`` cuts off all before it."""
        package = self.package if self.package is not None else header
        if package is None:
            package = self._local()[0].replace("/", ".")
        whole = ".".join(part for part in (self.within, package) if part)
        cut = whole.rfind("_global_")
        return whole if cut < 0 else whole[cut + len("_global_") + 1 :]


def items(defaults: Node | None, where: str, *, legacy: bool) -> list[Item]:
    """The items of the file ``where``.

    ``legacy`` is Hydra's ``version_base`` below 1.2, which also knows ``{group: name, optional: true}``.

    Raises:
        Unreadable: EB902, an item that Hydra refuses.
    """
    if defaults is None or (isinstance(defaults, Scalar) and defaults.text == MISSING):
        return []
    if not isinstance(defaults, Sequence):
        what = "a mapping" if isinstance(defaults, Mapping) else f"{defaults.text!r}"
        raise refusal(defaults.span, f"Invalid defaults list in '{where}', defaults must be a list (got {what})")
    return [_item(node, where, legacy=legacy) for node in defaults.items]


def _item(node: Node, where: str, *, legacy: bool) -> Item:
    if isinstance(node, Scalar):
        path = resolve(node, "omegaconf")
        if not isinstance(path, str):
            raise refusal(node.span, f"In '{where}': Unsupported type in defaults: {node.text!r} is no text")
        name, _, package = path.partition("@")
        item = Item(group=None, name=name, package=_package(path, package), span=node.span)
        if item.is_self and item.package is not None:
            raise refusal(node.span, f"In '{where}': _self_@PACKAGE is not supported")
        return item
    if not isinstance(node, Mapping):
        raise refusal(node.span, f"In '{where}': Unsupported type in defaults: a list")
    entries = dict(node.entries)
    optional = False
    if legacy and len(entries) > 1 and "optional" in entries:
        flag = entries.pop("optional").value
        optional = isinstance(flag, Scalar) and resolve(flag, "omegaconf") is True
    if len(entries) != 1:
        reason = f"Too many keys in default item: {', '.join(entries)}" if entries else "Missing group name in {}"
        raise refusal(node.span, f"In '{where}': {reason}")
    key, entry = next(iter(entries.items()))
    group, _, package = key.partition("@")
    *words, group = group.split(" ")
    # Hydra 1.3 reads the words before the group up to the first that it does not know, and says nothing of the rest.
    known = tuple(takewhile(("optional", "override").__contains__, words))
    if not group:
        raise refusal(entry.span, f"In '{where}': {key!r} is not [optional] [override] GROUP[@PACKAGE]")
    options = _options(entry.value, where)
    if options == SELF:
        raise refusal(entry.value.span, f"In '{where}': _self_ is an item of its own, and no option of {group}")
    return Item(
        group=group,
        name=options,
        package=_package(key, package),
        optional=optional or "optional" in known,
        override="override" in known,
        span=entry.value.span or entry.span,
    )


def _package(text: str, package: str) -> str | None:
    """The part after ``@``, ``_here_`` being the package of the file itself; a renaming of Hydra 1.0 is dropped."""
    if "@" not in text:
        return None
    package = package.partition(":")[0]
    return "" if package == "_here_" else package


def _options(node: Node, where: str) -> str | list[str] | None:
    if isinstance(node, Scalar):
        value = resolve(node, "omegaconf")
        if value is None or isinstance(value, str):
            return value
        raise refusal(node.span, f"In '{where}': an option is text, a list of texts or null, not {node.text}: quote it")
    if isinstance(node, Mapping):
        raise refusal(node.span, f"In '{where}': an option is text, a list of texts or null, not a mapping")
    names: list[str] = []
    for item in node.items:
        value = resolve(item, "omegaconf") if isinstance(item, Scalar) else None
        if not isinstance(value, str):
            raise refusal(item.span, f"In '{where}': the options of a list must be texts: quote them")
        names.append(value)
    return names
