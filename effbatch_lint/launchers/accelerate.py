"""accelerate launch: ``--num_processes`` is the total; the config file says what the flags leave out.

Upstream: huggingface/accelerate src/accelerate/commands/launch.py (launch_command_parser, _validate_launch_command),
utils/launch.py (prepare_multi_gpu_env: processes per node = num_processes // num_machines, rounded down). Without a
config file and without the flag, the user's own default file or the machine decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Config, Unresolved
from effbatch_lint.compose.merge import layered
from effbatch_lint.documents.nodes import Computed, Entry, Mapping, Node, Scalar
from effbatch_lint.documents.shell.text import Text, written
from effbatch_lint.launchers import words
from effbatch_lint.launchers.written import find
from effbatch_lint.source import Unreadable
from effbatch_lint.terms import ONE, Term, floor, product, unknown

if TYPE_CHECKING:
    from effbatch_lint.launchers.start import Start

SWITCHES = frozenset((
    "quiet", "q", "cpu", "multi-gpu", "tpu", "enable-cpu-affinity", "dynamo-use-fullgraph", "dynamo-use-dynamic",
    "dynamo-use-regional-compilation", "use-deepspeed", "use-fsdp", "use-parallelism-config", "use-megatron-lm",
    "same-network", "m", "module", "no-python", "tpu-cluster", "no-tpu-cluster", "tpu-use-sudo", "downcast-bf16",
    "debug", "fp8-use-autocast-during-eval", "help", "h", "use-xpu", "ipex", "use-mps-device",
))  # fmt: skip
# What a switch makes of distributed_type, whatever the file says (launch_command).
_KINDS = {
    "use-deepspeed": "DEEPSPEED", "use-fsdp": "FSDP", "use-megatron-lm": "MEGATRON_LM", "multi-gpu": "MULTI_GPU",
}  # fmt: skip
_DISTRIBUTED = frozenset(("multi-gpu", "use-deepspeed", "use-fsdp", "use-megatron-lm", "tpu"))
# Where the config file keeps what the command line writes flat.
_DEEPSPEED = frozenset((
    "deepspeed_config_file", "zero_stage", "offload_optimizer_device", "offload_param_device",
    "gradient_accumulation_steps", "gradient_clipping", "zero3_init_flag", "zero3_save_16bit_model",
    "deepspeed_hostfile", "deepspeed_inclusion_filter", "deepspeed_exclusion_filter", "deepspeed_multinode_launcher",
))  # fmt: skip
_SECTIONS = (
    ("fsdp_", "fsdp_config"), ("megatron_lm_", "megatron_lm_config"), ("parallelism_config_", "parallelism_config"),
)  # fmt: skip


def peel(start: Start) -> Start:
    """The program below accelerate launch."""
    found = words.options(start.words, SWITCHES)
    start = start._replace(hidden=found.hidden)
    config = _config(start, found)
    processes = _number(config, "num_processes") or _absent(start, found)
    machines = _number(config, "num_machines") or start.default(1, "--num_machines")
    if processes.value is not None and processes.value < 0:
        processes = unknown("num_processes is -1: it must be given on the command line", *processes.origins)
    if config.text("distributed_type") == "NO" and not found.switches & _DISTRIBUTED:
        # The simple launcher starts one process, whatever num_processes says.
        where = config.origin("distributed_type")
        processes = Term(
            1, "derived", (where,) if where else (), "distributed_type NO is one process", None, "num_processes"
        )
        machines = ONE
    devices = floor(processes, machines) if machines.value != 1 else processes
    rest = found.rest
    if rest and "no-python" not in found.switches:
        prefix = (written("python"), written("-m")) if found.switches & {"m", "module"} else (written("python"),)
        rest = (*prefix, *rest)
    world = processes if devices is processes else product(machines, devices)
    return start.left(rest)._replace(
        launcher="accelerate", nodes=machines, devices=devices, world_size=world, processes=world,
        options=found.arguments(), accelerate=config,
    )  # fmt: skip


def _number(config: Config, key: str) -> Term | None:
    return config.integer(key) if config.has(key) else None


def _absent(start: Start, found: words.Options) -> Term:
    if start.hidden is not None:
        return start.default(1, "--num_processes")
    ids = found.values.get("gpu-ids")
    if "config-file" in found.values:
        name = found.values["config-file"]
        reason = f"num_processes is not given, and the accelerate file {name.display} is not in the project"
        return unknown(reason, *words.origins(name, "--config_file"), key="num_processes")
    if ids is not None and ids.known and ids.chars != "all":
        count = len(ids.chars.split(","))
        return Term(
            count, "derived", words.origins(ids, "--gpu_ids"), f"{count} devices in --gpu_ids", None, "--gpu_ids"
        )
    return start.visible() or unknown(
        "--num_processes is not given: the user's own accelerate file or the machine decides", key="num_processes"
    )


def _config(start: Start, found: words.Options) -> Config:
    """The accelerate file with the launcher's flags on top, in the file's own layout."""
    roots: list[Mapping] = []
    path, files = start.job.source.path, [start.job.source.path]
    name = found.values.get("config-file")
    if name is not None:
        try:
            document = find(
                name,
                start.job.files,
                start.command.files,
                script=start.job.source,
                directory=start.command.directory,
            )
        except Unreadable:
            document = None  # whoever reads the file by itself reports it
        if document is not None and document.mappings:
            roots.append(document.mappings[0])
            path = document.source.path
            files = list(dict.fromkeys((path, *files)))
    roots.append(_flags(found))
    return Config(layered(roots), path, "pyyaml", files=files)


def _flags(found: words.Options) -> Mapping:
    sections: dict[str, dict[str, Entry]] = {"": {}}
    for name, value in found.values.items():
        key = name.replace("-", "_")
        section = "deepspeed_config" if key in _DEEPSPEED else ""
        for prefix, held in _SECTIONS:
            section = held if key.startswith(prefix) else section
        place = value.place()
        sections.setdefault(section, {})[key] = Entry(key, place, _scalar(value), note=value.note)
    entries: dict[str, Entry] = sections.pop("")
    kind = next((kind for switch, kind in _KINDS.items() if switch in found.switches), None)
    if kind is not None:
        entries["distributed_type"] = Entry("distributed_type", None, Scalar(kind, None), note="accelerate's flags")
    for key, held_entries in sections.items():
        entries[key] = Entry(key, None, Mapping(held_entries, None))
    return Mapping(entries, None)


def _scalar(value: Text) -> Node:
    if value.known:
        place = value.place()
        further = tuple(span for span in value.spans if span != place)
        return Computed(value.chars, place, further) if further else Scalar(value.chars, place)
    return Scalar(value.display, value.place(), value=Unresolved(f"{value.display}: {value.reason}"))
