"""What a rule sees beside the batch, and how it makes a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.findings import Finding, Label
from effbatch_lint.rules.table import BY_CODE
from effbatch_lint.source import Span
from effbatch_lint.terms import Term, counted, shown

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


def factors(batch: Batch) -> list[Label]:
    """The places of the numbers that the batch is made of."""
    layout = batch.layout
    stated = batch.micro.how in ("read", "assumed")
    out = labels(batch.micro, f"micro batch {shown(batch.micro.value)}") if stated else []
    if batch.accumulation.how == "read":
        out += labels(batch.accumulation, f"accumulation {shown(batch.accumulation.value)}")
    degrees = (("tensor", layout.tensor), ("pipeline", layout.pipeline), ("context", layout.context))
    together = " x ".join(shown(term.value) for _, term in degrees if term.value != 1)
    replica = f"{together} devices hold one replica"
    if layout.world.known and layout.replicas.known:
        replica += f", {shown(layout.world.value)} devices are {counted(layout.replicas.value, 'replicas')}"
    for name, term in degrees:
        if term.known and term.value != 1:
            out += labels(term, f"{name} parallel {shown(term.value)}: {replica}")
    return list(dict.fromkeys(out))


def equation(batch: Batch, framework: str) -> str:
    """``computed: 4 x 8 x (64 / 4) = 512 sequences (axolotl)``."""
    layout = batch.layout
    model = layout.model_parallel
    replicas = shown(layout.replicas.value)
    if model.known and model.value != 1 and layout.world.known:
        replicas = f"({shown(layout.world.value)} / {shown(model.value)})"
    product = f"{shown(batch.micro.value)} x {shown(batch.accumulation.value)} x {replicas}"
    return f"computed: {product} = {counted(batch.effective.value, batch.unit)} ({framework})"


def declared_label(target: Target, unit: str) -> Label | None:
    """The place of a declaration, when it stands in a file."""
    span = target.origin.span
    return None if span is None else Label(span, f"declared: {target.words(unit)} per optimizer step")
