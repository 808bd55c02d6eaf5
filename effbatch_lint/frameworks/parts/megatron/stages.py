"""How many pipeline stages each device holds: numbers, or a pattern of layers in which ``|`` ends a stage.

    --pipeline-model-parallel-layout "Et*2|(tt|)*5t|tmL"    on 4 devices 2 stages each
    --hybrid-layer-pattern "M-M-|M-M*-/MM/MM"               the part before the first / counts

Upstream: NVIDIA/Megatron-LM, megatron/training/arguments.py (validate_args: virtual_pipeline_model_parallel_size),
megatron/core/transformer/pipeline_parallel_layer_layout.py (parse_str_to_list), megatron/core/models/hybrid/
hybrid_layer_allocation.py (get_hybrid_total_pipeline_segment_count).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.frameworks.parts.megatron.flags import written
from effbatch_lint.terms import Term, computed, exact, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

LAYOUT, HYBRID = "pipeline-model-parallel-layout", "hybrid-layer-pattern"
_GROUP = re.compile(r"\(([^)]+)\)\*(\d{1,6})")
_REPEAT = re.compile(r"(.)\*(\d{1,6})")
# No model has as many layers.
_LONGEST = 10_000


def virtual_stages(args: Config, pipeline: Term) -> Term:
    """Pipeline stages on each device; 1 without interleaving, unknown where the stages are not whole for the devices."""
    if args.has(LAYOUT) or args.has(HYBRID):
        return exact(written_stages(args, pipeline), pipeline)
    if args.has("num-virtual-stages-per-pipeline-rank"):
        return args.integer("num-virtual-stages-per-pipeline-rank")
    if not args.has("num-layers-per-virtual-pipeline-stage"):
        return Term(1, "default")
    layers = args.integer("num-layers", "decoder-num-layers")
    added = sum(args.flag(f"account-for-{part}-in-pipeline-split") for part in ("embedding", "loss"))
    total = computed(lambda count: count + added, "layers", layers)
    return exact(exact(total, pipeline), args.integer("num-layers-per-virtual-pipeline-stage"))


def written_stages(args: Config, pipeline: Term) -> Term:
    """The stages of a pattern, all devices together; a hybrid pattern without ``|`` is cut into as many as there are."""
    key = LAYOUT if args.has(LAYOUT) else HYBRID
    text, origin = written(args, key), args.origin(key)
    origins = () if origin is None else (origin,)
    if "$" in text or not 0 < len(text) <= _LONGEST:
        return unknown(f"{key} is {text[:60]}, which is not resolved", *origins, key=key)
    if key == LAYOUT:
        return Term(_ends(text.replace(",", "")) + 1, "read", origins, key=key)
    ends = text.split("/")[0].count("|")
    return Term(ends + 1, "read", origins, key=key) if ends else pipeline


def _ends(layout: str) -> int:
    """How often ``|`` stands in a layout once its repeats are written out, which nobody needs to do."""
    groups: int = sum(_ends(group) * int(count) for group, count in _GROUP.findall(layout))
    rest = _GROUP.sub("", layout)
    repeats: int = sum((char == "|") * int(count) for char, count in _REPEAT.findall(rest))
    return groups + repeats + _REPEAT.sub("", rest).count("|")
