"""What a rule sees beside the batch, and how it makes a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.findings import Finding, Label
from effbatch_lint.rules.table import BY_CODE
from effbatch_lint.source import Span
from effbatch_lint.terms import Term, counted, origins_of, product, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from effbatch_lint.batch import Batch
    from effbatch_lint.files import Files
    from effbatch_lint.recipe import Recipe
    from effbatch_lint.targets.target import Target
    from effbatch_lint.targets.verdict import Verdict


class Context(NamedTuple):
    """The recipe that the batch belongs to, the files of the call, and how the batch stands to each of its targets."""

    recipe: Recipe
    files: Files
    verdicts: tuple[tuple[Target, Verdict], ...] = ()

    def finding(
        self,
        code: str,
        message: str,
        primary: Label | None,
        *,
        related: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
    ) -> Finding:
        """A finding of this recipe; without a place of its own it points at its first related one."""
        rule = BY_CODE[code]
        recipe = self.recipe
        others = [*related]
        if primary is None and others:
            primary = others.pop(0)
        return Finding(
            code,
            rule.name,
            rule.severity,
            message,
            primary or Label(Span(recipe.path, 1, 1, 1, 1), ""),
            tuple(others),
            tuple(notes),
            help,
            recipe=recipe.name or recipe.path,
        )


def labels(term: Term, text: str) -> list[Label]:
    """A label at each place in a file that decided the term."""
    return [Label(span, text) for span in term.spans]


def factors(batch: Batch, *, tokens: bool = False) -> list[Label]:
    """The places of the numbers that the batch is made of; with ``tokens`` also that of the sequence length."""
    stated = batch.micro.how in ("read", "assumed")
    out = labels(batch.micro, f"micro batch {shown(batch.micro.value)}") if stated else []
    if batch.accumulation.how == "read":
        out += labels(batch.accumulation, f"accumulation {shown(batch.accumulation.value)}")
    of = " tokens" if batch.stated_in_tokens else ""
    for whole in (batch.declared, batch.global_batch):
        if whole is not None and whole.how == "read":
            out += labels(whole, f"global batch {shown(whole.value)}{of}")
    out += [*_degrees(batch), *_devices(batch)]
    if tokens and batch.sequence_length is not None:
        out += labels(batch.sequence_length, f"sequence length {shown(batch.sequence_length.value)}")
    return list({label.span: label for label in reversed(out)}.values())[::-1]


def _degrees(batch: Batch) -> list[Label]:
    """The model-parallel degrees; the last one says what they come to."""
    layout = batch.layout
    degrees = [
        (name, term)
        for name, term in (("tensor", layout.tensor), ("pipeline", layout.pipeline), ("context", layout.context))
        if term.known and term.value != 1 and term.spans
    ]
    replica = f"{' x '.join(shown(term.value) for _, term in degrees)} devices hold one replica"
    if layout.world.known and layout.replicas.known:
        replica += f", {shown(layout.world.value)} devices are {counted(layout.replicas.value, 'replicas')}"
    return [
        label
        for number, (name, term) in enumerate(degrees, 1)
        for label in labels(
            term, f"{name} parallel {shown(term.value)}{f': {replica}' if number == len(degrees) else ''}"
        )
    ]


def _devices(batch: Batch) -> list[Label]:
    """Where the number of devices stands, or that of replicas where the config states it."""
    layout = batch.layout
    model = {span for term in (layout.tensor, layout.pipeline, layout.context) for span in term.spans}
    replicas = counted(layout.replicas.value, "replicas")
    # A world size that is multiplied out of replicas and degrees has the places of both.
    stated = counted(layout.world.value, "devices") if model.isdisjoint(layout.world.spans) else replicas
    places = [span for span in layout.world.spans if span not in model] if layout.world.known else []
    out = [Label(span, f"{stated} in all" if len(places) > 1 else stated) for span in places]
    seen = {*model, *layout.world.spans}
    if layout.replicas.known:
        out += [Label(span, replicas) for span in layout.replicas.spans if span not in seen]
    return out


def equation(batch: Batch, framework: str, *, tokens: bool = False) -> list[str]:
    """``computed: 4 x 8 x (64 / 4) = 512 sequences (axolotl)``; with ``tokens`` also the line of their number."""
    layout, effective = batch.layout, batch.effective
    model = layout.model_parallel
    replicas = shown(layout.replicas.value)
    if model.value not in (None, 1) and product(layout.replicas, model).value == layout.world.value is not None:
        replicas = f"({shown(layout.world.value)} / {shown(model.value)})"
    split = f"{shown(batch.micro.value)} x {shown(batch.accumulation.value)} x {replicas}"
    fixed = batch.global_batch
    if fixed is not None and fixed.how == "read":
        whole = batch.micro.known and batch.accumulation.known and layout.replicas.known
        lines = [
            f"computed: {counted(effective.value, batch.unit)}, fixed by {fixed.written}{f', as {split}' if whole else ''} ({framework})"
        ]
    else:
        lines = [f"computed: {split} = {counted(effective.value, batch.unit)} ({framework})"]
    length, number = batch.sequence_length, batch.tokens_per_step
    if tokens and batch.unit != "tokens" and length is not None and number is not None:
        pairs = f"{batch.sequences_per_item} x " if batch.sequences_per_item != 1 else ""
        bound = ", at most: rows are padded, or shorter" if batch.tokens_bound == "at most" else ""
        lines.append(f"tokens: {pairs}{shown(effective.value)} x {shown(length.value)} = {shown(number.value)}{bound}")
    return lines


def given(batch: Batch, target: Target | None = None) -> list[str]:
    """What was decided in no file: ``given: --world-size 16, --override micro_batch_size=4``."""
    terms = [batch.micro, batch.accumulation, batch.layout.world, batch.layout.replicas, batch.layout.model_parallel]
    terms += [term for term in (batch.declared, batch.global_batch, batch.sequence_length) if term is not None]
    origins = [*([target.origin] if target is not None else []), *origins_of(terms)]
    notes = dict.fromkeys(origin.note for origin in origins if origin.span is None and origin.note)
    return [f"given: {', '.join(notes)}"] if notes else []


def declared_label(target: Target, unit: str) -> Label | None:
    """The place of a declaration, when it stands in a file."""
    span = target.origin.span
    return None if span is None else Label(span, f"declared: {target.words(unit)} per optimizer step")
