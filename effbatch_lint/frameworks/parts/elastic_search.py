"""The search behind DeepSpeed's elastic training: one global batch that many device counts divide.

Upstream: deepspeedai/DeepSpeed, deepspeed/elasticity/elasticity.py (0.19.6: _get_compatible_gpus_v01 and _v02,
get_candidate_batch_sizes, get_best_candidates, compute_elastic_config).

Version 0.1 counts devices. Candidates for the batch are each micro batch and their least common multiple, scaled by the
largest highly composite number that keeps them under the limit; the candidate that most device counts divide wins.
Version 0.2 (the default) does the same for whole nodes, and where the job's own count is not among the winners, takes
the largest multiple of a micro batch that the job can hold.
"""

from __future__ import annotations

from math import isqrt, lcm
from typing import NamedTuple

HIGHLY_COMPOSITE = (
    1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560, 10080, 15120, 20160,
    25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720,
)  # fmt: skip


class Elasticity(NamedTuple):
    """The ``elasticity`` block with DeepSpeed's defaults (elasticity/constants.py)."""

    most: int
    micro_batches: tuple[int, ...]
    version: float = 0.2
    min_devices: int = 1
    max_devices: int = 10_000
    devices_per_node: int = 1
    model_parallel: int = 1
    prefer_larger: bool = True


class Refused(Exception):
    """DeepSpeed stops at start; the text says why."""


def batch_of_any(settings: Elasticity) -> tuple[int, list[int]]:
    """Version 0.1: the batch, and the device counts that divide it.

    Raises:
        Refused: a micro batch over the limit.
    """
    return _compatible(settings, settings.most, settings.min_devices, settings.max_devices)


def batch_on(settings: Elasticity, world: int) -> tuple[int, int]:
    """The batch and the micro batch on ``world`` devices.

    Raises:
        Refused: the number of devices does not fit.
    """
    if settings.version <= 0.1:  # noqa: PLR2004 - the older of the two versions
        batch, valid = batch_of_any(settings)
    else:
        batch, valid = _on_nodes(settings, world)
    if not batch or world not in valid:
        near = ", ".join(f"{count:,}" for count in sorted(valid, key=lambda count: abs(count - world))[:4]) or "none"
        raise Refused(f"{world:,} devices do not fit the elastic batch of {batch:,} (counts that do: {near})")
    micro = next((size for size in sorted(settings.micro_batches, reverse=True) if batch // world % size == 0), None)
    if micro is None:
        raise Refused(f"no micro batch of {list(settings.micro_batches)} divides {batch // world:,} samples per device")
    return batch, micro


def _compatible(settings: Elasticity, most: int, low: int, high: int) -> tuple[int, list[int]]:
    sizes = settings.micro_batches
    if not sizes or max(sizes) > most:
        raise Refused(f"micro_batch_sizes {list(sizes)} exceed max_train_batch_size {most:,}")
    low, high = low or 1, high or most // min(sizes)
    best, fitting = min(sizes), list[int]()
    found = False
    for candidate in sorted({_scaled(base, most) for base in (*sizes, lcm(*sizes)) if base <= most}):
        divisors = {count for size in sizes if candidate % size == 0 for count in _divisors(candidate // size)}
        counts = sorted(count for count in divisors if low <= count <= high)
        preferred = candidate > best if settings.prefer_larger else candidate < best
        if len(counts) > len(fitting) or (len(counts) == len(fitting) and preferred):
            best, fitting, found = candidate, counts, True
    if not found:
        raise Refused(f"no batch up to {most:,} fits {low:,} to {high:,} devices or nodes")
    return best, fitting


def _on_nodes(settings: Elasticity, world: int) -> tuple[int, list[int]]:
    if settings.devices_per_node % settings.model_parallel:
        raise Refused(
            f"num_gpus_per_node {settings.devices_per_node:,} is no multiple of model_parallel_size {settings.model_parallel:,}"
        )
    replicas_per_node = settings.devices_per_node // settings.model_parallel
    batch, nodes = _compatible(
        settings,
        settings.most // replicas_per_node,
        settings.min_devices // settings.devices_per_node,
        settings.max_devices // settings.devices_per_node,
    )
    valid = [count * replicas_per_node for count in nodes]
    if world // settings.model_parallel in valid:
        return batch * replicas_per_node, valid
    # The job's own count is none of them: the largest multiple of a micro batch that its replicas can hold.
    replicas = world * replicas_per_node // settings.devices_per_node
    if not replicas:
        raise Refused(f"{world:,} devices are less than one replica")
    fitting = [settings.most // (size * replicas) * size * replicas for size in settings.micro_batches]
    return (max if settings.prefer_larger else min)(fitting), [replicas]


def _scaled(base: int, most: int) -> int:
    """The base times the largest highly composite number that stays under the limit."""
    return base * max(number for number in HIGHLY_COMPOSITE if number <= most // base)


def _divisors(number: int) -> list[int]:
    """All divisors of a number, found among its divisors up to the root."""
    low = [divisor for divisor in range(1, isqrt(number) + 1) if number % divisor == 0]
    return low + [number // divisor for divisor in low if divisor * divisor != number]
