"""mcli run files: the config stands under ``parameters``, and ``compute`` says on how many GPUs it runs.

Source: mosaicml/llm-foundry mcli/*.yaml, mosaicml/examples mcli-yamls (``parameters`` is mounted as the file that
train.py reads, so that it is the root of its own references).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.merge import environment, layered
from effbatch_lint.documents.nodes import Mapping

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch
    from effbatch_lint.terms import Term

_RUN = ("command", "image", "compute", "integrations", "gpu_num", "gpus")


def unwrapped(config: Config) -> Config:
    """The config under ``parameters``, flags of the launch line on top; any other config as it is."""
    parameters = config.node("parameters")
    if not isinstance(parameters, Mapping) or not config.count(*_RUN):
        return config
    flags = {key: entry for key, entry in config.root.entries.items() if key in parameters.entries and key != "name"}
    root = layered([parameters, Mapping(flags, None)]) if flags else parameters
    if config.dialect != "omegaconf":
        return config.over(root)
    from effbatch_lint.compose.interpolation import Interpolations  # noqa: PLC0415 - only mcli files have a root of their own
    from effbatch_lint.compose.view import config_of  # noqa: PLC0415 - as above

    interpolations = Interpolations(root, environment=environment(config.overrides))
    return config_of(interpolations, config.path, files=config.files, overrides=config.overrides, unseen=config.unseen)


def world_size(config: Config, launch: Launch) -> Term:
    """The devices that are started: as launched, else as mcli is told."""
    if launch.world_size.known:
        return launch.world_size
    gpus = config.integer("compute.gpus", "gpu_num", "gpus")
    return gpus.named("compute.gpus") if gpus.known and config.node("parameters") is not None else launch.world_size
