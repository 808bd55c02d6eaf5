"""litgpt: micro_batch_size x floor(floor(global_batch_size / devices) / micro_batch_size) x devices.

Upstream: Lightning-AI/litgpt 0.5.13, litgpt/args.py (TrainArgs.batch_size, gradient_accumulation_iters),
litgpt/utils.py (parse_devices), litgpt/pretrain.py and litgpt/finetune/{full,lora,adapter,adapter_v2}.py (setup,
validate_args).

Both divisions round down without a word, so that the declared batch is a limit and not what runs. ``devices`` counts
per node. Defaults differ by sub-command, which is not in the file: pretrain names a model, finetuning a checkpoint.
Before v0.5.8 nodes were left out of the first division; the newer arithmetic is used here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.stated_world import reconciled
from effbatch_lint.terms import Term, floor, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_PRETRAIN = ("model_name", "model_config", "tokenizer_dir", "initial_checkpoint_dir")
_FINETUNE = ("checkpoint_dir", "lora_r", "lora_alpha", "quantize", "adapter_start_layer")
_COMMON = ("out_dir", "devices", "num_nodes", "eval", "data", "logger_name", "precision", "optimizer", "seed")


def recognise(config: Config) -> int:
    """A ``train`` section with litgpt's batch, and no ``trainer`` (Lightning's CLI, NeMo)."""
    if config.has("trainer") or not config.count(*_PRETRAIN, *_FINETUNE):
        return 0
    batch = config.count("train.global_batch_size", "train.micro_batch_size")
    return batch and batch + config.count(*_PRETRAIN, *_FINETUNE, *_COMMON)


def starts(launch: Launch) -> bool:
    """``litgpt pretrain`` and ``litgpt finetune_*``, also as a module."""
    return (launch.program or "").startswith(("litgpt pretrain", "litgpt finetune")) or launch.program == "litgpt"


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch; rows are full in pretraining, and padded to the longest in finetuning."""
    command = _command(config, launch)
    declared = _setting(config, command, "train.global_batch_size", pretrain=512, finetune=16)
    micro = _setting(config, command, "train.micro_batch_size", pretrain=4, finetune=1)
    devices, refusals = _devices(config, command, launch)
    stated = product(devices, config.integer("num_nodes", default=1))
    world, conflict = reconciled(stated, launch.world_size, "devices x num_nodes")
    counted = stated if stated.known else world
    per_device = floor(declared, counted)
    accumulation = floor(per_device, micro)
    yield Batch(
        micro=micro,
        accumulation=accumulation,
        layout=Layout.of_world(world)._replace(problems=conflict),
        sequence_length=_length(config, command),
        declared=declared,
        tokens_bound="exact" if command == "pretrain" else "at most",
        problems=(
            *refusals,
            *_rounded(declared, counted, per_device, micro, accumulation),
            *_other_checks(config, command, counted),
        ),
    )


def _command(config: Config, launch: Launch) -> str | None:
    """The sub-command: as started, else by the keys that only one of them has."""
    for command in ("pretrain", "finetune"):
        if command in (launch.program or ""):
            return command
    if config.has(*_FINETUNE):
        return "finetune"
    return "pretrain" if config.has(*_PRETRAIN) else None


def _setting(config: Config, command: str | None, key: str, *, pretrain: int, finetune: int) -> Term:
    if command is None and not config.has(key):
        return unknown(f"{key} is not set: {pretrain} for litgpt pretrain, {finetune} for litgpt finetune", key=key)
    return config.integer(key, default=pretrain if command == "pretrain" else finetune)


def _devices(config: Config, command: str | None, launch: Launch) -> tuple[Term, tuple[Problem, ...]]:
    """Devices of one node: a positive number, or ``auto`` (-1) for all that are visible."""
    value = config.value("devices")
    devices = config.integer("devices", default=1)
    listed = config.node("devices") is not None and not isinstance(config.node("devices"), Scalar)
    if value is None and not listed and command != "pretrain":
        unset = "devices is not set: all GPUs of the node for litgpt pretrain, 1 for litgpt finetune"
        return devices if command else unknown(unset, key="devices"), ()
    if (value is None and not listed) or value == "auto" or devices.value == -1:
        if launch.devices_per_node.known:
            return launch.devices_per_node, ()
        return unknown("devices takes all GPUs of the node, and nothing here states how many", *devices.origins), ()
    wrong = listed or isinstance(value, (str, float))
    if (devices.value is not None and devices.value > 0) or not (devices.known or wrong):
        return devices, ()
    problem = Problem(
        "EB304",
        f"devices is {'a list' if listed else value}; litgpt takes auto or a positive number",
        (devices,),
        refuses=True,
        help='set devices to "auto" or to the number of GPUs of a node',
    )
    return unknown(problem.message, *devices.origins), (problem,)


def _length(config: Config, command: str | None) -> Term:
    """Tokens of a row; pretraining without a limit takes the model's ``block_size``."""
    key = "train.max_seq_length"
    if command != "pretrain":
        return config.integer(key) if config.has(key) else unknown(f"{key} is not set: rows have no limit", key=key)
    block_size = 4096 if isinstance(config.node("model_config"), Mapping) else None  # litgpt/config.py, Config
    length = config.integer(key, "model_config.block_size", default=block_size)
    return length if length.known else unknown(f"{key} is not set: the model's block_size decides", key=key)


def _rounded(declared: Term, devices: Term, per_device: Term, micro: Term, accumulation: Term) -> Iterator[Problem]:
    """Both floors: less than one micro batch per device is refused, a remainder is lost in silence."""
    if declared.value is None or devices.value is None or micro.value is None or accumulation.value is None:
        return
    step = micro.value * devices.value
    real = step * accumulation.value
    multiples = " or ".join(shown(number) for number in (real, real + step) if number > 0)
    split = f"{shown(declared.value)} / {shown(devices.value)} devices = {shown(per_device.value)} per device"
    if accumulation.value <= 0:
        yield Problem(
            "EB302",
            f"train.global_batch_size {split}, less than one train.micro_batch_size of {shown(micro.value)}",
            (declared, micro, devices),
            refuses=True,
            help=f"set train.global_batch_size to a multiple of {shown(step)}, or lower train.micro_batch_size",
        )
    elif real != declared.value:
        yield Problem(
            "EB303",
            f"train.global_batch_size {shown(declared.value)} runs as {shown(real)}: {split}, which holds "
            f"{shown(accumulation.value)} micro batches of {shown(micro.value)}",
            (declared, micro, devices),
            help=f"set train.global_batch_size to {multiples}",
        )


def _other_checks(config: Config, command: str | None, devices: Term) -> Iterator[Problem]:
    """validate_args, and bitsandbytes on one device only."""
    refused = {
        "pretrain": ("train.epochs",),
        "finetune": ("train.max_tokens", "train.max_norm", "train.tie_embeddings"),
    }
    for key in refused.get(command or "", ()):
        if config.has(key):
            yield Problem(
                "EB304",
                f"litgpt {command} does not support {key}",
                (config.integer(key),),
                refuses=True,
                help=f"remove {key}",
            )
    if config.flag("train.lr_warmup_fraction") and config.flag("train.lr_warmup_steps"):
        yield Problem(
            "EB304",
            "train.lr_warmup_steps and train.lr_warmup_fraction are both set; litgpt takes one of them",
            (config.integer("train.lr_warmup_steps"),),
            refuses=True,
            help="remove one of them",
        )
    if config.has("quantize") and devices.value is not None and devices.value > 1:
        yield Problem(
            "EB304",
            f"quantize runs on one device only, and there are {shown(devices.value)}",
            (config.integer("quantize"), devices),
            refuses=True,
            help="remove quantize, or set devices and num_nodes to 1",
        )


FRAMEWORK = Framework(
    name="litgpt",
    formula="micro_batch_size x ((global_batch_size // (devices x num_nodes)) // micro_batch_size) x devices x num_nodes",
    sources=("Lightning-AI/litgpt litgpt/args.py", "Lightning-AI/litgpt litgpt/utils.py (parse_devices)"),
    recognise=recognise,
    read=read,
    starts=starts,
    dialect="omegaconf",  # jsonargparse reads YAML 1.1 with OmegaConf's float rule
)
