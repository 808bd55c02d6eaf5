"""python: one process, or a launcher that is a module.

How many devices one process uses is the program's business (Lightning, JAX and Ray programs start their own workers,
HF Trainer wraps the model in DataParallel): only a single visible device says it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import written
from effbatch_lint.launchers import accelerate, composer, deepspeed, ray, stool, torchrun, words
from effbatch_lint.terms import ONE, Term, product, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.launch import Launch
    from effbatch_lint.launchers.start import Start

_VALUED = frozenset(("-X", "-W", "--check-hash-based-pycs"))
_ONE_PROCESS = "python starts one process; on how many devices it trains, the program decides"


def is_python(name: str) -> bool:
    """Whether a word names a Python interpreter."""
    return re.fullmatch(r"python[0-9.]*|\$\{?PYTHON\w*\}?|\$\{?PY\}?|ipython3?|pypy3?", name) is not None


def peel(start: Start) -> Start | Launch | None:
    """The launcher that python runs as a module, or the launch of the program; None for ``-c`` and standard input."""
    at = 1
    module = False
    while at < len(start.words) and start.words[at].chars.startswith("-"):
        chars = start.words[at].chars
        if chars in ("-c", "-"):
            return None
        at += 2 if chars in _VALUED else 1
        if re.fullmatch("-[a-zA-Z]*m", chars):
            module = True
            break
    rest = start.words[at:]
    if not rest:
        return None
    name = rest[0].display
    if module:
        launcher = _launcher(start.left(rest), name)
        if launcher is not None:
            return launcher
    elif name.rpartition("/")[2] in ("torchrun", "deepspeed", "accelerate", "composer"):
        return start.left(rest)  # `python $(which deepspeed)`
    elif name.rpartition("/")[2] == "deepy.py" and len(rest) > 1:
        # gpt-neox's own launcher: the program follows, and its config files say what deepspeed is told.
        visible = start.visible()
        world = visible or unknown("the hostfile and the number of devices are stated in gpt-neox's own config files")
        return start._replace(launcher="deepy", devices=visible, world_size=world).launch(rest[1].display, rest[2:])
    elif name.rpartition("/")[2] == "xla_spawn.py":
        return _xla_spawn(start, rest)
    return _launch(start, name, rest)


def _xla_spawn(start: Start, rest: Sequence[Text]) -> Start | None:
    """The launcher of transformers for TPUs: a process per core (examples/pytorch/xla_spawn.py)."""
    found = words.options(rest[1:])
    cores = found.term("num-cores") or Term(1, "default", (), "xla_spawn's default", None, "--num_cores")
    if not found.rest:
        return None
    return start.left((written("python"), *found.rest))._replace(
        launcher="xla_spawn", nodes=ONE, devices=cores, world_size=cores, processes=cores, options=found.arguments()
    )


def _launcher(start: Start, module: str) -> Start | None:
    match module:
        case "torch.distributed.run" | "torch.distributed.launch" | "torch.distributed.launcher":
            return torchrun.peel(start)
        case "accelerate.commands.launch":
            return accelerate.peel(start.left(start.words[1:]))
        case "accelerate.commands.accelerate_cli" if len(start.words) > 1 and start.words[1].chars == "launch":
            return accelerate.peel(start.left(start.words[2:]))
        case "deepspeed.launcher.runner" | "deepspeed":
            return deepspeed.peel(start)
        case "composer.cli.launcher" | "composer":
            return composer.peel(start)
        case "lingua.stool":
            return stool.peel(start)
        case "determined.launch.torch_distributed" | "determined.launch.deepspeed":
            # Determined starts a process per slot; the manifest says how many.
            return start.left(_after_launcher(start))
        case "torch_xla.distributed.xla_dist":
            after = next((index for index, word in enumerate(start.words) if word.chars == "--"), len(start.words))
            world = unknown(
                "xla_dist starts the program on all hosts of the TPU, and nothing here states their devices"
            )
            return start.left(start.words[after + 1 :])._replace(launcher="xla_dist", world_size=world, processes=world)
        case "coverage" | "debugpy" | "cProfile" | "pdb" | "memory_profiler" | "scalene":
            return under(start)
    return None


def under(start: Start) -> Start | None:
    """The program under a profiler or a debugger (``coverage run --source=pkg train.py``); None without one."""
    for at, word in enumerate(start.words):
        if at and (word.chars == "-m" or word.chars.endswith(".py")):
            return start.left((written("python"), *start.words[at:]))
    return None


def _after_launcher(start: Start) -> tuple:  # type: ignore[type-arg] # of Text
    rest = start.words[1:]
    return rest[1:] if rest and rest[0].chars == "--" else rest


def _launch(start: Start, program: str, rest: tuple) -> Launch:  # type: ignore[type-arg] # of Text
    if start.launcher is None or start.launcher == "ray":
        own = ray.own_words(words.arguments(rest[1:]))
        if own is not None:
            nodes, devices = own
            start = start._replace(nodes=nodes, devices=devices, world_size=product(nodes, devices))
        elif start.launcher is None:
            start = _alone(start)
    return start.launch(program, rest[1:], launcher="python")


def _alone(start: Start) -> Start:
    """One process: on one device when only one is visible."""
    visible = start.visible()
    if start.hidden is not None:
        reason = f"the launcher is in {start.hidden.display}: {start.hidden.reason}"
        return start._replace(world_size=unknown(reason, *words.origins(start.hidden, "launcher")))
    world: Term = visible if visible is not None and visible.value == 1 else unknown(_ONE_PROCESS)
    return start._replace(nodes=ONE, devices=visible, processes=ONE, world_size=world)
