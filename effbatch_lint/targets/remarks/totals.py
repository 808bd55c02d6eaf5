"""The total that a comment states, against the batch on the devices that it names, in the unit that it may mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from effbatch_lint.batch import Batch
    from effbatch_lint.targets.quantity import Quantity
    from effbatch_lint.targets.remarks.claims import Claim
    from effbatch_lint.terms import Number

# Words for "an example", whatever the framework calls it.
_ROWS = frozenset(("sequences", "samples", "pairs", "completions", "images", "utterances", "prompts"))
# A batch of so many rows does not exist; a number without a unit above it counts tokens.
_SURELY_TOKENS = 100_000


def weigh_total(claim: Claim, batch: Batch, named: tuple[int, ...]) -> Literal["holds", "stale", "unsure"]:
    """Whether the stated total, or the stated tokens, are the batch's on the ``named`` devices, or on its own."""
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
    effective = [effective_on(count, batch) for count in devices] or [batch.effective.value]
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


def effective_on(devices: int, batch: Batch) -> Number | None:
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
