"""Whether a comment's claim still holds for the batch that the numbers beside it give (EB306).

The factors are compared first, so that the message names the stale one; then the total decides. A claim made for some
number of devices holds only for them: with no world size it is checked for the devices that it names, and with another
world size, given from elsewhere, it is not judged at all. Where anything leaves room for the author, there is no verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from effbatch_lint.terms import Number, Term, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from effbatch_lint.batch import Batch
    from effbatch_lint.source import Span
    from effbatch_lint.targets.quantity import Quantity
    from effbatch_lint.targets.remarks import Claim, Factor


class Verdict(NamedTuple):
    """A claim that does not hold.

    Attributes:
        message: what the comment says, what the files say.
        span: the claim.
        related: the numbers that contradict it, the stale factor first.
        computed: the batch as it is: ``4 x 8 x 8 = 256 sequences on 8 devices``; None where no batch was worked out.
        note: whether the total is right and only a factor is stale, which harms nobody.
    """

    message: str
    span: Span
    related: tuple[Term, ...]
    computed: str | None = None
    note: bool = False


Outcome: TypeAlias = "Verdict | Literal['holds', 'unsure']"

_DEVICES = frozenset(("devices", "nodes", "devices per node"))
# Words for "an example", whatever the framework calls it.
_ROWS = frozenset(("sequences", "samples", "pairs", "completions", "images", "utterances", "prompts"))
# A machine holds this many accelerators, where nothing says how many.
_PER_NODE = (1, 2, 4, 8, 16)
# A batch of so many rows does not exist; a number without a unit above it counts tokens.
_SURELY_TOKENS = 100_000
_WORDS = {
    "per device": "batch per device",
    "batch": "batch size",
    "length": "sequence length",
    "replicas": "data-parallel replicas",
}


def judge(claim: Claim, batch: Batch, made_for: tuple[int, ...] = ()) -> Verdict | None:
    """The verdict on a claim, or None when it holds or cannot be judged.

    ``made_for`` are the devices that another comment of the file names, for a claim that names none itself.
    """
    outcome = _weigh(claim, batch, made_for)
    return outcome if isinstance(outcome, Verdict) else None


def verdicts(claims: Sequence[Claim], batches: Sequence[Batch]) -> list[Verdict]:
    """The claims of one file that do not hold for any of the run's batches.

    Claims of one block of comments that differ are alternatives ("8 GPUs: ..., 16 GPUs: ..."), of which one may hold.
    """
    counts = {_named(claim) for claim in claims if claim.only_devices}
    made_for = counts.pop() if len(counts) == 1 else ()
    outcomes = [_among(claim, batches, made_for) for claim in claims]
    found = []
    for claim, outcome in zip(claims, outcomes, strict=True):
        siblings = [other for other in claims if other.block == claim.block and not other.only_devices]
        if isinstance(outcome, Verdict) and (claim.only_devices or len(siblings) == 1):
            found.append(outcome)
    return found


def _among(claim: Claim, batches: Iterable[Batch], made_for: tuple[int, ...]) -> Outcome:
    outcomes = [_weigh(claim, batch, made_for) for batch in batches]
    for kind in ("holds", "unsure"):
        if kind in outcomes:
            return kind
    return next(iter(outcomes), "unsure")


def _weigh(claim: Claim, batch: Batch, made_for: tuple[int, ...]) -> Outcome:
    if batch.refused is not None or not _speaks_of(claim, batch):
        return "unsure"
    world = batch.layout.world
    own = world.value is not None and _written_in(world, claim.span.path)
    if claim.only_devices:
        return _weigh_devices(claim, world) if own else "unsure"
    named = _named(claim)
    if claim.only_per_device and not claim.beside_key:
        return "unsure"  # one device of some other set-up, as likely as not
    if own and any(factor.meaning in _DEVICES for factor in claim.factors):
        named = ()  # the devices are a factor of its product, and the file itself states how many there are
    else:
        named = named or (() if own else made_for)
    if named and world.value is not None and world.value not in named:
        return "unsure"
    stale = [pair for factor in claim.factors if (pair := _stale(factor, batch, own=own)) is not None]
    total = _weigh_total(claim, batch, named)
    if total == "holds" and claim.nodes is not None and not own and world.value is not None:
        stale = []  # it holds for some number of devices per node, which need not be this job's
    if total == "holds":
        return _verdict(claim, batch, named, stale, note=True) if stale else "holds"
    if total == "stale" or (stale and total == "unsure"):
        return _verdict(claim, batch, named, stale or _stale_by_elimination(claim, batch))
    return "unsure"


# -- may it be judged ----------------------------------------------------------------------------------------------


def _decisive(batch: Batch) -> list[Term]:
    """The numbers that the config states of the batch."""
    terms = [batch.micro, batch.accumulation, batch.global_batch, batch.declared]
    return [term for term in terms if term is not None]


def _speaks_of(claim: Claim, batch: Batch) -> bool:
    """Whether the claim stands beside the numbers that are in force, and not beside ones that another place overrides."""
    path = claim.span.path
    decisive = _decisive(batch)
    for term in decisive:
        for origin in term.origins:
            if origin.span is None and origin.note is not None and "world" not in (origin.key or ""):
                return False  # an override; the number of devices may come from anywhere
            if (origin.span is None or origin.span.path != path) and any(
                previous.span is not None and previous.span.path == path for previous in origin.previous
            ):
                return False
    if claim.beside_key and not any(
        span.path == path and span.line == claim.span.line for term in decisive for span in term.spans
    ):
        return False  # beside a batch key that does not count: the validation set's, a stale name
    return any(_written_in(term, path) for term in (*decisive, batch.layout.world))


def _written_in(term: Term, path: str) -> bool:
    return any(span.path == path for span in term.spans)


def _named(claim: Claim) -> tuple[int, ...]:
    """The devices that the claim is made for, as far as it says."""
    if claim.devices or claim.nodes is None:
        return claim.devices
    return tuple(claim.nodes * each for each in _PER_NODE)


# -- the devices, the total, the factors ---------------------------------------------------------------------------


def _weigh_devices(claim: Claim, world: Term) -> Outcome:
    """``preset for 64 A100`` against the world size that the same file states."""
    named = _named(claim)
    if not claim.set_up or not isinstance(world.value, int):
        return "unsure"
    if any(world.value == count or (count <= max(_PER_NODE) and world.value % count == 0) for count in named):
        return "holds"  # all devices, or those of one node
    said = f"{claim.nodes} nodes" if claim.nodes is not None else f"{shown(claim.devices[0])} devices"
    message = f"the comment says that the file is made for {said}; it gives {shown(world.value)} devices"
    return Verdict(message, claim.span, (world,), world.formula)


def _weigh_total(claim: Claim, batch: Batch, named: tuple[int, ...]) -> Literal["holds", "stale", "unsure"]:
    results = []
    if claim.total is not None:
        results.append(_weigh_number(claim, claim.total, batch, named))
    if claim.tokens is not None:
        results.append(_weigh_number(claim, claim.tokens, batch, named))
    if not results:
        return "unsure"
    return next((kind for kind in ("stale", "unsure") if kind in results), "holds")


def _weigh_number(
    claim: Claim, said: Quantity, batch: Batch, named: tuple[int, ...]
) -> Literal["holds", "stale", "unsure"]:
    world = batch.layout.world
    devices = named or ((world.value,) if isinstance(world.value, int) else ())
    effective = [_effective_on(count, batch) for count in devices] or [batch.effective.value]
    if all(number is None for number in effective):
        return _weigh_any_devices(said, batch) if not devices else "unsure"
    numbers = [number for count in effective if count is not None for number in _in_unit(count, said, batch)]
    if not numbers:
        return "unsure"
    each = [number for number in (batch.micro.value, batch.per_replica.value) if number is not None]
    if claim.ambiguous:
        numbers += each
    stages = [stage.effective_batch.value for stage in batch.schedule if stage.effective_batch.value is not None]
    if any(said.meets(number) for number in (*numbers, *stages)):
        return "holds"
    if (
        not named
        and not world.spans
        and any(said.meets(number) for per in each for number in _in_unit(per, said, batch))
    ):
        return "unsure"  # true of one device, and the number of devices stands in no file
    if batch.tokens_bound == "at most" and said.unit == "tokens" and said.value < max(numbers):
        return "unsure"
    return "stale"


def _weigh_any_devices(said: Quantity, batch: Batch) -> Literal["stale", "unsure"]:
    """With the devices unknown a total is wrong when no whole number of replicas gives it."""
    each = batch.per_replica.value
    if each is None or batch.schedule:
        return "unsure"
    steps = _in_unit(each, said, batch)
    if not steps or (batch.tokens_bound == "at most" and said.unit == "tokens"):
        return "unsure"
    return "unsure" if any(said.meets_multiple(step) for step in steps) else "stale"


def _effective_on(devices: int, batch: Batch) -> Number | None:
    """The effective batch on so many devices."""
    layout = batch.layout
    if batch.global_batch is not None or layout.world.value == devices:
        return batch.effective.value
    each, model = batch.per_replica.value, layout.model_parallel.value
    if each is None or not isinstance(model, int) or model < 1 or devices % model:
        return None
    return each * (devices // model)


def _in_unit(effective: Number, said: Quantity, batch: Batch) -> list[Number]:
    """The effective batch in the units that the comment may mean; none where the two cannot be compared."""
    length = batch.sequence_length.value if batch.sequence_length is not None else None
    tokens = effective * length * batch.sequences_per_item if length is not None else None
    if said.unit == "tokens" or (said.unit is None and said.value >= _SURELY_TOKENS):
        if batch.unit == "tokens":
            return [effective]
        return [tokens] if tokens is not None and batch.tokens is None else []
    if batch.unit not in _ROWS:
        return [effective] if said.unit == batch.unit else []
    if said.unit is not None and said.unit not in _ROWS:
        return []
    numbers = [effective]
    group = batch.items_per_prompt.value if batch.items_per_prompt is not None else None
    if batch.unit == "completions" and said.unit in (None, "prompts", "samples") and isinstance(group, int) and group:
        if effective % group == 0:
            numbers.append(effective // group)
    elif batch.unit == "completions" and said.unit in (None, "prompts", "samples"):
        return []  # prompts or completions, and their relation is not known
    if batch.sequences_per_item == 2 and said.unit in (None, "sequences", "samples"):  # noqa: PLR2004 - a pair
        numbers.append(effective * 2)
    return numbers


_Pair: TypeAlias = "tuple[Factor, Term]"


def _stale(factor: Factor, batch: Batch, *, own: bool) -> _Pair | None:
    """A named factor with the number that contradicts it, where that number stands in the files."""
    layout = batch.layout
    actual: tuple[Term, ...] = ()
    match factor.meaning:
        case "micro":
            actual = (batch.micro,)
        case "per device" | "batch":
            actual = (batch.micro, batch.per_replica)
        case "accumulation":
            actual = (batch.accumulation,)
        case "replicas":
            actual = (layout.replicas,)
        case "devices":
            actual = (layout.world, layout.replicas) if own else ()
        case "length":
            actual = (batch.sequence_length,) if batch.sequence_length is not None else ()
    if not actual or any(term.value is None or _given_by_hand(term) for term in actual):
        return None
    if any(factor.value.meets(term.value) for term in actual if term.value is not None):
        return None
    return factor, actual[0]


def _given_by_hand(term: Term) -> bool:
    """Whether a number hangs on what no file states: another invocation changes it."""
    return any(origin.span is None and origin.note is not None for origin in term.origins)


def _stale_by_elimination(claim: Claim, batch: Batch) -> list[_Pair]:
    """The one unnamed factor that equals none of the batch's numbers, when one number only is left for it."""
    named = {factor.meaning for factor in claim.factors}
    left = [
        batch.micro,
        batch.accumulation,
        *(() if named & {"devices", "replicas", "nodes"} else (batch.layout.replicas,)),
    ]
    left = [term for term in left if term.value not in (None, 1)]
    unmatched = []
    for factor in claim.factors:
        if factor.meaning is not None or factor.value.value == 1:
            continue
        match = next((term for term in left if term.value is not None and factor.value.meets(term.value)), None)
        if match is not None:
            left.remove(match)
        else:
            unmatched.append(factor)
    return [(unmatched[0], left[0])] if len(unmatched) == len(left) == 1 and left[0].key and left[0].spans else []


# -- what is said --------------------------------------------------------------------------------------------------


def _verdict(claim: Claim, batch: Batch, named: tuple[int, ...], stale: list[_Pair], *, note: bool = False) -> Verdict:
    said = " ".join(claim.text.split())
    facts = [
        f"{_what(factor, term)} is {shown(term.value)}{_place(term)}, not {factor.value.text}" for factor, term in stale
    ]
    computed = _computed(claim, batch, named)
    message = f'the comment says "{said}"; {", ".join(facts) or computed}'
    if facts and note:
        message += "; the total is right"
    related = dict.fromkeys([*(term for _, term in stale), *(term for term in _decisive(batch) if term.spans)])
    return Verdict(message, claim.span, tuple(related), computed, note)


def _what(factor: Factor, term: Term) -> str:
    return term.key or _WORDS.get(factor.meaning or "", factor.meaning or "a factor")


def _place(term: Term) -> str:
    return f" ({term.spans[0].where})" if term.spans else ""


def _computed(claim: Claim, batch: Batch, named: tuple[int, ...]) -> str:
    """The batch as it is, on the devices that the claim names; for one replica where nobody knows the devices."""
    world = batch.layout.world.value
    devices = named[0] if len(named) == 1 else world
    effective = _effective_on(devices, batch) if isinstance(devices, int) else batch.effective.value
    if batch.global_batch is not None and effective is not None:
        return f"{batch.global_batch.key or 'the global batch'} is {shown(effective)} {batch.unit}"
    each = batch.per_replica.value
    steps = f"{shown(batch.micro.value)} x {shown(batch.accumulation.value)}"
    if effective is None or not each:
        return f"{steps} = {shown(each)} {batch.unit} on each replica{_replicas_needed(claim, each)}"
    on = f" on {shown(devices)} devices" if isinstance(devices, int) else ""
    return f"{steps} x {shown(effective // each)} = {shown(effective)} {batch.unit}{on}"


def _replicas_needed(claim: Claim, each: Number | None) -> str:
    if claim.total is None or not each:
        return ""
    if claim.total.value % each:
        return f", and no whole number of replicas makes {claim.total.text}"
    return f": {claim.total.text} takes {shown(claim.total.value // each)} replicas"
