"""DeepSpeed's elastic training: it chooses all three numbers of the batch for the number of devices.

Upstream: deepspeedai/DeepSpeed, deepspeed/runtime/config.py (DeepSpeedConfig.__init__, 0.19.6), deepspeed/elasticity/
{config,constants}.py. 0.19.8 refuses every ``elasticity`` block, so that a file with one tells its era.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.documents.nodes import Scalar
from effbatch_lint.documents.scalars import resolve
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO
from effbatch_lint.frameworks.parts.elastic_search import Elasticity, Refused, batch_of_any, batch_on
from effbatch_lint.terms import Origin, Term, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

# The search is for small numbers: real limits are a few thousand samples and a handful of sizes.
MOST = 100_000_000
MOST_SIZES = 64

FITTING = "use a number of devices that fits, or change max_train_batch_size and micro_batch_sizes"


def elastic_batch(config: Config, world: Term) -> Batch:
    """The batch of a file with an enabled ``elasticity`` block."""
    origin = config.origin("elasticity") or Origin(None, "elasticity")
    settings = _settings(config)
    batch = micro = accumulation = unknown("elastic training chooses it for the number of devices", origin)
    problems = list(_keys_beside(config))
    if isinstance(settings, str):
        batch = micro = accumulation = unknown(settings, origin)
    else:
        try:
            if isinstance(world.value, int):
                chosen, per_device = batch_on(settings, world.value)
                batch = Term(chosen, "derived", (origin,), "elastic training")
                micro = Term(per_device, "derived", (origin,), "the largest micro batch that fits", key=MICRO)
                accumulation = Term(chosen // (per_device * world.value), "derived", (origin,), key=ACCUMULATION)
            elif settings.version <= 0.1:  # noqa: PLR2004 - 0.2 chooses the batch, too, for the number of devices
                batch = Term(batch_of_any(settings)[0], "derived", (origin,), "elastic training")
        except Refused as error:
            place = Term(None, "read", (origin,), key="elasticity")
            problems.append(Problem("EB304", f"elasticity: {error}", (place, world), refuses=True, help=FITTING))
    return Batch(
        micro=micro,
        accumulation=accumulation,
        layout=Layout.of_world(world),
        unit="samples",
        global_batch=batch.named(BATCH),
        problems=tuple(problems),
        profile="elastic (before 0.19.8)",
    )


def _keys_beside(config: Config) -> Iterator[Problem]:
    beside = [key for key in (BATCH, MICRO, ACCUMULATION) if config.has(key)]
    if beside and not config.flag("elasticity.ignore_non_elastic_batch_info"):
        yield Problem(
            "EB301",
            f"{', '.join(beside)} beside elasticity, which chooses the batch itself",
            tuple(config.integer(key) for key in beside),
            refuses=True,
            help="remove the keys, or set elasticity.ignore_non_elastic_batch_info to true",
        )


def _settings(config: Config) -> Elasticity | str:
    """The block, or why it cannot be read."""
    sizes = [resolve(item, config.dialect) if isinstance(item, Scalar) else None for item in
             config.items("elasticity.micro_batch_sizes")]  # fmt: skip
    micro_batches = tuple(size for size in sizes if isinstance(size, int) and 0 < size <= MOST)
    most = config.integer("elasticity.max_train_batch_size").value
    if (
        not isinstance(most, int)
        or not 0 < most <= MOST
        or not 0 < len(sizes) <= MOST_SIZES
        or len(micro_batches) != len(sizes)
    ):
        return f"elasticity wants max_train_batch_size and micro_batch_sizes, whole numbers up to {MOST:,}"

    def number(key: str, absent: int) -> int:
        value = config.integer(f"elasticity.{key}", default=absent).value
        return value if isinstance(value, int) and value > 0 else absent

    version = config.value("elasticity.version")
    return Elasticity(
        most,
        micro_batches,
        float(version) if isinstance(version, (int, float)) else 0.2,
        number("min_gpus", 1),
        number("max_gpus", 10_000),
        number("num_gpus_per_node", 1),
        number("model_parallel_size", 1),
        config.flag("elasticity.prefer_larger_batch", default=True),
    )
