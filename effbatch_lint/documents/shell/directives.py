"""What a job script asks its scheduler for: ``#SBATCH``, ``#PBS``, ``#$`` and ``#BSUB`` lines.

Slurm reads them literally (variables are not expanded) and only before the first command. They say how many nodes
and devices the job has, and Slurm hands some of that on as variables.

Sources: slurm doc/man/man1/sbatch.1 (OUTPUT ENVIRONMENT VARIABLES); pbs_resources(7B); qsub(1) of Grid Engine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.shell import words
from effbatch_lint.documents.shell.said import set_when_running
from effbatch_lint.documents.shell.text import Text, unknowable, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHORT = {
    "N": "nodes", "n": "ntasks", "G": "gpus", "c": "cpus-per-task", "J": "job-name", "p": "partition", "a": "array",
    "w": "nodelist", "t": "time", "o": "output", "e": "error", "A": "account", "q": "qos", "D": "chdir",
}  # fmt: skip
# Short options of sbatch and srun that take no value.
SWITCHES = frozenset("HOskQhvluEXZVb")


class Directives(NamedTuple):
    """The options that a script states for its scheduler, by long name.

    Attributes:
        scheduler: ``slurm``, ``pbs``, ``grid-engine``, ``lsf``; None without any.
        options: name -> value as written; an empty text for a switch.
        late: Slurm lines after the first command, which Slurm does not read.
    """

    scheduler: str | None = None
    options: Mapping[str, Text] = {}
    late: tuple[Text, ...] = ()


def read(script: Text) -> Directives:
    """The directives of a script."""
    options: dict[str, Text] = {}
    late: list[Text] = []
    scheduler: str | None = None
    started = False
    for line in script.split("\n"):
        chars = line.chars
        if chars.strip() and not chars.lstrip().startswith("#"):
            started = True
        if not chars.startswith(("#SBATCH", "#PBS", "#$", "#BSUB")):
            continue
        mark = chars.split(None, 1)[0]
        if started and mark == "#SBATCH":
            late.append(line)
            continue
        scheduler = {"#SBATCH": "slurm", "#PBS": "pbs", "#$": "grid-engine", "#BSUB": "lsf"}.get(mark, scheduler)
        found = slurm_options if scheduler == "slurm" else _others
        options.update(found(words.split(line.slice(len(mark)))))
    return Directives(scheduler, options, tuple(late))


def slurm_options(raw: list[Text]) -> Iterator[tuple[str, Text]]:
    """Slurm's options by long name: ``--nodes=2``, ``--nodes 2``, ``-N2``, ``-N 2``."""
    for name, value, _ in slurm_parsed(raw):
        yield name, value


def slurm_parsed(raw: list[Text]) -> Iterator[tuple[str, Text, int]]:
    """The options, each with the number of words read so far; ends at the first word that is no option."""
    at = 0
    while at < len(raw):
        word = raw[at]
        chars = word.chars
        at += 1
        if chars.startswith("--") and len(chars) > 2:  # noqa: PLR2004 - more than the dashes
            name, equals, _ = chars[2:].partition("=")
            if equals:
                yield name, _unquoted(word.slice(len(name) + 3)), at
            elif at < len(raw) and name not in _LONG_SWITCHES and not raw[at].chars.startswith("-"):
                at += 1
                yield name, _unquoted(raw[at - 1]), at
            else:
                yield name, Text(), at
        elif re.match("-[A-Za-z]", chars):
            name = SHORT.get(chars[1], chars[1])
            if chars[1] in SWITCHES:
                yield name, Text(), at
            elif len(chars) > 2:  # noqa: PLR2004 - "-N2"
                yield name, _unquoted(word.slice(3 if chars[2] == "=" else 2)), at
            elif at < len(raw):
                at += 1
                yield name, _unquoted(raw[at - 1]), at
        else:
            return


# Long options of sbatch and srun that take no value, or one only after "=".
_LONG_SWITCHES = frozenset((
    "exclusive", "overcommit", "oversubscribe", "hold", "requeue", "no-requeue", "parsable", "wait", "test-only",
    "verbose", "quiet", "label", "unbuffered", "exact", "overlap", "pty", "preserve-env", "no-kill", "kill-on-bad-exit",
    "disable-status", "multi-prog", "contiguous", "spread-job", "use-min-nodes", "export-file", "get-user-env",
    "immediate", "propagate", "container-writable", "no-container-mount-home", "container-mount-home", "reboot",
    "no-container-remap-root", "container-remap-root", "no-container-entrypoint", "ignore-pbs", "interactive", "nice",
    "join", "resv-ports", "whole", "no-allocate", "stepmgr", "enforce-binding", "help", "usage", "version",
))  # fmt: skip


def _unquoted(value: Text) -> Text:
    if len(value) > 1 and value.chars[0] in "\"'" and value.chars[-1] == value.chars[0]:
        return value.slice(1, len(value) - 1)
    return value


def _others(raw: list[Text]) -> Iterator[tuple[str, Text]]:
    """``-l select=2:ngpus=8``, ``-l node_f=2``, ``-nnodes 4``: the parts that count nodes and devices."""
    for index, word in enumerate(raw):
        following = raw[index + 1] if index + 1 < len(raw) else Text()
        if word.chars == "-nnodes":
            yield "nodes", following
        elif word.chars == "-l":
            for found in re.finditer(r"(?:^|[:,])(select|nodes|ngpus|mpiprocs|(?:node|rt)_\w+)=(\d+)", following.chars):
                name = "nodes" if found[1] in ("select", "nodes") or "_" in found[1] else found[1]
                yield name, following.slice(found.start(2), found.end(2))
        elif word.chars == "-gpu" and (count := re.search(r"num=(\d+)", following.chars)):
            yield "ngpus", following.slice(count.start(1), count.end(1))


def count(value: Text | None) -> int | None:
    """A number, alone or behind a device type (``8``, ``h100:8``); None when there is none or it is a range."""
    if value is None:
        return None
    found = re.fullmatch(r"(?:[A-Za-z][\w.-]*:)?([0-9]{1,7})", value.chars)
    return int(found[1]) if found else None


def devices(options: Mapping[str, Text]) -> Text | None:
    """The devices per node that the options ask for: ``--gpus-per-node``, or the ``gpu`` part of ``--gres``."""
    for name in ("gpus-per-node", "ngpus"):
        if name in options:
            value = options[name]
            return value.slice(value.chars.rfind(":") + 1)
    gres = options.get("gres")
    if gres is None:
        return None
    for part in gres.split(","):
        found = re.fullmatch(r"(?:gres[:/])?gpu(?::([A-Za-z][\w.-]*))?(?:[:=]([0-9]+))?(?:\(.*\))?", part.chars.strip())
        if found is not None:
            return part.slice(*found.span(2)) if found[2] else written("1", *part.spans)
    return None


# Set for every job, to what only the running job knows.
_SLURM = (
    "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_PROCID", "SLURM_NODEID",
    "SLURM_LOCALID", "SLURM_SUBMIT_DIR", "SLURM_JOB_PARTITION", "SLURM_SUBMIT_HOST", "SLURM_CLUSTER_NAME",
    "SLURMD_NODENAME", "SLURM_CPUS_ON_NODE", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_TASK_PID",
    "SLURM_TASKS_PER_NODE", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NAME", "SLURM_GTIDS",
)  # fmt: skip


def variables(directives: Directives) -> dict[str, Text]:
    """The variables that the scheduler sets for the job's script."""
    options = directives.options
    if directives.scheduler == "pbs":
        return {name: _running(name, "PBS") for name in ("PBS_JOBID", "PBS_NODEFILE", "PBS_O_WORKDIR", "PBS_JOBNAME")}
    if directives.scheduler == "grid-engine":
        found = {name: _running(name, "Grid Engine") for name in ("JOB_ID", "SGE_JOB_HOSTLIST", "PE_HOSTFILE")}
        return {**found, "NHOSTS": options["nodes"]} if "nodes" in options else found
    if directives.scheduler != "slurm":
        return {}
    found = {name: _running(name, "Slurm") for name in _SLURM}
    nodes, per_node = options.get("nodes"), options.get("ntasks-per-node")
    tasks = options.get("ntasks")
    if nodes is not None and count(nodes) is not None:
        found["SLURM_NNODES"] = found["SLURM_JOB_NUM_NODES"] = nodes
        if tasks is None and per_node is not None and count(per_node) is not None:
            product = (count(nodes) or 0) * (count(per_node) or 0)
            tasks = written(str(product), *nodes.spans, *per_node.spans)
            suffix = f"{per_node.chars}(x{nodes.chars})" if nodes.chars != "1" else per_node.chars
            found["SLURM_TASKS_PER_NODE"] = written(suffix, *per_node.spans, *nodes.spans)
    on_node = devices(options)
    for name, value in (
        ("SLURM_NTASKS", tasks), ("SLURM_NPROCS", tasks), ("SLURM_NTASKS_PER_NODE", per_node),
        ("SLURM_GPUS_PER_NODE", options.get("gpus-per-node")), ("SLURM_GPUS", options.get("gpus")),
        ("SLURM_GPUS_ON_NODE", on_node), ("SLURM_CPUS_PER_TASK", options.get("cpus-per-task")),
        ("SLURM_GPUS_PER_TASK", options.get("gpus-per-task")), ("SLURM_JOB_NAME", options.get("job-name")),
    ):  # fmt: skip
        if value is not None:
            found[name] = value
    if "array" in options:
        found["SLURM_ARRAY_TASK_ID"] = _running("SLURM_ARRAY_TASK_ID", "Slurm")
        found["SLURM_ARRAY_JOB_ID"] = _running("SLURM_ARRAY_JOB_ID", "Slurm")
    return found


def _running(name: str, scheduler: str) -> Text:
    missing = "; no directive here states it" if name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES") else ""
    return unknowable(f"${name}", f"{set_when_running(name, scheduler)}{missing}", filled=True)


def files(directives: Directives) -> dict[str, Text]:
    """Files that the scheduler writes for the job: PBS lists every host once per MPI process."""
    nodes, processes = count(directives.options.get("nodes")), count(directives.options.get("mpiprocs"))
    if directives.scheduler != "pbs" or nodes is None or nodes * (processes or 1) > 10_000:  # noqa: PLR2004 - no job is larger
        return {}
    spans = directives.options["nodes"].spans
    lines = "".join(f"host{index}\n" * (processes or 1) for index in range(nodes))
    return {"$PBS_NODEFILE": written(lines, *spans)}
