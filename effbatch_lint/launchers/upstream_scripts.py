"""Launch scripts that frameworks ship and users call by name, when the project does not hold them.

timm distributed_train.sh: ``torchrun --nproc_per_node=$1 train.py`` with the other arguments. torchtitan run_train.sh
(earlier run_llama_train.sh): ``torchrun --nproc_per_node=$NGPU``, NGPU 8 by default, the config file in CONFIG_FILE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launchers import words
from effbatch_lint.terms import ONE, Term, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.launch import Launch
    from effbatch_lint.launchers.start import Start

_TITAN = frozenset(("run_train.sh", "run_llama_train.sh"))
_TITAN_WORDS = ("--training.", "--parallelism.", "--job.", "--model.", "--module", "--config")


def launch(start: Start, rest: Sequence[Text]) -> Launch | None:
    """The launch of a script that is not in the project: as its framework wrote it, or by its words alone."""
    name = rest[0].display.rpartition("/")[2]
    if name == "distributed_train.sh" and len(rest) > 1:
        devices = words.term(rest[1], "distributed_train.sh")
        return _torchrun(start, devices).launch("train.py", rest[2:])
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
