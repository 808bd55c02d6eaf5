"""The batch that a launch script declares in a variable, and from which it divides what it hands to the program.

    ALL_BATCH_SIZE=4096
    let BATCH_SIZE=ALL_BATCH_SIZE/NUM_GPU/GRAD_ACCUM_STEPS

The program never sees the total: nothing but the script says what the batch is meant to be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.terms import Term, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Batch
    from effbatch_lint.launch import Launch

_TOTAL = re.compile(
    r"(?:all|total|global|effective)_?(?:train_?)?(?:batch_?size|batch|bsz|bs)|gbs|(?:batch_?size|bsz|bs)_?(?:all|total)",
    re.IGNORECASE,
)


def declared_total(launch: Launch, *parts: Term) -> Term | None:
    """The script's variable for the whole batch, when one of the ``parts`` of the batch was computed from it."""
    for name, total in launch.numbers.items():
        if _TOTAL.fullmatch(name) is None or not total.spans:
            continue
        for part in parts:
            if part.value != total.value and set(total.spans) <= set(part.spans):
                return total
    return None


def missed_total(batch: Batch) -> Iterator[Problem]:
    """The parts do not multiply to the declared total again, although each division was whole.

    A division that lost a remainder is reported for every launch (:mod:`effbatch_lint.launch_checks`).
    """
    total, effective = batch.declared, batch.effective
    if total is None or total.value is None or effective.value is None or total.value == effective.value:
        return
    parts = (batch.micro, batch.accumulation)
    if any("the remainder" in (origin.note or "") for part in parts for origin in part.origins):
        return
    factors = " x ".join(shown(term.value) for term in (*parts, batch.layout.replicas))
    yield Problem(
        "EB301",
        f"{total.key} is {shown(total.value)}, and {factors} = {shown(effective.value)} {batch.unit} make a step",
        (total, *parts, batch.layout.world),
        help=f"divide by the numbers that the program gets, or set {total.key} to {shown(effective.value)}",
    )
