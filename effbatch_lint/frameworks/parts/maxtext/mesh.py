"""MaxText's mesh: axes within a slice (ici) and across slices (dcn); one -1 in each group takes the rest.

Upstream: AI-Hypercomputer/maxtext, src/maxtext/utils/maxtext_utils.py (create_device_mesh), src/maxtext/utils/
max_utils.py (fill_unspecified_mesh_axes), src/maxtext/configs/base.yml (the defaults).

The number of slices is the machine's. A product that no number of slices makes fit stops the run when the mesh is made,
which is after the batch was computed: the batch is given all the same, with a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.terms import Term, exact, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config

_TENSOR = ("tensor", "tensor_sequence")
_PIPELINE = ("pipeline",)
_CONTEXT = ("sequence", "context", "context_usp_ulysses", "context_autoregressive")
_DATA = ("diloco", "data", "fsdp", "fsdp_transpose", "expert", "autoregressive")
AXES = (*_TENSOR, *_PIPELINE, *_CONTEXT, *_DATA)

# base.yml: what is left goes to fsdp within a slice, and to data across slices.
_REST = {"ici_fsdp_parallelism": -1, "dcn_data_parallelism": -1}


class Axes(NamedTuple):
    """One group of axes: the product of those that are written, and those that take the rest."""

    stated: Term
    open: tuple[Term, ...]


def mesh(config: Config, devices: Term) -> Layout:
    """The layout on ``devices``, with what the mesh refuses."""
    ici, dcn = _group(config, "ici"), _group(config, "dcn")
    slices = config.integer("num_slices")
    slices = slices if (slices.value or 0) > 0 else unknown("the number of slices is the machine's", key="num_slices")
    rest = {**_filled(ici, exact(devices, slices)), **_filled(dcn, slices)}
    degrees = [
        product(*(_axis(config, level, axis, rest) for level in ("ici", "dcn") for axis in axes))
        for axes in (_TENSOR, _PIPELINE, _CONTEXT)
    ]
    tensor, pipeline, context = (
        degree.named(f"ici_{name}_parallelism")
        for degree, name in zip(degrees, ("tensor", "pipeline", "context"), strict=True)
    )
    layout = Layout.of_world(devices, tensor=tensor, pipeline=pipeline, context=context)
    refused = _refused(ici, dcn, devices, slices)
    return layout if refused is None else layout._replace(problems=(*layout.problems, refused))


def _group(config: Config, level: str) -> Axes:
    terms = [_size(config, f"{level}_{axis}_parallelism") for axis in AXES]
    return Axes(
        product(*(term for term in terms if term.value != -1)), tuple(term for term in terms if term.value == -1)
    )


def _size(config: Config, key: str) -> Term:
    return config.integer(key, default=_REST.get(key, 1))


def _axis(config: Config, level: str, axis: str, rest: dict[str, Term]) -> Term:
    key = f"{level}_{axis}_parallelism"
    term = _size(config, key)
    return rest[key] if term.value == -1 else term


def _filled(axes: Axes, total: Term) -> dict[str, Term]:
    """What each open axis takes, by its key; unknown where the total is, or where it is refused."""
    found: dict[str, Term] = {}
    for axis in axes.open:
        key = axis.key or ""
        taken = exact(total, axes.stated)
        if not taken.known:
            reason = f"{key} takes the rest of the devices in a slice, or of the slices"
            taken = unknown(reason, *axis.origins)
        found[key] = taken.named(key)
    return found


def _refused(ici: Axes, dcn: Axes, devices: Term, slices: Term) -> Problem | None:
    """The mesh that no number of slices makes fit; several axes at -1."""
    for level, axes in (("ici", ici), ("dcn", dcn)):
        if len(axes.open) > 1:
            names = " and ".join(axis.key or "" for axis in axes.open)
            return Problem("EB304", f"{names} are -1: one {level} axis at most takes the rest", axes.open, refuses=True)
    within, across, count = ici.stated.value, dcn.stated.value, devices.value
    if not within or not across or not count:
        return None
    needed = shown(within) if not ici.open else f"a multiple of {shown(within)}"
    # With an ici axis open, one slice takes everything; without one, the slices are what the devices make.
    number = slices.value or (1 if ici.open else count // within)
    per_slice = count // number if number else 0
    filled = per_slice % within == 0 if ici.open else per_slice == within
    spanned = number == 1 or (number % across == 0 if dcn.open else number == across)
    if number and count % number == 0 and filled and spanned:
        return None
    return Problem(
        "EB903",
        f"{shown(count)} devices do not make the mesh: the ici axes need {needed} devices in each slice"
        + (f", and the dcn axes {shown(across)} slices" if across != 1 else ""),
        (ici.stated.named("the ici axes"), devices),
        help=f"use a multiple of {shown(within)} devices, or let one axis be -1, which takes the rest",
    )
