"""Configs that stand on other configs, by the forms that are not Hydra's; a chain of files becomes one tree.

    _BASE_: ../Base-RCNN-FPN.yaml           detectron2 and others on fvcore; a list too, later ones on top
    defaults: ../../grpo_math_1B.yaml       NeMo-RL; a list too; ``_override_: true`` replaces a section whole
    base_config: base.yml                   MaxText; relative to the file, else in its folder of configs
    data: !include data/source.yaml         Levanter (draccus): compose/include.py

The file itself always lies on top, and its names are relative to it. Nothing outside the project is read.

Sources: facebookresearch/fvcore fvcore/common/config.py (load_yaml_with_base); NVIDIA-NeMo/RL nemo_rl/utils/config.py
(load_config_with_inheritance, merge_with_override); AI-Hypercomputer/maxtext src/maxtext/configs/pyconfig.py
(_load_config).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.compose.bases import BASES, names_parts
from effbatch_lint.compose.include import included
from effbatch_lint.compose.layers import Layers
from effbatch_lint.compose.merge import layered
from effbatch_lint.compose.refusal import refusal
from effbatch_lint.documents.nodes import Entry, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.named_files import Chain, Named


class Parents(NamedTuple):
    """What a config names as its bases: under which key, in which order."""

    key: str
    names: list[Scalar]


def inherited(named: Named, root: Mapping, chain: Chain) -> Mapping:
    """The last document's ``root`` on top of all that it names; ``root`` itself when it names nothing.

    Raises:
        Unreadable: a base cannot be read (EB901), a cycle, or a merge that the framework refuses (EB902).
    """
    if names_parts(chain[-1].source.text):
        root = included(named, root, chain)
    parents = _parents(root)
    if parents is None:
        return root
    missing = len(named.missing)
    below = [base for name in parents.names for base in _base(named, parents.key, name, chain)]
    kept = len(named.missing) > missing and len(chain) == 1
    entries = {key: entry for key, entry in root.entries.items() if key != parents.key or kept}
    trees = [*below, Mapping(entries, root.span)]
    return _yacs(trees) if parents.key == "_BASE_" else _omegaconf(trees, chain[-1].source.path)


def _base(named: Named, key: str, name: Scalar, chain: Chain) -> Iterator[Mapping]:
    """One base, itself on top of its own; nothing when the project does not hold it."""
    document = named.document(key, name, chain)
    if document is None:
        return
    if not document.mappings:
        raise refusal(name.span, f"{document.source.path} holds no mapping, and nothing can be inherited from it")
    yield inherited(named, document.mappings[0], (*chain, document))


def _parents(root: Mapping) -> Parents | None:
    """The bases: names of YAML files. ``defaults`` with anything else among them is Hydra's."""
    for key in BASES:
        entry = root.entries.get(key)
        if entry is None:
            continue
        values = entry.value.items if isinstance(entry.value, Sequence) else [entry.value]
        names = [value for value in values if isinstance(value, Scalar) and value.text.endswith((".yaml", ".yml"))]
        if names and len(names) == len(values):
            return Parents(key, names)
    return None


def _yacs(roots: list[Mapping]) -> Mapping:
    """As fvcore does: it joins sections and replaces all else; a section does not go onto a value."""
    result = roots[0]
    for root in roots[1:]:
        _check_sections(result, root)
        result = layered([result, root])
    return result


def _check_sections(below: Mapping, above: Mapping) -> None:
    for key, entry in above.entries.items():
        old = below.get(key)
        if old is None or not isinstance(entry.value, Mapping):
            continue
        if not isinstance(old, Mapping):
            raise refusal(entry.span, f"Cannot inherit key '{key}' from base: it is a value there, and a section here")
        _check_sections(old, entry.value)


def _omegaconf(roots: list[Mapping], where: str) -> Mapping:
    """OmegaConf's merge; a section at the top that is marked ``_override_`` replaces the inherited one."""
    layers = Layers()
    for root in roots:
        entries: dict[str, Entry] = {}
        for key, entry in root.entries.items():
            section = _overriding(entry.value)
            if section is not None:
                layers.root.entries.pop(key, None)
            entries[key] = entry if section is None else Entry(key, entry.span, section, entry.previous, entry.note)
        layers.add(Mapping(entries, root.span), "", where)
    return Mapping(layers.root.entries, roots[-1].span)


def _overriding(value: Node) -> Mapping | None:
    """The section without its marker, where it has one."""
    if not isinstance(value, Mapping):
        return None
    marker = value.get("_override_")
    if not isinstance(marker, Scalar) or marker.text.lower() not in ("true", "yes", "on"):
        return None
    return Mapping({key: entry for key, entry in value.entries.items() if key != "_override_"}, value.span)
