"""What an accelerate launch file settles: how many processes start, how they are divided, what DeepSpeed is told.

Upstream: huggingface/accelerate, src/accelerate/commands/launch.py (_validate_launch_command, launch_command),
utils/launch.py (prepare_multi_gpu_env, prepare_extend_env_parallelism_config), utils/dataclasses.py
(DeepSpeedPlugin.__post_init__, MegatronLMPlugin), 1.15.0.

    replicas = num_processes / (tp x cp x sp)        Megatron-LM: num_processes / (tp x pp)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from effbatch_lint.batch import Layout, Problem
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION
from effbatch_lint.frameworks.parts.parallelism_config import degrees, refusal
from effbatch_lint.frameworks.parts.trainer.deepspeed import Named, named
from effbatch_lint.terms import Origin, Term, default, near, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.documents.nodes import Entry

DEEPSPEED_FILE = "deepspeed_config.deepspeed_config_file"

# DeepSpeedPlugin._deepspeed_config_checks. mixed_precision is on its list too, and left out: it is no part of a batch,
# and --mixed_precision on the command line lifts it.
_NOT_BESIDE_A_FILE = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device", "offload_param_device",
    "offload_param_nvme_path", "offload_optimizer_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip


def kind(config: Config) -> str:
    """``distributed_type``; an unquoted NO is a YAML boolean and means the same."""
    value = config.value("distributed_type")
    return "NO" if value is False else str(value).upper()


def processes(config: Config) -> Term:
    """The processes that the launcher starts, over all machines.

    ``num_processes`` is the total, and each machine starts ``num_processes // num_machines``; with distributed_type NO
    there is one process, whatever the number says.
    """
    if kind(config) == "NO":
        return Term(1, "derived", _origins(config, "distributed_type"), "one process: distributed_type is NO")
    total = config.integer("num_processes")
    if total.value == -1 or not config.has("num_processes"):
        state = "not set" if total.value is None else "-1"
        return unknown(
            f"num_processes is {state}: accelerate wants it on the command line", *total.origins, key=total.key
        )
    machines = config.integer("num_machines", default=1)
    if not total.value or not machines.value or total.value % machines.value == 0:
        return total
    per_machine = total.value // machines.value
    started = product(Term(per_machine, "derived", total.origins), machines)
    return started.because(f"{shown(machines.value)} machines x {shown(per_machine)}").named("num_processes")


def launch_problems(config: Config) -> Iterator[Problem]:
    """What happens to ``num_processes`` without a word from accelerate."""
    total = config.integer("num_processes")
    if not total.value or total.value <= 1:
        return
    if kind(config) == "NO":
        yield Problem(
            "EB305",
            f"num_processes {shown(total.value)} has no effect: distributed_type is NO, and one process starts",
            (total, Term(None, "read", _origins(config, "distributed_type"), key="distributed_type")),
            help="set distributed_type to MULTI_GPU, or num_processes to 1",
        )
    else:
        yield from left_over(config)


def left_over(config: Config) -> Iterator[Problem]:
    """Processes that the machines do not divide: the rest is not started."""
    total, machines = config.integer("num_processes"), config.integer("num_machines", default=1)
    if total.value and machines.value and total.value > machines.value and total.value % machines.value:
        yield Problem(
            "EB303",
            f"num_processes {shown(total.value)} is for {shown(machines.value)} machines together, and no multiple of "
            f"{shown(machines.value)}: accelerate starts {shown(processes(config).value)} processes",
            (total, machines),
            help=f"set num_processes to {near(total.value, machines.value)}",
        )


def refusals(config: Config) -> Iterator[Problem]:
    """What accelerate stops at, of a launch file and the flags over it."""
    if kind(config) == "DEEPSPEED" and config.has(DEEPSPEED_FILE):
        yield from _beside_the_json(config)
    elif kind(config).startswith("MULTI_") and kind(config) != "MULTI_CPU":
        yield from _one_device(config)


def _beside_the_json(config: Config) -> Iterator[Problem]:
    """Keys of the file that the JSON has to hold; the same as flags pass unseen."""
    for key in _NOT_BESIDE_A_FILE:
        entry = config.entry(f"deepspeed_config.{key}")
        if entry is not None and any(_in_file(each, config.path) for each in (entry, *entry.previous)):
            yield Problem(
                "EB304",
                f"deepspeed_config.{key} stands beside deepspeed_config_file, and accelerate refuses it there",
                (Term(None, "read", _origins(config, f"deepspeed_config.{key}"), key=key),),
                refuses=True,
                help=f"remove it: {config.text(DEEPSPEED_FILE)} says it",
            )
            return


def _in_file(entry: Entry, path: str) -> bool:
    """Whether a key of the file says it: a flag of the launch line, in a script or a manifest, is one place with its value."""
    span = entry.value.span
    return entry.note is None and span is not None and span.path == path and span != entry.span


def _one_device(config: Config) -> Iterator[Problem]:
    """MULTI_GPU on one machine with a single id (_validate_launch_command); several machines may have one each."""
    ids, machines = config.text("gpu_ids"), config.integer("num_machines", default=1)
    chosen = config.entry("distributed_type")
    if chosen is None or not _in_file(chosen, config.path) or machines.value is None or machines.value > 1:
        return
    if ids is not None and ids != "all" and "," not in ids:
        yield Problem(
            "EB304",
            f"gpu_ids is {ids}, a single device, and distributed_type is {kind(config)}",
            (config.place("gpu_ids"),),
            refuses=True,
            help='gpu_ids: all, or several: "0,1"; for one device distributed_type: "NO"',
        )


def other_world(config: Config, declared: tuple[Term, ...]) -> Iterator[Problem]:
    """None of the declared world sizes is what the file starts: one of the two is stale, and accelerate does not know."""
    stated = processes(config)
    if not stated.known or not all(size.known for size in declared):
        return
    if declared and all(size.value != stated.value for size in declared):
        sizes = " or ".join(shown(size.value) for size in declared)
        started = f"{shown(stated.value)} {'process' if stated.value == 1 else 'processes'}"
        yield Problem(
            "EB203",
            f"world-size {sizes} is declared, and accelerate's file starts {started}",
            (stated, declared[0]),
            help=f"set num_processes to {sizes}, or declare world-size={stated.value}",
        )


def launch_layout(config: Config, world: Term, tensor: Term | None = None, sequence: Term | None = None) -> Layout:
    """The replicas on ``world`` processes, and what accelerate refuses about them.

    Args:
        config: the launch file.
        world: processes over all machines.
        tensor: the degree of DeepSpeed's AutoTP, which stands in place of ``tp_size``.
        sequence: the DeepSpeed JSON's ``sequence_parallel_size``, where the launch file has no degree of its own.
    """
    if kind(config) == "MEGATRON_LM":
        return Layout.of_world(
            world,
            tensor=config.integer("megatron_lm_config.megatron_lm_tp_degree", default=1),
            pipeline=config.integer("megatron_lm_config.megatron_lm_pp_degree", default=1),
        )
    sizes = degrees(config)
    layout = Layout.of_world(
        world,
        tensor=sizes.tensor if tensor is None else tensor,
        context=sizes.split if sequence is None or sizes.split.value != 1 else sequence,
    )
    if not config.count("parallelism_config"):
        return layout
    refused = refusal(sizes, world, kind(config), config.text("fsdp_config.fsdp_version"))
    return layout if refused is None else layout._replace(problems=(refused,))


def launch_deepspeed(config: Config) -> Named:
    """The DeepSpeed JSON that the launch file names."""
    return named(config, DEEPSPEED_FILE)


def launch_accumulation(config: Config) -> Term | None:
    """The accumulation that the launch file hands to DeepSpeed; None where that is left to the script.

    In a JSON a missing key becomes 1; without a JSON the launch file's own key counts.
    """
    if kind(config) != "DEEPSPEED":
        return None
    if not config.has(DEEPSPEED_FILE):
        return deepspeed_json.stated(config, f"deepspeed_config.{ACCUMULATION}")
    json = launch_deepspeed(config).config
    if json is None:
        reason = f"{config.text(DEEPSPEED_FILE)} is not in the project, and the accumulation stands there"
        return unknown(reason, *_origins(config, DEEPSPEED_FILE), key=ACCUMULATION)
    if not json.has(ACCUMULATION):
        return default(1, ACCUMULATION).because("1: accelerate adds the key where the DeepSpeed JSON has none")
    return deepspeed_json.stated(json, ACCUMULATION)


def _origins(config: Config, key: str) -> tuple[Origin, ...]:
    origin = config.origin(key)
    return () if origin is None else (origin,)
