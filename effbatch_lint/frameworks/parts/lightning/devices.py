"""How many devices of a node a Lightning Trainer takes: every form of ``devices``, and the arguments of 1.x.

Upstream: Lightning-AI/pytorch-lightning, src/lightning/fabric/utilities/device_parser.py (_parse_gpu_ids,
_normalize_parse_gpu_string_input), src/lightning/fabric/accelerators/cpu.py (parse_devices), src/lightning/pytorch/
trainer/connectors/accelerator_connector.py (_check_device_config_and_set_final_flags).

``4`` and ``"4"`` are four devices; ``"4,"`` and ``[4]`` are one, the fifth; ``-1`` and ``auto`` are all there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.compose.config import Unresolved, origin_of
from effbatch_lint.documents.nodes import Scalar, Sequence
from effbatch_lint.terms import Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.nodes import Node
    from effbatch_lint.launch import Launch

# 1.x has an argument for each accelerator; ``devices`` is the only one since 2.0.
ARGUMENTS = ("devices", "gpus", "tpu_cores", "num_processes")
_ONE_DEVICE_WHEN_AUTO = ("cpu", "mps")


def devices_per_node(config: Config, trainer: tuple[str, ...], launch: Launch) -> tuple[Term, tuple[Problem, ...]]:
    """The devices of one node, and what Lightning refuses about them.

    ``trainer`` are the prefixes under which Trainer arguments stand, the winning one first.
    """
    for argument in ARGUMENTS:
        key = config.present(*(prefix + argument for prefix in trainer))
        entry = config.entry(key) if key else None
        if key is None or entry is None:
            continue
        origins = (origin_of(entry, config.prefix + key),)
        counted = _count(config, key, entry.value)
        if isinstance(counted, int) and counted > 0:
            return Term(counted, "read", origins, None, None, key), ()
        if counted == 0 and argument == "gpus":
            return Term(1, "read", origins, f"{key} 0 means one CPU process", None, key), ()
        if counted == "all":
            return _all_devices(config, trainer, launch, Term(None, "unknown", origins, None, None, key)), ()
        if isinstance(counted, Unresolved):
            return _unresolved(counted.reason, launch, Term(None, "unknown", origins, None, None, key)), ()
        reason = "is no number of devices" if counted == 0 else str(counted)
        problem = Problem(
            "EB304",
            f"{key} {_shown(entry.value)} {reason}",
            (Term(None, "unknown", origins, None, None, key),),
            refuses=True,
            help=f"set {key} to a number of devices, or to a list of different indices",
        )
        return unknown(problem.message, *origins, key=key), (problem,)
    return _all_devices(config, trainer, launch, Term(None, "unknown", key=f"{trainer[-1]}devices")), ()


def _count(config: Config, key: str, node: Node) -> int | str | Unresolved:
    """A number of devices, ``"all"``, why Lightning refuses the value, or why it is not known."""
    if isinstance(node, Sequence):
        return _indices([item.text for item in node.items if isinstance(item, Scalar)])
    value = config.value(key)
    if isinstance(value, Unresolved):
        return value
    text = str(value).strip()
    if text in ("-1", "auto"):
        return "all"
    if "," in text:
        return _indices([part for part in text.split(",") if part.strip()])
    if isinstance(value, (int, str)) and not isinstance(value, bool) and text.isdecimal() and len(text) < 10:  # noqa: PLR2004 - no node has so many
        return int(text)
    return "is neither a number nor a list of devices"


def _indices(parts: list[str]) -> int | str:
    indices = [part.strip() for part in parts]
    if len(set(indices)) < len(indices):
        return "names a device twice"
    if not all(index.isdecimal() for index in indices):
        return "is no list of device indices"
    return len(indices)


def _all_devices(config: Config, trainer: tuple[str, ...], launch: Launch, asked: Term) -> Term:
    accelerator = config.text(*(f"{prefix}accelerator" for prefix in trainer))
    if accelerator in _ONE_DEVICE_WHEN_AUTO:
        return Term(1, "derived", asked.origins, f"accelerator {accelerator} has one device", None, asked.key)
    return _unresolved(f"{asked.key} is not a number: all devices of the node are taken", launch, asked)


def _unresolved(reason: str, launch: Launch, asked: Term) -> Term:
    if launch.devices_per_node.known:
        return launch.devices_per_node.named(asked.key or "devices")
    return unknown(f"{reason}; nothing here states how many there are", *asked.origins, key=asked.key)


def _shown(node: Node) -> str:
    if isinstance(node, Scalar):
        return repr(node.text)
    items = node.items if isinstance(node, Sequence) else []
    return "[" + ", ".join(item.text for item in items if isinstance(item, Scalar)) + "]"
