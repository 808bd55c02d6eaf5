"""kohya's sd-scripts: batch_size of the data set x gradient_accumulation_steps x processes.

Upstream: kohya-ss/sd-scripts, library/config_util.py (the data-set file, whose ``batch_size`` comes before the argument),
library/train_util.py (read_config_from_file, which flattens the sections of an argument file; prepare_accelerator).
Its programs are known by their names: {model_}train_network.py, {model_}train.py, train_db.py, fine_tune.py, ...

Two kinds of TOML: the arguments (``--config_file``; the GUI saves the same names as JSON), and the data sets
(``--dataset_config``), whose batch is that of one step where they differ. A bucket's last batch is smaller, and the total
that the program logs is computed from the argument alone. Processes are accelerate's: no file states them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Batch, Layout, Problem
from effbatch_lint.compose.merge import override
from effbatch_lint.compose.spelling import respelled, underscored
from effbatch_lint.documents.nodes import Mapping
from effbatch_lint.frameworks.framework import Framework
from effbatch_lint.frameworks.parts.accelerate_launch import processes
from effbatch_lint.terms import Term, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

BATCH, ACCUMULATION, DATA = "train_batch_size", "gradient_accumulation_steps", "dataset_config"
_OWN = (
    "network_module", "network_dim", "network_alpha", "max_train_epochs", "bucket_reso_steps", "enable_bucket",
    "min_bucket_reso", "unet_lr", "text_encoder_lr", "clip_skip", "cache_latents", "save_model_as", "train_data_dir",
    "min_snr_gamma", "v_parameterization", DATA,
)  # fmt: skip


_ARGUMENTS = frozenset(
    ("config_file", DATA, BATCH, "pretrained_model_name_or_path", "network_module", "train_data_dir")
)
# Not among them: train_controlnet.py, which diffusers has too, and train_db.py and fine_tune.py, which anybody may have.
_PROGRAM = re.compile(
    r"(?:^|/)(?:(?:[a-z0-9]+_)*train_(?:network|control_net|control_net_lllite|textual_inversion|textual_inversion_XTI)"
    r"|(?:sdxl|sd3|flux|lumina|anima)_train)\.py$"
)


def recognise(config: Config) -> int:
    """Names of the training scripts, at the top or in sections; or data sets with subsets."""
    if _datasets(config):
        return 3
    config = _flattened(config)
    own = config.count(*_OWN)
    module = config.text("network_module") or ""
    named = module.startswith(("networks.", "lycoris."))  # a module of kohya's, or made for it
    if own < 2 - named or not config.count(BATCH, DATA, "pretrained_model_name_or_path"):  # diffusers has a few of them
        return 0
    return own + config.count(BATCH, ACCUMULATION, "pretrained_model_name_or_path")


def starts(launch: Launch) -> bool:
    """The training scripts by their names, with any of their arguments."""
    named = _PROGRAM.search(launch.program or "") is not None
    return named and any(argument.name in _ARGUMENTS for argument in launch.arguments)


def read(config: Config, launch: Launch) -> Iterator[Batch]:
    """One batch, of images."""
    world = launch.world_size
    if launch.accelerate is not None and not world.known:
        world = processes(launch.accelerate)
    if _datasets(config) and not config.has(DATA):
        accumulation = unknown(f"{ACCUMULATION} is an argument of the program, and not in this file", key=ACCUMULATION)
        yield _batch(_of_data(config) or config.integer(BATCH, default=1), accumulation, world)
        return
    arguments = _arguments(config)
    argument, data = arguments.integer(BATCH, default=1), config if _datasets(config) else arguments.companion(DATA)
    own = _of_data(data) if data is not None else None
    micro = own or argument
    if data is None and arguments.has(DATA):
        micro = unknown(f"{DATA} names a file that is not in the project, and may set the batch", key=BATCH)
    found = _batch(micro, arguments.integer(ACCUMULATION, default=1), world)
    yield found._replace(problems=tuple(_checks(arguments, argument, own, found.accumulation)))


def _batch(micro: Term, accumulation: Term, world: Term) -> Batch:
    return Batch(micro=micro, accumulation=accumulation, layout=Layout.of_world(world), unit="images")


def _datasets(config: Config) -> list[Mapping]:
    """The data sets of a data-set file; each has subsets."""
    found = [item for item in config.items("datasets") if isinstance(item, Mapping)]
    return found if found and all("subsets" in item.entries for item in found) else []


def _of_data(config: Config) -> Term | None:
    """The batch that the data sets set themselves; None where they leave it to the argument."""
    count = len(_datasets(config))
    sizes = [
        config.integer(f"datasets.{index}.batch_size", "general.batch_size")
        for index in range(count)
        if config.has(f"datasets.{index}.batch_size", "general.batch_size")
    ]
    if not sizes or any(not size.known for size in sizes):
        return sizes[0] if sizes else None
    if len(sizes) == count and len({size.value for size in sizes}) == 1:
        return sizes[0]
    listed = ", ".join(shown(size.value) for size in sizes)
    origins = tuple(origin for size in sizes for origin in size.origins)
    return unknown(
        f"the data sets have batches of their own ({listed}), and a step takes one of them", *origins, key=BATCH
    )


def _checks(arguments: Config, argument: Term, own: Term | None, accumulation: Term) -> Iterator[Problem]:
    if own is not None and own.known and argument.origins and own.value != argument.value:
        yield Problem(
            "EB305",
            f"{BATCH} {shown(argument.value)} has no effect: the data sets set batch_size {shown(own.value)}",
            (argument, own),
            help=f"remove {BATCH}, or the batch_size of the data sets",
        )
    if arguments.flag("fused_backward_pass") and (accumulation.value or 1) > 1:
        yield Problem(
            "EB304",
            f"fused_backward_pass needs {ACCUMULATION} 1, and it is {shown(accumulation.value)}",
            (accumulation, arguments.place("fused_backward_pass")),
            refuses=True,
            help=f"set {ACCUMULATION} to 1, or drop fused_backward_pass",
        )


def _arguments(config: Config) -> Config:
    """The arguments: those of a launch line that lie over a data-set file lie over the argument file, which it may name."""
    name = config.text("config_file") if _datasets(config) else None
    if name is None:
        return _flattened(config)
    whole = name if name.endswith(".toml") else f"{name}.toml"  # as read_config_from_file does
    file = config.over(override(config.root, f"config_file={whole}")).companion("config_file")
    if file is None:
        return _flattened(config).hiding(f"{whole}, which may set it, is not in the project")
    under = _flattened(file).root
    return config.over(respelled([under, _flattened(config).root], underscored))


def _flattened(config: Config) -> Config:
    """The arguments without their sections, which are for the reader only; a later one of a name counts."""
    entries = config.root.entries
    sections = [entry.value for entry in entries.values() if isinstance(entry.value, Mapping)]
    loose = {key: entry for key, entry in entries.items() if not isinstance(entry.value, Mapping)}
    return config.over(respelled([Mapping(loose, config.root.span), *sections], underscored))


FRAMEWORK = Framework(
    name="kohya",
    formula="batch_size x gradient_accumulation_steps x processes",
    sources=(
        "kohya-ss/sd-scripts library/config_util.py",
        "kohya-ss/sd-scripts library/train_util.py",
    ),
    recognise=recognise,
    read=read,
    starts=starts,
)
