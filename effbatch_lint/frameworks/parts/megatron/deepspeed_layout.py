"""What Megatron-DeepSpeed refuses of a layout beside its division.

Upstream: deepspeedai/Megatron-DeepSpeed, megatron/arguments.py (validate_args), megatron/core/parallel_state.py
(initialize_model_parallel), pretrain_gpt.py (get_batch); deepspeedai/DeepSpeed, deepspeed/moe/layer.py and
deepspeed/utils/groups.py (_create_expert_and_data_parallel) for the experts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.megatron.flags import values
from effbatch_lint.frameworks.parts.megatron.layout import PIPELINE, TENSOR, indivisible_groups
from effbatch_lint.terms import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.batch import Layout
    from effbatch_lint.compose.config import Config
    from effbatch_lint.terms import Term

SEQUENCE, EXPERT = "ds-sequence-parallel-size", "moe-expert-parallel-size"


def layout_checks(args: Config, layout: Layout) -> Iterator[Problem]:
    """The checks on the degrees as they are after the cut."""
    pipeline, sequence = layout.pipeline, layout.context
    # Without a number of devices the degree may still be cut to 1.
    if args.flag("no-pipeline-parallel") and layout.world.known and (pipeline.value or 1) > 1:
        yield _refused(
            f"--no-pipeline-parallel needs {PIPELINE} 1, and it is {shown(pipeline.value)}",
            pipeline,
            help="remove one of the two",
        )
    if (sequence.value or 1) > 1:
        for degree, name in ((layout.tensor, TENSOR), (pipeline, PIPELINE)):
            if (degree.value or 1) > 1:
                yield _refused(
                    f"{SEQUENCE} {shown(sequence.value)} does not go with {name} {shown(degree.value)}: DeepSpeed's "
                    "sequence parallelism works with neither tensor nor pipeline parallelism",
                    sequence,
                    degree,
                    help="set one of the two to 1",
                )
        length = args.integer("seq-length", "encoder-seq-length")
        if length.value is not None and sequence.value and length.value % sequence.value:
            yield _refused(
                f"seq-length {shown(length.value)} is not divisible by {SEQUENCE} {shown(sequence.value)}",
                length,
                sequence,
                help=f"use a multiple of {shown(sequence.value)}",
            )
    yield from _experts(args, layout)


def _experts(args: Config, layout: Layout) -> Iterator[Problem]:
    """The experts are spread over ranks of one pipeline stage, or over replicas when tensor parallelism splits them."""
    degree = args.integer(EXPERT, default=1)
    counts = [int(word) for word in values(args, "num-experts") if word.isdecimal() and len(word) < 20]  # noqa: PLR2004 - no count has twenty digits
    if not degree.value or degree.value < 2 or max(counts, default=1) < 2:  # noqa: PLR2004 - one expert is none
        return
    # A layer with fewer experts than ranks has them on fewer ranks, or stops, depending on DeepSpeed's release.
    wrong = [count for count in counts if count > degree.value and count % degree.value]
    if wrong:
        yield _refused(
            f"num-experts {shown(wrong[0])} is not divisible by {EXPERT} {shown(degree.value)}",
            args.place("num-experts"),
            degree,
            help=f"use a divisor of {shown(wrong[0])}",
        )
    split = args.flag("enable-expert-tensor-parallelism")
    groups = (degree, layout.pipeline, layout.tensor, layout.context) if split else (degree, layout.pipeline)
    found = None if layout.problems else indivisible_groups(layout, "experts", groups)
    if found is not None:
        yield found


def _refused(message: str, *terms: Term, help: str) -> Problem:
    return Problem("EB304", message, terms, refuses=True, help=help)
