"""What a config itself declares: pragma comments, and the node ``effbatch: {target_global_batch: ..., world_size: ...}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence
from effbatch_lint.targets.quantity import parse_quantity
from effbatch_lint.targets.target import Target
from effbatch_lint.terms import Origin, Term

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.pragmas import Pragmas
    from effbatch_lint.source import Span

NODE_KEYS = ("target_global_batch", "target_tokens", "unit", "world_size", "tolerance")


class Declared(NamedTuple):
    """Targets and world sizes as the config's files declare them; ``unknown`` are words that do not exist (EB905)."""

    targets: tuple[Target, ...] = ()
    world_sizes: tuple[Term, ...] = ()
    unknown: tuple[tuple[Span | None, str], ...] = ()


NOTHING = Declared()


def declared(config: Config, pragmas: Pragmas) -> Declared:
    """The declarations of a config: those of its pragmas, then those of its ``effbatch:`` node."""
    found = _stated(pragmas)
    node = config.node("effbatch")
    if isinstance(node, Mapping):
        stated = _node(config, node)
        found = Declared(
            found.targets + stated.targets, found.world_sizes or stated.world_sizes, found.unknown + stated.unknown
        )
    return found


def _stated(pragmas: Pragmas) -> Declared:
    targets = tuple(Target(d.quantity, Origin(d.span, "pragma"), "pragma", d.tolerance) for d in pragmas.targets)
    sizes = tuple(
        Term(value, "declared", (Origin(stated.span, "pragma"),), key="world-size")
        for stated in pragmas.world_sizes
        for value in stated.values
    )
    return Declared(targets, sizes)


def _node(config: Config, node: Mapping) -> Declared:
    tolerance = config.value("effbatch.tolerance")
    unit = config.text("effbatch.unit")
    targets: list[Target] = []
    world_sizes: list[Term] = []
    unknown: list[tuple[Span | None, str]] = []
    for key, entry in node.entries.items():
        values = entry.value.items if isinstance(entry.value, Sequence) else [entry.value]
        scalars = [value for value in values if isinstance(value, Scalar)]
        if key in ("target_global_batch", "target_tokens"):
            quantity = (
                parse_quantity(scalars[0].text, "tokens" if key == "target_tokens" else unit) if scalars else None
            )
            if quantity is None:
                unknown.append((entry.value.span, f"effbatch.{key} is no number: 2048, 2048 sequences, 8M tokens"))
                continue
            share = float(tolerance) if isinstance(tolerance, (int, float)) else 0.0
            targets.append(Target(quantity, Origin(entry.value.span, f"effbatch.{key}"), "config", share))
        elif key == "world_size":
            for value in scalars:
                if value.text.isdecimal() and int(value.text[:9]) > 0:
                    origin = Origin(value.span, "effbatch.world_size")
                    world_sizes.append(Term(int(value.text[:9]), "declared", (origin,), key="effbatch.world_size"))
                else:
                    unknown.append((value.span, f"effbatch.world_size is {value.text}, no number of devices"))
        elif key not in NODE_KEYS:
            unknown.append((entry.span, f"effbatch.{key} does not exist; there are {', '.join(NODE_KEYS)}"))
    return Declared(tuple(targets), tuple(world_sizes), tuple(unknown))
