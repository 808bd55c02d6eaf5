"""Command lines of frameworks that start their own processes: ms-swift, LLaMA-Factory, torchtune, and the others.

Upstream: modelscope/ms-swift swift/cli/main.py (get_torchrun_args: NNODES and NPROC_PER_NODE become torchrun's
options; with neither, one process); hiyouga/LLaMA-Factory src/llamafactory/launcher.py (FORCE_TORCHRUN, NNODES,
NPROC_PER_NODE, else all devices); pytorch/torchtune torchtune/_cli/run.py (torchrun's options before the recipe).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launchers import accelerate, torchrun, words
from effbatch_lint.terms import ONE, Term, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.launch import Launch
    from effbatch_lint.launchers.start import Start

# Console scripts whose first word is a subcommand; the framework reads the devices out of its own configuration.
WITH_SUBCOMMAND = frozenset(("litgpt", "axolotl", "oumi", "llmtune", "nemo", "lightning", "dora"))
# Console scripts that train by themselves.
ALONE = frozenset(("rl", "sft", "orchestrator", "trainer"))
_TRAINING = frozenset((
    "sft", "pt", "rlhf", "train", "pretrain", "finetune", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo",
))  # fmt: skip


def swift(start: Start) -> Launch | None:
    """``swift sft`` and ``megatron sft``."""
    if len(start.words) < 2 or start.words[1].chars not in _TRAINING:  # noqa: PLR2004 - a subcommand
        return None
    nodes, devices = start.variable("NNODES"), start.variable("NPROC_PER_NODE")
    if nodes is None and devices is None:
        reason = "ms-swift starts one process without NPROC_PER_NODE, however many devices are visible"
        world = Term(1, "default", (), reason, None, "NPROC_PER_NODE")
        devices = world
    else:
        devices = devices or Term(1, "default", (), "torchrun's default", None, "NPROC_PER_NODE")
        world = product(nodes or ONE, devices)
    nodes = nodes or Term(1, "default", (), None, None, "NNODES")
    start = start._replace(launcher=start.name, nodes=nodes, devices=devices, world_size=world, processes=world)
    return start.launch(f"{start.name} {start.words[1].chars}", start.words[2:])


def llamafactory(start: Start) -> Launch | None:
    """``llamafactory-cli train``; the second generation (src/llamafactory/v1/launcher.py) has a command for each trainer."""
    command = start.words[1].chars if len(start.words) > 1 else ""
    if command not in ("train", "sft", "dpo", "rm"):
        return None
    forced = start.environment.get("FORCE_TORCHRUN")
    nodes, visible = start.variable("NNODES"), start.visible()
    devices = start.variable("NPROC_PER_NODE") or visible
    if visible is not None and visible.value == 1 and (forced is None or forced.chars.lower() in ("0", "false", "")):
        devices = visible  # one device and no FORCE_TORCHRUN: the program runs in this process
    devices = devices or unknown("LLaMA-Factory takes all devices of the machine: NPROC_PER_NODE is not set")
    nodes = nodes or Term(1, "default", (), None, None, "NNODES")
    world = product(nodes, devices)
    start = start._replace(launcher="llamafactory-cli", nodes=nodes, devices=devices, world_size=world, processes=world)
    return start.launch(f"llamafactory-cli {command}", start.words[2:])


def tune(start: Start) -> Launch | None:
    """``tune run``: torchrun's options, then a recipe with its own."""
    if len(start.words) < 3 or start.words[1].chars != "run":  # noqa: PLR2004 - "tune run RECIPE"
        return None
    if start.words[2].chars.startswith("-"):
        below = torchrun.peel(start.left(start.words[1:]))
        rest = below.words[1:]
        return below.launch(rest[0].display, rest[1:]) if rest else None
    start = start._replace(launcher="tune", nodes=ONE, devices=ONE, processes=ONE, world_size=ONE)
    return start.launch(start.words[2].display, start.words[3:])


def fairseq(start: Start) -> Launch:
    """``fairseq-train`` and ``fairseq-hydra-train``: a process per visible device, or as many as it is told."""
    own = {argument.name: argument for argument in words.arguments(start.words[1:])}
    world = start.visible() or unknown("fairseq takes all devices of the machine: distributed_world_size is not given")
    for name in ("distributed-world-size", "distributed_training.distributed_world_size"):
        if name in own:
            world = words.number(own[name])
    start = start._replace(launcher=start.name, world_size=world, processes=world)
    return start.launch(start.name, start.words[1:])


# What `trl` hands to accelerate launch: trl/cli/main.py.
_LAUNCH_FLAGS = frozenset((
    "accelerate-config", "config-file", "num-processes", "num-machines", "machine-rank", "main-process-ip",
    "main-process-port", "gpu-ids", "mixed-precision",
))  # fmt: skip
# trl/accelerate_configs: 8 processes on one machine, but for single_gpu, whose distributed_type NO is one process.
_TRL_CONFIGS = {"single_gpu": 1} | dict.fromkeys(("fsdp1", "fsdp2", "multi_gpu", "zero1", "zero2", "zero3"), 8)


def trl(start: Start) -> Launch | Start | None:
    """``trl sft``: accelerate's flags among the program's; ``--accelerate_config`` names a file or one of trl's own."""
    if len(start.words) < 2 or start.words[1].chars not in _TRAINING:  # noqa: PLR2004 - a subcommand
        return None
    launch: list[Text] = []
    rest: list[Text] = []
    at = 2
    while at < len(start.words):
        word = start.words[at]
        name = word.chars.partition("=")[0].lstrip("-").replace("_", "-")
        width = 1 if "=" in word.chars else 2
        if word.chars.startswith("--") and name in _LAUNCH_FLAGS:
            launch.extend(start.words[at : at + width])
            at += width
        else:
            rest.append(word)
            at += 1
    found = words.options(launch)
    preset = found.values.get("accelerate-config")
    if preset is None or preset.chars not in _TRL_CONFIGS:
        renamed = [written("--config_file") if word.chars == "--accelerate_config" else word for word in launch]
        below = accelerate.peel(start.left([*renamed, *start.words[:1]]))
    else:
        below = accelerate.peel(start.left([*launch, *start.words[:1]]))
        if found.term("num-processes") is None:
            count = _TRL_CONFIGS[preset.chars]
            where = words.origins(preset, "--accelerate_config")
            world = Term(count, "default", where, f"trl's {preset.chars} config", None, "num_processes")
            below = below._replace(nodes=ONE, devices=world, world_size=world, processes=world)
    return below.launch(f"trl {start.words[1].chars}", rest)


def other(start: Start) -> Launch | None:
    """A framework's console script: its subcommand belongs to the program's name."""
    name = start.name
    if name in ALONE:
        return start.launch(name, start.words[1:], launcher=name)
    if len(start.words) < 2:  # noqa: PLR2004 - a subcommand
        return None
    return _with_launcher_words(start, f"{name} {start.words[1].display}")


def _with_launcher_words(start: Start, program: str) -> Launch:
    """Axolotl hands what stands behind ``--`` to its launcher (``--launcher torchrun -- --nproc_per_node=8``), and
    ``--num-processes`` to accelerate (axolotl/cli/launchers/accelerate.py)."""
    rest = start.words[2:]
    at = next((index for index, word in enumerate(rest) if word.chars == "--"), len(rest))
    own, behind = rest[:at], rest[at + 1 :]
    found = words.options(behind)
    told = {argument.name.replace("_", "-"): argument for argument in words.arguments(own) if argument.dashes == "--"}
    count = told.get("num-processes") if start.name == "axolotl" else None
    if count is not None and told.get("launcher") is not None and told["launcher"].text != "accelerate":
        count = None
    devices = found.term("nproc-per-node") or found.term("num-processes") or (count and words.number(count))
    if devices is None and start.name == "axolotl" and "config-file" in found.values:
        return accelerate.peel(start.left([*behind, *start.words[:1]])).launch(program, own)
    nodes = found.term("nnodes", "num-machines") or Term(1, "default", (), None, None, "--nnodes")
    if devices is None:
        return start.launch(program, own, launcher=start.name)
    world = product(nodes, devices) if "nproc-per-node" in found.values else devices
    start = start._replace(nodes=nodes, devices=devices, world_size=world, processes=world, options=found.arguments())
    return start.launch(program, own, launcher=start.name)
