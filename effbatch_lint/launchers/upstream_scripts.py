"""Launch scripts that frameworks ship and users call by name, when the project does not hold them.

timm distributed_train.sh: ``torchrun --nproc_per_node=$1 train.py`` with the other arguments; its
legacy_distributed_train.sh starts legacy_train.py. torchtitan run_train.sh (earlier run_llama_train.sh): ``torchrun
--nproc_per_node=$NGPU``, NGPU 8 by default, the config file in CONFIG_FILE. Megatron-LM
examples/academic_paper_scripts/sc21/CONFIG.sh, SBATCH.sh, SRUN.sh: scripts that set TP, PP, MBS, GBS, ... and source these;
a task per device, 8 on each of NNODES nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.command import Command
from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launchers import words
from effbatch_lint.launchers.start import Job, Start
from effbatch_lint.terms import ONE, Term, product, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from effbatch_lint.launch import Launch

_TIMM = {"distributed_train.sh": "train.py", "legacy_distributed_train.sh": "legacy_train.py"}
_TITAN = frozenset(("run_train.sh", "run_llama_train.sh"))
_TITAN_WORDS = ("--training.", "--parallelism.", "--job.", "--model.", "--module", "--config")

# Variables of Megatron-LM's sc21 scripts, and the flags that their CONFIG.sh makes of them.
_SC21 = {
    "TP": "--tensor-model-parallel-size", "PP": "--pipeline-model-parallel-size", "MBS": "--micro-batch-size",
    "GBS": "--global-batch-size", "NLS": "--num-layers", "HS": "--hidden-size", "NAH": "--num-attention-heads",
}  # fmt: skip
_SC21_FIXED = ("--seq-length", "2048", "--max-position-embeddings", "2048", "--train-iters", "500")


def sourced(job: Job, variables: Mapping[str, Text]) -> Launch | None:
    """The launch of a script that hands its variables to upstream's own scripts, which the project does not hold."""
    if not {*_SC21, "NNODES", "DDP", "MEGATRON_EXTRA_PARAMS"} <= variables.keys():
        return None
    nodes = words.term(variables["NNODES"], "NNODES")
    devices = Term(8, "default", (), "a task per device in upstream's SRUN.sh", None, "--ntasks-per-node")
    command = Command((), {}, variables["NNODES"].place() or job.source.span(), job.source.path)
    world = product(nodes, devices)
    start = Start((), command, job, {}, "srun", world, nodes, devices, world)
    flags = [word for name, flag in _SC21.items() for word in (written(flag), variables[name])]
    return start.launch("pretrain_gpt.py", [*flags, *map(written, _SC21_FIXED)])


def launch(start: Start, rest: Sequence[Text]) -> Launch | None:
    """The launch of a script that is not in the project: as its framework wrote it, or by its words alone."""
    name = rest[0].display.rpartition("/")[2]
    if name in _TIMM and len(rest) > 1:
        devices = words.term(rest[1], name)
        return _torchrun(start, devices).launch(_TIMM[name], rest[2:])
    if name in _TITAN and _of_titan(start, rest):
        devices = start.variable("NGPU") or Term(8, "default", (), "run_train.sh's own default", None, "NGPU")
        return _torchrun(start, devices).launch("torchtitan.train", [*_titan_config(start), *rest[1:]])
    if start.launcher is None and not any(word.chars.startswith("--") or "=" in word.chars for word in rest[1:]):
        return None
    why = f"{rest[0].display}, which starts the program, is not in the project"
    start = start._replace(world_size=start.world_size or unknown(why, *words.origins(rest[0], "script")))
    return start.launch(rest[0].display, rest[1:], launcher="bash")


def _torchrun(start: Start, devices: Term) -> Start:
    return start._replace(launcher="torchrun", nodes=ONE, devices=devices, world_size=devices, processes=devices)


def _of_titan(start: Start, rest: Sequence[Text]) -> bool:
    named = any(name in start.environment for name in ("NGPU", "CONFIG_FILE", "MODULE"))
    return named or any(word.chars.startswith(_TITAN_WORDS) for word in rest[1:])


def _titan_config(start: Start) -> list[Text]:
    flags = (("CONFIG_FILE", "--job.config_file"), ("MODULE", "--module"), ("CONFIG", "--config"))
    return [
        word for name, flag in flags if name in start.environment for word in (written(flag), start.environment[name])
    ]
