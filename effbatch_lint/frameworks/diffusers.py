"""diffusers' training scripts: train_batch_size x gradient_accumulation_steps x accelerate's processes, in images.

Upstream: huggingface/diffusers, examples/*/train_*.py and examples/textual_inversion (total_batch_size; each script's
parse_args); huggingface/accelerate, src/accelerate/accelerator.py (_prepare_deepspeed).

Each script repeats the expression with a default of its own for ``train_batch_size``. What accelerate's file changes, the
expression does not see: DeepSpeed's ``gradient_accumulation_steps`` wins over the argument, and tensor- or
context-parallel ranks are no replicas. With ``with_prior_preservation`` an example is an image of the subject and one of
its class: the scripts count examples, and so does B. The Flax and XLA scripts take every device of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.compose.spelling import undashed
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts import accelerate_launch
from effbatch_lint.frameworks.parts.trainer import deepspeed as trainer_deepspeed
from effbatch_lint.terms import Term, default, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

MICRO, ACCUMULATION = "train_batch_size", "gradient_accumulation_steps"
# Families of scripts with their default of train_batch_size; the first that matches.
_DEFAULTS = (
    (re.compile(r"train_text_to_image(?:_lora)?_(?:prior|decoder)|train_cosmos\w*|train_controlnet_flax"), 1),
    (re.compile(r"train_autoencoder_rae|tutorial_train_[\w-]+"), 8),
    (re.compile(
        r"(?:train_(?:text_to_image|instruct_pix2pix|lcm_distill|unconditional|vqgan|amused|pixart_controlnet|cm_ct|"
        r"sdxl_lpl)|textual_inversion)\w*"
    ), 16),
    (re.compile(
        r"train_(?:dreambooth|controlnet|t2i_adapter|cogvideox|control_|custom_diffusion|autoencoderkl|diffusion_[do]po|"
        r"multi_subject_dreambooth|gligen|realfill|sana)\w*"
    ), 4),
)  # fmt: skip
_DATA = (
    MICRO, "pretrained_model_name_or_path", "dataset_name", "train_data_dir", "instance_data_dir", "image_folder",
)  # fmt: skip
# Arguments that most of the scripts have, and programs that were made of them.
_COMMON = (
    "instance_data_dir", "instance_prompt", "class_data_dir", "with_prior_preservation", "validation_prompt",
    "validation_epochs", "num_validation_images", "checkpointing_steps", "resolution", "center_crop", "random_flip",
    "enable_xformers_memory_efficient_attention", "scale_lr", "snr_gamma", "image_column", "caption_column",
    "placeholder_token", "allow_tf32", "controlnet_model_name_or_path", "train_text_encoder",
)  # fmt: skip
# kohya's scripts have the batch and the model under the same names, Trainer's the rest.
_OTHERS = (
    "network_module", "dataset_config", "save_model_as", "output_name", "max_train_epochs", "bucket_reso_steps",
    "enable_bucket", "per_device_train_batch_size", "deepspeed_config",
)  # fmt: skip


def recognise(config: Config) -> int:
    """The batch and the model as the scripts call them, beside arguments that only image training has."""
    config = undashed(config)
    common = config.count(*_COMMON)
    if config.count(*_OTHERS) or common < 3 or not config.has(MICRO):  # noqa: PLR2004 - two are other programs' too
        return 0
    return config.count("pretrained_model_name_or_path") and common + config.count(MICRO, ACCUMULATION)


def starts(launch: Launch) -> bool:
    """A script of one of the families, with a model or data."""
    flags = {argument.name.replace("-", "_") for argument in launch.arguments}
    return _family(launch) is not None and not flags.isdisjoint(_DATA) and flags.isdisjoint(_OTHERS)


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, on the processes that accelerate starts."""
    config = undashed(config)
    file = launch.accelerate
    deepspeed = trainer_deepspeed.Named(None, None)
    if file is not None and accelerate_launch.kind(file) == "DEEPSPEED":
        deepspeed = accelerate_launch.launch_deepspeed(file)
    world = _processes(launch)
    layout = Layout.of_world(world) if file is None else accelerate_launch.launch_layout(file, world, deepspeed.tensor)
    micro = _micro(config, launch)
    own = config.integer(ACCUMULATION, default=1)
    told = None if file is None else accelerate_launch.launch_accumulation(file)
    accumulation = own if told is None else told
    problems = [*_overruled(own, told), *_counted(micro, accumulation, layout)]
    if deepspeed.config is not None:
        problems.extend(trainer_deepspeed.mismatches(deepspeed.config, micro, accumulation, world))
    yield Batch(
        micro=micro,
        accumulation=accumulation,
        layout=layout,
        unit="pairs" if re.search(r"(?:^|_)(?:dpo|orpo)(?:_|$)", _name(launch)) else "images",
        problems=tuple(problems),
    )


def _name(launch: Launch) -> str:
    return (launch.program or "").rpartition("/")[2].removesuffix(".py")


def _family(launch: Launch) -> int | None:
    """The default of ``train_batch_size`` in the script's family."""
    name = _name(launch)
    return next((number for pattern, number in _DEFAULTS if pattern.fullmatch(name)), None)


def _micro(config: Config, launch: Launch) -> Term:
    family = _family(launch)
    if config.has(MICRO):
        micro = config.integer(MICRO)
    elif family is None:
        micro = unknown(f"{MICRO} is not set, and its default is the script's own", key=MICRO)
    else:
        micro = config.integer(MICRO, default=family)
    if config.flag("with_prior_preservation") and micro.known:
        return micro.because(f"{shown(micro.value)} images of the subject, each with one of its class beside it")
    return micro


def _processes(launch: Launch) -> Term:
    """The processes of accelerate: a script that plain python starts is a single one, whatever devices are visible."""
    own_devices = re.search(r"_(?:flax|xla)$", _name(launch)) is not None
    if launch.world_size.known or launch.launcher != "python" or own_devices:
        return launch.world_size
    return default(1, "processes").because("python starts one process, and accelerate uses one device in each")


def _overruled(own: Term, told: Term | None) -> Iterator[Problem]:
    if told is None or not told.known or not own.known or told.value == own.value:
        return
    yield Problem(
        "EB301",
        f"{ACCUMULATION} is {shown(own.value)} for the script, and accelerate tells DeepSpeed {shown(told.value)}, "
        f"which is what runs: the script's total batch and learning-rate schedule count {shown(own.value)}",
        (told, own),
        help=f'make the two equal, or write "auto" for {ACCUMULATION} in the DeepSpeed JSON',
    )


def _counted(micro: Term, accumulation: Term, layout: Layout) -> Iterator[Problem]:
    """Model-parallel ranks that the script's total batch counts as replicas."""
    model = layout.model_parallel
    logged = product(micro, accumulation, layout.world)
    seen = product(micro, accumulation, layout.replicas)
    if not (logged.known and seen.known) or logged.value == seen.value:
        return
    yield Problem(
        "EB303",
        f"the script logs a total batch of {shown(logged.value)}, which counts {shown(layout.world.value)} processes: "
        f"every {shown(model.value)} of them share their data, and a step sees {shown(seen.value)}",
        (layout.world, *(term for term in (layout.tensor, layout.context) if term.value != 1)),
        help=f"plan with {shown(seen.value)}, or raise {MICRO} or {ACCUMULATION}",
    )


FRAMEWORK = Framework(
    name="diffusers",
    formula="train_batch_size x gradient_accumulation_steps x processes",
    sources=(
        "huggingface/diffusers examples/text_to_image/train_text_to_image.py (total_batch_size)",
        "huggingface/accelerate src/accelerate/accelerator.py (_prepare_deepspeed)",
    ),
    recognise=recognise,
    read=read,
    starts=starts,
)
