"""The equation of a recipe, factor by factor, each with the place that decided it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.diagnosis import factor_between
from effbatch_lint.report.style import PLAIN, Style, printable, width
from effbatch_lint.targets.verdict import judge
from effbatch_lint.terms import product, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.launch import Launch
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.targets.target import Target
    from effbatch_lint.terms import Origin, Term

SEES_CODE = {
    "mismatch": "EB101",
    "model-parallel": "EB102",
    "tokens": "EB103",
    "unverifiable": "EB104",
    "unit": "EB105",
}
# Lines of a batch schedule.
_STAGES = 8


class Row(NamedTuple):
    """``sign name value detail place``; a row without a name continues the one above."""

    sign: str
    name: str
    value: str
    detail: str = ""
    place: str = ""


def recipe(found: Recipe, style: Style = PLAIN) -> str:
    """The view of one recipe: a heading, and each of its batches."""
    launch = found.launch
    starter = f", started by {launch.launcher}" if launch.launcher else ""
    profile = found.batches[0].profile if found.batches else None
    heading = f"{found.reader}{' ' + profile if profile else ''}{starter}"
    title = f"{style.bold}{printable(found.name or found.path)}{style.reset}  ({printable(heading)})"
    parts = [title, ""]
    if launch.launcher is not None:
        from effbatch_lint.report import started  # noqa: PLC0415 - only a script states a command

        parts += [*map(printable, started.lines(launch)), ""]
        if not found.batches:
            parts += [printable(started.world(launch)), ""]
    for batch in found.batches:
        targets = found.targets if batch is found.batches[0] else ()
        if len(found.batches) > 1:
            parts += [f"  {style.bold}{printable(batch.name)}{style.reset}", ""]
        parts += [view(batch, launch, targets, style), ""]
    return "\n".join(parts)


def view(batch: Batch, launch: Launch, targets: Iterable[Target] = (), style: Style = PLAIN) -> str:
    """The equation of one batch."""
    rows = [*_equation(batch, launch), *_schedule(batch), *_declared(batch, targets)]
    values = max(width(row.name) + 2 + width(row.value) for row in rows if row.name)
    details = min(44, max((width(row.detail) for row in rows if row.place), default=0))
    lines = []
    for row in rows:
        if not row.sign and not row.name and not row.value and not row.detail:
            lines.append("")
            continue
        space = " " * (values - width(row.name) - width(row.value))
        left = f"{row.sign or ' '} {row.name}{space}{row.value}"
        detail = f"{row.detail}{' ' * max(0, details - width(row.detail))}   {row.place}" if row.place else row.detail
        text = printable(f"{left}   {detail}".rstrip())
        lines.append(f"{style.bold}{text}{style.reset}" if row.sign == "=" else text)
    lines += [f"  {style.yellow}{p.code}{style.reset} {printable(p.message)}" for p in batch.all_problems]
    return "\n".join(lines)


def _equation(batch: Batch, launch: Launch) -> Iterator[Row]:
    effective = batch.effective
    yield from _factor("", "micro batch", batch.micro)
    yield from _factor("x", "accumulation", batch.accumulation)
    if not effective.known and batch.per_replica.known:
        yield Row("=", "per replica", shown(batch.per_replica.value), f"{batch.unit} per optimizer step")
    yield from _replicas(batch, launch)
    if effective.known:
        yield Row("=", "effective batch", shown(effective.value), f"{batch.unit} per optimizer step{_fixed(batch)}")
    elif batch.refused is not None:
        yield Row("=", "effective batch", "?", f"none: the framework refuses to start ({batch.refused})")
    elif not batch.per_replica.known:
        yield Row("=", "effective batch", "?", effective.reason or "")
    length, tokens = batch.sequence_length, batch.tokens_per_step
    if length is not None:
        if batch.sequences_per_item != 1:
            yield Row(
                "x",
                "sequences per item",
                shown(batch.sequences_per_item),
                f"a {batch.unit.removesuffix('s')} holds {batch.sequences_per_item} sequences",
            )
        yield from _factor("x", "sequence length", length)
    if tokens is not None and tokens.known and batch.unit != "tokens":
        bound = "at most: rows are padded, or shorter" if batch.tokens_bound == "at most" else ""
        yield Row("=", "tokens per step", shown(tokens.value), bound)


def _fixed(batch: Batch) -> str:
    fixed = batch.global_batch
    if fixed is None or fixed.how not in ("read", "default"):
        return ""
    places = _places(fixed.origins)
    return f", fixed by {fixed.key}{' (default)' if fixed.how == 'default' else ''}{': ' + places if places else ''}"


def _factor(sign: str, name: str, term: Term) -> Iterator[Row]:
    detail = f"{term.key}, {term.formula}" if term.how == "read" and term.formula else term.key or ""
    if term.how == "default":
        detail = f"{detail} (default)" if detail else ""
    elif term.how == "assumed":
        detail = f"{detail} (assumed)" if detail else ""
    elif term.how == "derived":
        detail = term.formula or ""
    elif not term.known:
        detail = term.reason or ""
    # What a division gives has the places of all that is divided: those of one or two are worth the room.
    brief = term.how != "derived" or len(term.origins) <= 2  # noqa: PLR2004 - as above
    yield Row(sign, name, shown(term.value), detail, _places(term.origins) if brief else "")


def _replicas(batch: Batch, launch: Launch) -> Iterator[Row]:
    layout = batch.layout
    replicas = layout.replicas
    if replicas.how in ("read", "default"):
        yield from _factor("x", "replicas", replicas)
        if layout.model_parallel.known and layout.model_parallel.value != 1 and layout.world.known:
            detail = f"  of {shown(layout.model_parallel.value)} devices each: {shown(layout.world.value)} devices"
            yield Row("", "", "", detail)
    else:
        detail = replicas.formula or ""
        if not layout.world.known:
            detail = detail.replace("? devices", "devices") or "devices"
            detail += f"; {layout.world.reason or 'nothing here states the number of devices'}"
        elif not replicas.known and replicas.reason:
            detail = replicas.reason
        alone = layout.model_parallel.value == 1 and not launch.nodes.known
        yield Row("x", "replicas", shown(replicas.value), detail, _places(layout.world.origins) if alone else "")
        if not layout.world.known and batch.refused is None:
            yield Row("", "", "", "give --world-size N, or write  # effbatch: world-size=N")
        elif layout.world.known and not alone:
            yield from _world(layout.world, launch)
    for term in (layout.tensor, layout.pipeline, layout.context):
        if term.value != 1 and term.origins:
            name = f"{term.key} {shown(term.value)}" if term.known else f"{term.key}: {term.reason}"
            yield Row("", "", "", f"  {name}", _places(term.origins))


def _world(world: Term, launch: Launch) -> Iterator[Row]:
    started = product(launch.nodes, launch.devices_per_node)
    if started.known and started.value == world.value:
        detail = f"  {_nodes(launch)} x {shown(launch.devices_per_node.value)}"
    else:
        # What trains is stated elsewhere: a group of a Ray cluster, a variable that the config sets.
        detail = f"  {shown(world.value)} device{'' if world.value == 1 else 's'}"
    places = _places(world.origins)
    if places:
        yield Row("", "", "", detail, places)
    elif world.how == "default" and world.formula:
        yield Row("", "", "", f"  {world.formula}")


def _nodes(launch: Launch) -> str:
    return "1 node" if launch.nodes.value == 1 else f"{shown(launch.nodes.value)} nodes"


def _schedule(batch: Batch) -> Iterator[Row]:
    """The stages; of a long ramp, whose steps are all alike, the first and the last ones."""
    stages = batch.schedule
    hidden = range(_STAGES - 1, len(stages) - 1) if len(stages) > _STAGES + 1 else range(0)
    for at, stage in enumerate(stages):
        if at in hidden:
            if at == hidden[0]:
                yield Row("", f"... {len(hidden):,} more stages", "")
            continue
        value = shown(stage.effective_batch.value)
        yield Row("", f"from {stage.start:,} {stage.unit}", value, f"{batch.unit} per optimizer step")


def _declared(batch: Batch, targets: Iterable[Target]) -> Iterator[Row]:
    first = True
    for target in targets:
        if first:
            yield Row("", "", "")
        first = False
        verdict = judge(batch, target)
        words = "as computed" if verdict.met else f"see {SEES_CODE.get(verdict.kind, 'above')}"
        value = verdict.computed.value
        if verdict.kind in ("mismatch", "model-parallel", "tokens") and value is not None:
            between = factor_between(target.quantity, value)
            if between is not None:
                times = f"{between[0]:,} x"
                words = f"{times} what is computed: {words}" if between[1] else f"computed is {times} this: {words}"
        yield Row("", "declared", target.number, f"{target.quantity.unit or verdict.unit}, {words}", target.place)


def _places(origins: tuple[Origin, ...]) -> str:
    """``a.yaml:4, :5``: a path that repeats is left out; what was overridden follows all that counts."""
    here = _listed(origins)
    before = _listed(p for o in origins for p in o.previous if p.span is not None and p.span != o.span)
    return ", ".join(part for part in (here, f"overrides {before}" if before else "") if part)


def _listed(origins: Iterable[Origin]) -> str:
    places: dict[tuple[str, str], None] = {}  # (path, the rest): each line once
    for origin in origins:
        note = f" ({origin.note})" if origin.note else ""
        places[("", origin.note or "") if origin.span is None else (origin.span.path, f":{origin.span.line}{note}")] = (
            None
        )
    out, last = [], ""
    for path, rest in places:
        out.append(rest if path == last else f"{path}{rest}")
        last = path or last
    return ", ".join(part for part in out if part)
