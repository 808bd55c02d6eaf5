"""MaxText: B = int(devices x per_device_batch_size) x gradient_accumulation_steps, over ALL devices.

    replicas = devices / (tensor x tensor_sequence x pipeline x sequence x context)
    micro batch of a replica = int(devices x per_device_batch_size) / replicas, a fraction where it comes to one

Upstream: AI-Hypercomputer/maxtext, src/maxtext/configs/types.py (calculate_global_batch_sizes, get_num_target_devices),
src/maxtext/configs/base.yml (every default), src/maxtext/utils/rampup_batch.py.

"Per device" is an average: devices that hold a model together count, so that a replica on 8 of them reads 8 times the
number. It may be a fraction; below 1 the hosts load a whole sequence for each device and train on the first of them
only. The number of devices is what JAX sees, and nothing in the file states it unless it is compiled for another
machine. ``model_name`` loads a second file, which holds no batch. The RL trainer has a batch of other keys
(``batch_size``, ``rl.num_generations``) and is not read; nor are the programs that convert, decode or evaluate, which
take the same files (src/maxtext/trainers holds those that train).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Problem
from effbatch_lint.compose.config import Config
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.maxtext.mesh import AXES, mesh
from effbatch_lint.frameworks.parts.maxtext.ramp import ramp
from effbatch_lint.frameworks.parts.maxtext.size import Size, size
from effbatch_lint.terms import Term, computed, product, ratio, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.launch import Launch

PER_DEVICE, ACCUMULATION = "per_device_batch_size", "gradient_accumulation_steps"
_BESIDE = (
    "base_config", "base_emb_dim", "max_target_length", "base_output_directory", "enable_checkpointing",
    "hardware", "dataset_type", "remat_policy", "per_device_batch_size_start", "steps", "model_name",
)  # fmt: skip
# Of a file that stands on another one and leaves the batch to it: these say that it trains.
_TRAINING = (
    "use_sft", "use_dpo", "sft_train_on_completion_only", "use_tunix_gradient_accumulation", "train_data_columns",
    "use_multimodal",
)  # fmt: skip
# accelerator_to_spec_map.py: the number in the name counts chips, for these two generations the two cores of each.
_TOPOLOGY = re.compile(r"(v4|v5p|v5e|v6e)-(\d{1,6})")
_CORES = {"v4": 2, "v5p": 2}
# maxtext.trainers.pre_train.train, MaxText/train.py, maxtext.trainers.post_train.sft.train_sft_native, ...
_PROGRAM = re.compile(r"(?:^|[./])maxtext[./](?:\w+[./])*(\w+?)(?:\.py)?$", re.IGNORECASE)
_TRAINERS = frozenset(
    ("train", "train_compile", "train_sft", "train_sft_native", "train_dpo", "train_distill", "sft_trainer")
)


def recognise(config: Config) -> int:
    """``per_device_batch_size``, or a file that stands on ``base.yml``, with MaxText's names beside it."""
    if config.has("pretrained_model_name_or_path") or config.has("rl.num_generations"):
        return 0
    axes = config.count(*(f"{level}_{axis}_parallelism" for level in ("ici", "dcn") for axis in AXES))
    beside = config.count(*_BESIDE)
    if not config.has(PER_DEVICE):
        beside += config.count(*_TRAINING)
        if not _on_base(config) or beside <= 2:  # noqa: PLR2004 - the base is one of them
            return 0
    return (axes or beside > 1) and config.count(PER_DEVICE, ACCUMULATION) + min(axes, 3) + beside


def starts(launch: Launch) -> bool:
    """One of MaxText's trainers, in its own package."""
    return _own_program(launch) in _TRAINERS


def _own_program(launch: Launch) -> str | None:
    """The name of MaxText's program that is started, without its package; None for any other program."""
    found = _PROGRAM.search(launch.program or "")
    return None if found is None else found[1]


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; preference pairs where the file asks for DPO; none where no trainer is started."""
    if (_own_program(launch) or "train") not in _TRAINERS:
        return
    config = _with_own_defaults(config)
    per_device = size(config, PER_DEVICE, "12.0")
    accumulation = config.integer(ACCUMULATION, default=1)
    devices = _devices(config, launch.world_size)
    layout = mesh(config, devices)
    trained = per_device.on(devices)
    pairs = config.flag("use_dpo")
    schedule, refused = ramp(config, per_device, devices, accumulation)
    yield Batch(
        micro=ratio(trained, layout.replicas).named(PER_DEVICE)
        if devices.known
        else product(per_device.term, layout.model_parallel).named(PER_DEVICE),
        accumulation=accumulation,
        layout=layout,
        sequence_length=config.integer("max_target_length", default=2048),
        unit="pairs" if pairs else "sequences",
        sequences_per_item=2 if pairs else 1,
        global_batch=product(trained, accumulation).because(
            f"{shown(devices.value)} devices x {per_device.text} x {shown(accumulation.value)}"
        ),
        tokens_bound="at most" if pairs or not config.flag("packing", default=True) else "exact",
        schedule=schedule,
        problems=(*refused, *_checks(per_device, trained, devices, accumulation)),
    )


def _checks(per_device: Size, trained: Term, devices: Term, accumulation: Term) -> Iterator[Problem]:
    """What is cut off without a word: a part of a sequence, or what was loaded too much."""
    whole = product(per_device.term, devices)
    if trained.value is None or whole.value is None:
        return
    if trained.value < 1:
        yield Problem(
            "EB304",
            f"{shown(devices.value)} devices x {PER_DEVICE} {per_device.text} is less than one sequence",
            (per_device.term, devices),
            refuses=True,
            help=f"raise {PER_DEVICE}, or use more devices",
        )
    elif trained.value != whole.value:
        yield Problem(
            "EB303",
            f"{shown(devices.value)} devices x {PER_DEVICE} {per_device.text} is no whole number of sequences, and is cut "
            f"to {shown(trained.value)} before it is multiplied by {ACCUMULATION}",
            (per_device.term, devices),
            help=f"choose a {PER_DEVICE} that makes a whole number on {shown(devices.value)} devices",
        )
    elif trained.value < (devices.value or 0):
        loaded, used = product(devices, accumulation), product(trained, accumulation)
        yield Problem(
            "EB303",
            f"with {PER_DEVICE} {per_device.text} a step loads {shown(loaded.value)} sequences and trains on "
            f"{shown(used.value)} of them: the others are dropped",
            (per_device.term, devices),
            help="split each sequence over more devices with whole sequences per device, or accept the loss of data",
        )


def _devices(config: Config, world: Term) -> Term:
    """The devices of the job: those that it is compiled for, else those that it is started on."""
    if config.flag("internal_compile"):
        return config.integer("internal_compile_num_devices")
    topology = config.text("compile_topology")
    if not topology or world.known:
        return world
    origin = config.origin("compile_topology")
    origins = (origin,) if origin else ()
    named = _TOPOLOGY.fullmatch(topology)
    if named is None:
        return unknown(
            f"how many devices a slice of {topology} has is MaxText's table", *origins, key="compile_topology"
        )
    chips = int(named[2]) // _CORES.get(named[1], 1)
    slices = config.integer("compile_topology_num_slices")
    return computed(
        lambda of, count: of * count,
        f"{shown(chips)} devices of {topology} x {shown(slices.value)} slices",
        Term(chips, "read", origins, key="compile_topology"),
        slices,
    )


def _on_base(config: Config) -> bool:
    return (config.text("base_config") or "").endswith((".yml", ".yaml"))


def _with_own_defaults(config: Config) -> Config:
    """The config without doubt about ``base.yml``: that file comes with MaxText, and its values are the defaults here."""
    hidden = tuple(known for known in config.unseen if not _names_base(known[1]))
    if hidden == config.unseen:
        return config
    return Config(
        config.root, config.path, config.dialect, files=config.files, overrides=config.overrides, unseen=hidden
    )


def _names_base(reason: str) -> bool:
    return reason.partition(",")[0].rpartition("/")[2] == "base.yml"


FRAMEWORK = Framework(
    name="maxtext",
    formula="int(devices x per_device_batch_size) x gradient_accumulation_steps",
    sources=(
        "AI-Hypercomputer/maxtext src/maxtext/configs/types.py (calculate_global_batch_sizes)",
        "AI-Hypercomputer/maxtext src/maxtext/configs/base.yml",
        "AI-Hypercomputer/maxtext src/maxtext/utils/max_utils.py (fill_unspecified_mesh_axes)",
    ),
    recognise=recognise,
    starts=starts,
    read=read,
    dialect="omegaconf",
)
