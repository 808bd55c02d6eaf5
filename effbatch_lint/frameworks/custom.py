"""An in-house trainer, described in the settings by key paths and formulas.

    [tool.effbatch-lint.custom.our-trainer]
    micro-batch = "train.bs"
    accumulation = "train.accum"
    world-size = "cluster.nodes * cluster.gpus"
    tensor-parallel = "model.tp"
    sequence-length = "data.max_len"

The arithmetic is the common one: micro batch x accumulation x (world size / model-parallel degrees). With
``global-batch`` the trainer fixes B itself, and the accumulation is what is left of it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

from effbatch_lint import expression
from effbatch_lint.batch import Batch, Layout, Problem, Unit
from effbatch_lint.documents.nodes import Scalar, Sequence
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.source import Span, Unreadable
from effbatch_lint.terms import ONE, Term, exact, product, shown, unknown

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

QUANTITIES = (
    "micro-batch", "accumulation", "global-batch", "world-size", "data-parallel", "tensor-parallel",
    "pipeline-parallel", "context-parallel", "sequence-length",
)  # fmt: skip
OTHER = ("name", "match", "unit", "dialect")


def frameworks(described: tuple[Config, ...]) -> list[Framework]:
    """The frameworks that the settings describe.

    Raises:
        Unreadable: a key that does not exist, or a formula that is no arithmetic, at its line.
    """
    return [_framework(settings) for settings in described]


def _framework(settings: Config) -> Framework:
    for key, entry in settings.root.entries.items():
        if key not in QUANTITIES and key not in OTHER:
            raise _wrong(
                settings, key, f"no key of a custom trainer; there are {', '.join(QUANTITIES + OTHER)}", entry.span
            )
    formulas: dict[str, ast.expr] = {}
    for name in QUANTITIES:
        text = _text(settings, name, "a key path or arithmetic over key paths")
        if text is None:
            continue
        try:
            formulas[name] = expression.parse(text)
        except expression.Malformed as error:
            raise _wrong(settings, name, str(error)) from None
    if "micro-batch" not in formulas and "global-batch" not in formulas:
        raise _wrong(
            settings, "micro-batch", "missing: a custom trainer needs micro-batch or global-batch", settings.root.span
        )
    match = _match(settings)
    if not match and not _keys(formulas):
        raise _wrong(
            settings, "match", "missing: no key path says which configs are this trainer's", settings.root.span
        )
    unit = _text(settings, "unit", "one of the units") or "sequences"
    if unit not in get_args(Unit):
        raise _wrong(settings, "unit", f"one of {', '.join(get_args(Unit))}")
    dialect = _text(settings, "dialect", "a dialect") or "pyyaml"
    if dialect not in ("pyyaml", "omegaconf", "yaml12"):
        raise _wrong(settings, "dialect", "one of pyyaml, omegaconf, yaml12")
    return Framework(
        name=_text(settings, "name", "a string") or settings.prefix.removeprefix("custom.").rstrip(".") or "custom",
        formula=" x ".join(settings.text(name) or "" for name in ("micro-batch", "accumulation") if name in formulas)
        + " x replicas",
        sources=(f"the settings, {settings.path}",),
        recognise=partial(_recognise, formulas, match),
        read=partial(_read, formulas, unit),  # type: ignore[arg-type] # checked above
        dialect=dialect,  # type: ignore[arg-type] # checked above
    )


def _text(settings: Config, key: str, wanted: str) -> str | None:
    """The text of a setting; a number counts as one, as a formula that is a constant."""
    value = settings.value(key)
    if settings.node(key) is None:
        return None
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise _wrong(settings, key, wanted)
    return str(value)


def _keys(formulas: dict[str, ast.expr]) -> list[str]:
    """The key paths of the batch itself."""
    return [
        key for name in ("micro-batch", "global-batch") if name in formulas for key in expression.keys(formulas[name])
    ]


def _match(settings: Config) -> tuple[str, ...]:
    node = settings.node("match")
    if node is None:
        return ()
    items = node.items if isinstance(node, Sequence) else [node]
    keys = tuple(item.value for item in items if isinstance(item, Scalar) and isinstance(item.value, str))
    if len(keys) != len(items) or not isinstance(node, Sequence):
        raise _wrong(settings, "match", "a list of keys that the trainer's configs have")
    return keys


def _recognise(formulas: dict[str, ast.expr], match: tuple[str, ...], config: Config) -> int:
    """All ``match`` keys, or the keys of the batch itself; a described trainer goes before the built-in ones."""
    if match:
        return 100 * len(match) if config.count(*match) == len(match) else 0
    wanted = _keys(formulas)
    return 100 * len(wanted) if wanted and config.count(*wanted) == len(wanted) else 0


def _read(formulas: dict[str, ast.expr], unit: Unit, config: Config, launch: Launch) -> Iterator[Batch]:
    def term(name: str, absent: Term) -> Term:
        if name not in formulas:
            return absent
        value = expression.evaluate(formulas[name], config.integer)
        return value if value.key is not None else value.named(" ".join(expression.keys(formulas[name])) or name)

    tensor, pipeline, context = (term(f"{axis}-parallel", ONE) for axis in ("tensor", "pipeline", "context"))
    stated = term("world-size", launch.world_size)
    world = launch.world_size if launch.world_size.known and not stated.known else stated
    replicas = term("data-parallel", unknown("not stated"))
    if "data-parallel" in formulas:
        layout = Layout.of_replicas(replicas, world=world, tensor=tensor, pipeline=pipeline, context=context)
    else:
        layout = Layout.of_world(world, tensor=tensor, pipeline=pipeline, context=context)
    declared = term("global-batch", unknown("not stated")) if "global-batch" in formulas else None
    micro = term("micro-batch", unknown("the settings name no micro-batch for this trainer"))
    accumulation, problems = _accumulation(formulas, term("accumulation", ONE), declared, micro, layout)
    if stated.known and launch.world_size.known and stated.value != launch.world_size.value:
        problems.append(
            Problem(
                "EB203",
                f"the config states {shown(stated.value)} devices, and {shown(launch.world_size.value)} are given",
                (stated, launch.world_size),
            )
        )
    yield Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        sequence_length=term("sequence-length", unknown("not stated")) if "sequence-length" in formulas else None,
        unit=unit,
        global_batch=declared,
        declared=declared,
        problems=tuple(problems),
    )


def _accumulation(
    formulas: dict[str, ast.expr], stated: Term, declared: Term | None, micro: Term, layout: Layout
) -> tuple[Term, list[Problem]]:
    """The accumulation, and what contradicts: a global batch leaves it no freedom."""
    if declared is None:
        return stated, []
    each = product(micro, layout.replicas)
    left = exact(declared, each)
    if "accumulation" not in formulas:
        if declared.known and each.known and not left.known:
            message = (
                f"the global batch {shown(declared.value)} is not a multiple of {shown(each.value)}: micro batch "
                f"{shown(micro.value)} x {shown(layout.replicas.value)} replicas"
            )
            return left, [Problem("EB302", message, (declared, micro), refuses=True)]
        return left, []
    computed = product(each, stated)
    if computed.known and declared.known and computed.value != declared.value:
        message = (
            f"the global batch says {shown(declared.value)}, and micro batch x accumulation x replicas is "
            f"{shown(computed.value)}"
        )
        return stated, [Problem("EB301", message, (declared, micro, stated))]
    return stated, []


def _wrong(settings: Config, key: str, wanted: str, span: Span | None = None) -> Unreadable:
    entry = settings.entry(key)
    at = span or (entry.value.span if entry is not None else None) or Span(settings.path, 1, 1, 1, 1)
    return Unreadable(at, f"the setting {settings.prefix}{key}: {wanted}")
