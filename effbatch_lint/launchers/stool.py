"""lingua.stool: ``nodes`` x ``ngpu`` processes of one program, submitted to Slurm.

Upstream: facebookresearch/lingua lingua/stool.py (StoolArgs; the program is given the config file and no other word).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import written
from effbatch_lint.launchers import words
from effbatch_lint.terms import Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start

_GPUS = 8


def peel(start: Start) -> Start:
    """The program that stool submits."""
    told = {argument.name: argument for argument in words.arguments(start.words[1:])}
    nodes = unknown("lingua.stool starts only with nodes=N", key="nodes")
    if "nodes" in told:
        nodes = words.number(told["nodes"])
    default = Term(_GPUS, "default", (), "stool asks for 8 GPUs of each node", None, "ngpu")
    devices = words.number(told["ngpu"]) if "ngpu" in told else default
    script = told["script"].text if "script" in told else None
    config = [word for word in start.words[1:] if word.chars.startswith("config=")]
    world = product(nodes, devices)
    rest = (written("python"), written("-m"), written(script or "apps.main.train"), *config)
    return start.left(rest)._replace(
        launcher="stool", nodes=nodes, devices=devices, world_size=world, processes=world, options=tuple(told.values())
    )
