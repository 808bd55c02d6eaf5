"""A batch against a declared target: does it meet it, and if not, in which of five ways does it miss it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from effbatch_lint import diagnosis
from effbatch_lint.terms import Term, exact, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.targets.target import Target
    from effbatch_lint.terms import Number

# Units that people use for "an example", whatever the framework calls it.
GENERIC = frozenset(("sequences", "samples", "pairs", "completions", "images", "utterances", "prompts"))

Kind = Literal["meets", "within-bound", "mismatch", "model-parallel", "tokens", "unverifiable", "unit", "not-judged"]


class Verdict(NamedTuple):
    """How a batch stands to a target.

    Attributes:
        kind: what became of the comparison; ``within-bound`` is a number of tokens that padding may well leave.
        computed: the number that was compared, in the target's unit.
        unit: the unit in which they were compared.
        factors: the model-parallel degrees that explain the difference; several, when equal ones would do.
        mixed: for ``unit``: the unit in which the declared number is right.
        reason: for ``unit``: what became of a batch that is stated in tokens.
    """

    kind: Kind
    computed: Term
    unit: str
    factors: tuple[diagnosis.Factor, ...] = ()
    mixed: str | None = None
    reason: str | None = None

    @property
    def met(self) -> bool:
        """Whether nothing is wrong."""
        return self.kind in ("meets", "within-bound")


def judge(batch: Batch, target: Target) -> Verdict:
    """Compare the batch with a target, in the target's unit."""
    unit = target.quantity.unit or batch.unit
    if batch.refused is not None:
        return Verdict("not-judged", batch.effective, unit)
    if unit == "tokens" and batch.unit != "tokens":
        return _tokens(batch, target)
    computed = batch.effective
    if target.quantity.unit == "sequences" and batch.sequences_per_item > 1:
        # "64 sequences" may be 32 pairs, or 64 pairs by another name: either is what was declared.
        both = product(Term(batch.sequences_per_item, "derived"), computed)
        if both.value is not None and target.met_by(both.value):
            return Verdict("meets", both, "sequences")
    if unit == "prompts" and batch.unit == "completions":
        computed = _per_prompt(batch)
    elif unit in GENERIC and batch.unit in GENERIC:
        unit = batch.unit
    elif unit != batch.unit:
        if batch.unit == "tokens" and computed.value is not None and target.quantity.meets(computed.value):
            return Verdict("unit", computed, unit, mixed="tokens")
        reason = f"this batch is counted in {batch.unit}, not in {unit}"
        return Verdict("unverifiable", unknown(reason), unit)
    return _compare(batch, target, computed, unit)


def _compare(batch: Batch, target: Target, computed: Term, unit: str) -> Verdict:
    value = computed.value
    if value is None:
        return Verdict("unverifiable", computed, unit)
    if target.met_by(value):
        return Verdict("meets", computed, unit)
    mixed = _mixed_up(batch, target, unit)
    if mixed is not None:
        return Verdict("unit", computed, unit, mixed=mixed)
    moved = _other_length(batch, target, value)
    if moved is not None:
        return Verdict("unit", computed, unit, reason=moved)
    return _missed(batch, target, computed, unit)


def _missed(batch: Batch, target: Target, computed: Term, unit: str) -> Verdict:
    """The verdict on a number that is not the declared one: model-parallel devices were counted, or something else."""
    value = computed.value
    assert value is not None
    factors = diagnosis.model_parallel(batch, lambda product: target.quantity.meets(value * product))
    other: Kind = "tokens" if unit == "tokens" != batch.unit else "mismatch"
    return Verdict("model-parallel" if factors else other, computed, unit, factors)


def _mixed_up(batch: Batch, target: Target, unit: str) -> str | None:
    """The other unit in which the numbers agree."""
    tokens = batch.tokens_per_step
    if (
        tokens is not None
        and tokens.value is not None
        and batch.unit != "tokens"
        and target.quantity.meets(tokens.value)
    ):
        return "tokens"
    if batch.unit == "completions" and batch.items_per_prompt is not None:
        other = batch.effective if unit == "prompts" else _per_prompt(batch)
        if other.value is not None and target.quantity.meets(other.value):
            return "completions" if unit == "prompts" else "prompts"
    return None


def _other_length(batch: Batch, target: Target, computed: Number) -> str | None:
    """A global batch that is stated in tokens is as many items as their length makes of it.

    Neither the devices nor the accumulation move it: a whole factor between the target and the batch is a length that
    changed. None where the tokens are no whole number of declared items, or the lengths no multiples of each other.
    """
    stated, length, declared = batch.declared, batch.sequence_length, target.quantity.value
    if not batch.stated_in_tokens or stated is None or stated.value is None or length is None or not length.value:
        return None
    if stated.value % declared or diagnosis.factor_between(target.quantity, computed) is None:
        return None
    return (
        f"{stated.key} counts tokens, and {shown(stated.value)} are {target.number} {batch.unit} of "
        f"{shown(stated.value // declared)} tokens, not of {shown(length.value)}"
    )


def _per_prompt(batch: Batch) -> Term:
    group = batch.items_per_prompt
    if group is None:
        return unknown("the number of completions per prompt is not known")
    return exact(batch.effective, group)


def _tokens(batch: Batch, target: Target) -> Verdict:
    tokens = batch.tokens_per_step
    if tokens is None:
        return Verdict("unverifiable", unknown(f"{batch.unit} have no token count"), "tokens")
    value = tokens.value
    if value is None:
        return Verdict("unverifiable", tokens, "tokens")
    if target.met_by(value):
        return Verdict("meets", tokens, "tokens")
    if target.quantity.meets(batch.effective.value or 0):
        return Verdict("unit", tokens, "tokens", mixed=batch.unit)
    declared = target.quantity.value
    if batch.tokens_bound == "at most" and declared < value and not _whole_multiple(target, value):
        if declared * 2 > value:
            # Padding: what really runs lies below the bound, and may well be what was declared.
            return Verdict("within-bound", tokens, "tokens")
        reason = f"a step sees at most {shown(value)} tokens, and padding decides how many"
        return Verdict("unverifiable", unknown(reason), "tokens")
    return _missed(batch, target, tokens, "tokens")


def _whole_multiple(target: Target, value: Number) -> bool:
    """Whether the bound is a small whole multiple of what is declared: rows that are padded do not explain that."""
    return any(value % times == 0 and target.met_by(value // times) for times in range(2, 65))
