"""Megatron's flags under one spelling, wherever they are written.

    --micro-batch-size 4        a launch line (``launch.overrides``: {"micro-batch-size": "4"})
    --micro-batch-size: 4       MODEL_ARGS of a functional test
    micro_batch_size: 4         --yaml-cfg, and the files of frameworks around Megatron

argparse and these files name one and the same attribute of ``args``. Here it has the name of the flag without its
dashes: ``args.integer("micro-batch-size")``. ``args.root.duplicates`` holds what a repeat replaced.

Upstream: NVIDIA/Megatron-LM, megatron/training/arguments.py (parse_args);
tests/functional_tests/shell_test_utils/_run_training.sh (how MODEL_ARGS become flags: ``true`` is a bare flag, and
``"[a b c]"`` several values).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.spelling import hyphenated, respelled
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch


def flags(config: Config, *layers: Mapping, launch: Launch | None = None) -> Config:
    """The flags in ``layers`` of the config (its top level, when none are named), later ones over earlier ones.

    ``--override`` words lie over all of them, and below them all what only the launch line says.
    """
    overrides = Mapping({key: entry for key, entry in config.root.entries.items() if entry.note is not None}, None)
    read = [*(layers or (config.root,)), overrides]
    if launch is not None:
        read.insert(0, _launched(launch, {hyphenated(key) for layer in read for key in layer.entries}))
    return config.over(respelled(read, hyphenated))


def values(args: Config, flag: str) -> list[str]:
    """The words of a flag that takes several: a list, ``"[16 16 100]"`` or ``16 16 100``; empty when absent or null."""
    node = args.node(flag)
    if isinstance(node, Sequence):
        return [item.text for item in node.items if isinstance(item, Scalar)]
    return written(args, flag).strip("[]() ").replace(",", " ").split()


def written(args: Config, flag: str) -> str:
    """The value as it is written, before any typing (``0:384`` is a number in YAML 1.1); empty when absent or null."""
    node = args.node(flag)
    return node.text.strip() if isinstance(node, Scalar) and args.has(flag) else ""


def _launched(launch: Launch, known: set[str]) -> Mapping:
    """What the launch line says beyond the ``known`` flags."""
    note = f"launch line of {launch.program}" if launch.program else "launch line"
    said = {name: value for name, value in launch.overrides.items() if hyphenated(name) not in known}
    return Mapping({name: Entry(name, None, _word(value), note=note) for name, value in said.items()}, None)


def _word(value: str | bool) -> Scalar:  # noqa: FBT001 - a bare flag is True in launch.overrides
    return Scalar(str(value), None) if isinstance(value, str) else Scalar(str(value), None, value=value)
