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

Kind = Literal["meets", "mismatch", "model-parallel", "tokens", "unverifiable", "unit", "not-judged"]


class Verdict(NamedTuple):
    """How a batch stands to a target.

    Attributes:
        kind: what became of the comparison.
        computed: the number that was compared, in the target's unit.
        unit: the unit in which they were compared.
        factor: the model-parallel degrees that explain the difference.
        reason: for ``unit``: what was mixed up.
        advice: for ``unit``: what to type, where it is more than the name of the unit.
    """

    kind: Kind
    computed: Term
    unit: str
    factor: diagnosis.Factor | None = None
    reason: str | None = None
    advice: str | None = None


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
        unit = "prompts"
    elif unit in GENERIC and batch.unit in GENERIC:
        unit = batch.unit
    elif unit != batch.unit:
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
        return Verdict("unit", computed, unit, reason=mixed)
    moved = _other_length(batch, target, value)
    if moved is not None:
        return Verdict("unit", computed, unit, reason=moved[0], advice=moved[1])
    factor = _model_factor(batch, target, value)
    return Verdict("mismatch" if factor is None else "model-parallel", computed, unit, factor)


def _model_factor(batch: Batch, target: Target, computed: Number) -> diagnosis.Factor | None:
    """The degrees whose devices were counted as replicas, when the target is the batch times their product."""
    between = diagnosis.factor_between(target.quantity.value, computed)
    if between is None or not between[1]:
        return None
    return diagnosis.model_parallel(batch, between[0])


def _mixed_up(batch: Batch, target: Target, unit: str) -> str | None:
    """The other unit in which the numbers agree, in words."""
    tokens = batch.tokens_per_step
    if (
        tokens is not None
        and tokens.value is not None
        and batch.unit != "tokens"
        and target.quantity.meets(tokens.value)
    ):
        return f"{target.number} is the number of tokens per step, not of {unit}"
    if batch.unit == "completions" and batch.items_per_prompt is not None:
        other = batch.effective if unit == "prompts" else _per_prompt(batch)
        name = "completions" if unit == "prompts" else "prompts"
        if other.value is not None and target.quantity.meets(other.value):
            each = shown(batch.items_per_prompt.value)
            return f"{target.number} is the number of {name} per step, not of {unit} ({each} completions per prompt)"
    return None


def _other_length(batch: Batch, target: Target, computed: Number) -> tuple[str, str] | None:
    """A global batch that is stated in tokens is as many items as their length makes of it.

    Neither the devices nor the accumulation move it: a whole factor between the target and the batch is a length that
    changed. None where the tokens are no whole number of declared items, or the lengths no multiples of each other.
    """
    stated, length, declared = batch.declared, batch.sequence_length, target.quantity.value
    if not batch.stated_in_tokens or stated is None or stated.value is None or length is None or not length.value:
        return None
    if stated.value % declared or diagnosis.factor_between(declared, computed) is None:
        return None
    reason = (
        f"{stated.key} counts tokens, and {shown(stated.value)} are {target.number} {batch.unit} of "
        f"{shown(stated.value // declared)} tokens, not of {shown(length.value)}"
    )
    wanted = declared * length.value
    advice = (
        f"declare tokens={stated.value}, which holds at every length; or {stated.key} {wanted} for {target.number} "
        f"{batch.unit} of {shown(length.value)} tokens"
    )
    return reason, advice


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
    declared = target.quantity.value
    if batch.tokens_bound == "at most" and declared < value and not _whole_multiple(target, value):
        # Padding: what really runs lies below the bound, and may well be what was declared.
        return Verdict("unverifiable", unknown(f"at most {shown(value)} tokens: padding decides how many"), "tokens")
    if target.quantity.meets(batch.effective.value or 0):
        return Verdict(
            "unit",
            tokens,
            "tokens",
            reason=f"{target.number} is the number of {batch.unit} per step, not of tokens",
        )
    factor = _model_factor(batch, target, value)
    return Verdict("tokens" if factor is None else "model-parallel", tokens, "tokens", factor)


def _whole_multiple(target: Target, value: Number) -> bool:
    """Whether the bound is a small whole multiple of what is declared: rows that are padded do not explain that."""
    return any(value % times == 0 and target.met_by(value // times) for times in range(2, 65))


def reach(batch: Batch, target: Target, verdict: Verdict) -> str | None:
    """What to type: the accumulation that reaches the target, else the target that is true."""
    computed = verdict.computed.value
    accumulation, value = batch.accumulation, batch.accumulation.value
    if computed is None or not computed or value is None:
        return None
    truth = (
        f"declare target={shown(computed).replace(',', '')}"
        if verdict.unit != "tokens"
        else f"declare tokens={shown(computed).replace(',', '')}"
    )
    if accumulation.how not in ("read", "default") or accumulation.key is None or batch.global_batch is not None:
        return truth
    wanted = target.quantity.value * value
    if wanted % computed:
        return truth
    steps = int(wanted // computed)
    if steps < 1:
        return truth
    devices = f" on {shown(batch.layout.world.value)} devices" if batch.layout.world.known else ""
    return f"{accumulation.key}: {steps} reaches {target.words(verdict.unit)}{devices}; or {truth}"
