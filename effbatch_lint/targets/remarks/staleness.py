"""Whether a comment's claim still holds for the batch that the numbers beside it give (EB306).

The factors are compared first, so that the message names the stale one; then the total decides. A claim made for some
number of devices holds only for them: with no world size it is checked for the devices that it names, and with another
world size, given from elsewhere, it is not judged at all. Where anything leaves room for the author, there is no verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from effbatch_lint.targets.remarks.factors import by_elimination, contradicting
from effbatch_lint.targets.remarks.totals import weigh_total
from effbatch_lint.targets.remarks.verdict import Verdict, decisive, verdict
from effbatch_lint.terms import Term, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from effbatch_lint.batch import Batch
    from effbatch_lint.targets.remarks.claims import Claim


Outcome: TypeAlias = "Verdict | Literal['holds', 'unsure']"

_DEVICES = frozenset(("devices", "nodes", "devices per node"))
# A machine holds this many accelerators, where nothing says how many.
_PER_NODE = (1, 2, 4, 8, 16)


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
    stale = [pair for factor in claim.factors if (pair := contradicting(factor, batch, own=own)) is not None]
    total = weigh_total(claim, batch, named)
    if total == "holds" and claim.nodes is not None and not own and world.value is not None:
        stale = []  # it holds for some number of devices per node, which need not be this job's
    if total == "holds":
        return verdict(claim, batch, named, stale, note=True) if stale else "holds"
    if total == "stale" or (stale and total == "unsure"):
        return verdict(claim, batch, named, stale or by_elimination(claim, batch))
    return "unsure"


def _speaks_of(claim: Claim, batch: Batch) -> bool:
    """Whether the claim stands beside the numbers that are in force, and not beside ones that another place overrides."""
    path = claim.span.path
    terms = decisive(batch)
    for term in terms:
        for origin in term.origins:
            if origin.span is None and origin.note is not None and "world" not in (origin.key or ""):
                return False  # an override; the number of devices may come from anywhere
            if (origin.span is None or origin.span.path != path) and any(
                previous.span is not None and previous.span.path == path for previous in origin.previous
            ):
                return False
    if claim.beside_key and not any(
        span.path == path and span.line == claim.span.line for term in terms for span in term.spans
    ):
        return False  # beside a batch key that does not count: the validation set's, a stale name
    return any(_written_in(term, path) for term in (*terms, batch.layout.world))


def _written_in(term: Term, path: str) -> bool:
    return any(span.path == path for span in term.spans)


def _named(claim: Claim) -> tuple[int, ...]:
    """The devices that the claim is made for, as far as it says."""
    if claim.devices or claim.nodes is None:
        return claim.devices
    return tuple(claim.nodes * each for each in _PER_NODE)


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
