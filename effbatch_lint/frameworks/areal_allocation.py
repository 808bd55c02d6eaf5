"""AReaL's allocation strings: ``fsdp:d4p1t1``, ``megatron:(attn:d4p4t2c1|ffn:d2p4e4)``, ``sglang:d4+fsdp:d4``.

Upstream: inclusionAI/AReaL, areal/api/alloc_mode.py (AllocationMode, ModelAllocation).

A letter is a degree: d data, p pipeline, t tensor, c context, e expert; one that is absent is 1. A mixture of experts has
an allocation for attention, whose replicas count, and one for the experts on the same devices.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.terms import Origin, Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_DEGREES = re.compile(r"(?:[dptce]\d{1,6})+")
_GENERATES = ("sglang", "vllm")


class Parts(NamedTuple):
    """One allocation: its back-end, the degrees of the model (of attention), and those of the experts."""

    backend: str
    degrees: dict[str, int]
    experts: dict[str, int] | None = None

    def devices(self, degrees: dict[str, int]) -> int:
        """The devices that the degrees multiply to."""
        count = 1
        for degree in degrees.values():
            count *= degree
        return count


def allocation(config: Config, models: tuple[str, ...], world: Term) -> tuple[Layout, tuple[Problem, ...]]:
    """The layout of the first model that has a back-end string, and what AReaL refuses of it."""
    key = next((f"{name}.backend" for name in models if config.has(f"{name}.backend")), "allocation_mode")
    text, origin = config.text(key), config.origin(key)
    origins = (origin,) if origin is not None else ()
    parts = _parsed(text, single=key != "allocation_mode") if text else None
    if parts is None:
        reason = (
            f"{key} is not set" if not text else f"{key} is {text[:60]!r}, which is no allocation that is understood"
        )
        missing = unknown(reason, *origins, key=key)
        return Layout(world, missing, missing, missing, missing), ()
    degree = {name: _degree(parts, name, key, origins) for name in "dptc"}
    layout = Layout.of_replicas(degree["d"], world=world, tensor=degree["t"], pipeline=degree["p"], context=degree["c"])
    return layout, tuple(_refused(parts, degree["d"]))


def _degree(parts: Parts, letter: str, key: str, origins: tuple[Origin, ...]) -> Term:
    if letter not in parts.degrees:
        return Term(1, "default", (), key=f"{letter} of {key}")
    return Term(parts.degrees[letter], "read", origins, key=f"{letter} of {key}")


def _parsed(text: str, *, single: bool) -> Parts | None:
    """The allocation of the training side; several joined by ``+`` only where one key names all of them."""
    pieces = text.strip().split("+")
    if len(pieces) > 1 and single:
        return None
    found = [part for part in (_part(piece) for piece in pieces) if part is not None]
    training = [part for part in found if part.backend not in _GENERATES]
    return training[-1] if training and len(found) == len(pieces) else None


def _part(text: str) -> Parts | None:
    backend, colon, rest = text.strip().partition(":")
    if not colon:
        backend, rest = "", text.strip()
    rest = rest.strip().strip("()")
    if "|" not in rest:
        degrees = _degrees(rest)
        return None if degrees is None else Parts(backend, degrees)
    sides = dict(side.strip().split(":", 1) for side in rest.split("|") if ":" in side)
    attention, experts = _degrees(sides.get("attn", "")), _degrees(sides.get("ffn", ""))
    return None if attention is None or experts is None else Parts(backend, attention, experts)


def _degrees(text: str) -> dict[str, int] | None:
    if not _DEGREES.fullmatch(text):
        return None
    return {letter: int(number) for letter, number in re.findall(r"([a-z])(\d+)", text)}


def _refused(parts: Parts, at: Term) -> list[Problem]:
    """What the allocation classes refuse: the experts on other devices than attention, FSDP with a pipeline or experts."""
    problems = []
    own = parts.devices({name: size for name, size in parts.degrees.items() if name != "e"})
    if parts.experts is not None and parts.devices(parts.experts) != own:
        problems.append(
            Problem(
                "EB304",
                f"the allocation of the experts has {shown(parts.devices(parts.experts))} devices, and that of attention "
                f"{shown(own)}",
                (at,),
                refuses=True,
                help="let both multiply to the same number",
            )
        )
    if parts.backend == "fsdp" and (parts.degrees.get("p", 1) > 1 or parts.degrees.get("e", 1) > 1):
        problems.append(
            Problem(
                "EB304",
                "an fsdp allocation takes no pipeline and no expert degree above 1",
                (at,),
                refuses=True,
                help="use megatron or archon, or set p and e to 1",
            )
        )
    return problems
