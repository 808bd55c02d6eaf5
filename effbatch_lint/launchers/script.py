"""A launch script -> the launches in it: every command line, peeled launcher by launcher down to the program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.shell import directives
from effbatch_lint.documents.shell import script as shell
from effbatch_lint.documents.shell.directives import Directives, slurm_parsed
from effbatch_lint.documents.shell.text import Text, TooLong, of_source, written
from effbatch_lint.launch import Allocation, Launch
from effbatch_lint.launchers import (
    accelerate,
    beaker,
    clis,
    composer,
    deepspeed,
    mpi,
    parallel,
    python,
    ray,
    slurm,
    torchrun,
    upstream_scripts,
    words,
    wrappers,
    xpk,
)
from effbatch_lint.launchers.cut_off import cut_off
from effbatch_lint.launchers.start import Job, Said, Start
from effbatch_lint.source import Source, Unreadable, decode

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.script import Script
    from effbatch_lint.files import Files
    from effbatch_lint.source import Span

_LAUNCHER = re.compile(
    r"^[^#\n]*\b(?:torchrun|accelerate launch|deepspeed|srun|mpirun|torch\.distributed)\b", re.MULTILINE
)
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
# Programs that start another one, as the first word after a wrapper script.
_COMMANDS = frozenset(("torchrun", "accelerate", "deepspeed", "singularity", "apptainer", "composer"))
# What gives a part of the job's nodes to another program while the training runs (`srun -N 1 vllm serve &`).
_STEPS = frozenset(("srun", "ssh", "pdsh", "mpirun", "mpiexec"))
# A script that starts itself, or scripts that start each other.
MAX_DEPTH = 8
MAX_LAUNCHES = 200


class Started(NamedTuple):
    """What a script starts.

    Attributes:
        launches: the launch lines, those of a bare run first, each once.
        problems: why a part of the script could not be read (EB901).
        written: the files that the script writes, by the name that it uses.
        variables: what the script's variables hold at its end, for a script that hands them to one that is not here.
        directives: what it asks its scheduler for, and the ``#SBATCH`` lines that come too late to be read.
        beside: where it starts job steps that run beside the others, on nodes of their own perhaps.
    """

    launches: list[Launch]
    problems: list[Unreadable]
    written: Mapping[str, Text]
    variables: Mapping[str, Text] = {}
    directives: Directives = Directives()
    beside: frozenset[Span | None] = frozenset()


def launches(
    source: Source,
    files: Files | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] | None = None,
) -> Started:
    """The launches of a script.

    Args:
        source: the script.
        files: the project, for what the script sources, starts and names.
        environment: variables that are given (``env:NAME=VALUE``); every other one that the script does not set is
            unknown, or takes the script's own default.
        arguments: the script's arguments (``arg:VALUE``); None when nobody said.
    """
    followed = shell.read(source, files, environment=environment, arguments=arguments)
    found = started(followed, source, files)
    if not found.launches and not found.problems and _LAUNCHER.search(source.text):
        # A launcher's name, and no launch: the place that bash would not read either may be why.
        found.problems.extend(shell.errors(of_source(source), source))
    return found


def started(
    followed: Script,
    source: Source,
    files: Files | None,
    *,
    allocation: Allocation | None = None,
    said: Said | None = None,
) -> Started:
    """The launches among the commands of a script that was followed.

    ``allocation`` is what a manifest around the script gives the job, ``said`` what it says of the processes.
    """
    allocation = slurm.allocation(followed.directives.options) or allocation
    job = Job(files, source, followed.directives, allocation)
    found: list[Launch] = []
    problems = list(followed.problems)
    try:
        for command in followed.commands:
            found.extend(peeled((said or Said()).start(command, job)))
            if len(found) > MAX_LAUNCHES:
                break
    except TooLong:
        problems.append(Unreadable(source.span(), "a command line is longer than the limit"))
    if not found:
        handed_over = upstream_scripts.sourced(job, followed.variables)
        found.extend(() if handed_over is None else (handed_over,))
    numbers = words.numbers(followed.variables)
    kept = [launch._replace(numbers=numbers) for launch in _distinct(cut_off(found, followed.commands))]
    beside = frozenset(command.span for command in followed.commands if command.background and command.name in _STEPS)
    return Started(kept, problems, followed.files, followed.variables, followed.directives, beside)


def _distinct(found: list[Launch]) -> list[Launch]:
    """Each launch once: what two runs of the script have in common is one; those of a bare run come first."""
    kept: list[Launch] = []
    for launch in sorted(found, key=lambda launch: not launch.bare):
        if not any(_same(launch, other) for other in kept):
            kept.append(launch)
    return kept


def _same(first: Launch, second: Launch) -> bool:
    return (
        first.program == second.program
        and first.launcher == second.launcher
        and first.world_size.value == second.world_size.value
        and first.nodes.value == second.nodes.value
        and first.devices_per_node.value == second.devices_per_node.value
        and first.overrides == second.overrides
        and [word.text for word in first.arguments] == [word.text for word in second.arguments]
        and first.written == second.written
    )


def peeled(start: Start, depth: int = 0) -> Iterator[Launch]:
    """Peel launchers and wrappers off a command line until the program is left."""
    for _ in range(20):
        if not start.words:
            return
        step = _step(start)
        if isinstance(step, Launch):
            yield step
            return
        if isinstance(step, Start):
            start = step
            continue
        if depth < MAX_DEPTH:
            yield from _nested(start, depth)
        return


def _step(start: Start) -> Start | Launch | None:
    """One launcher or wrapper off, or the launch of the program; None for anything else."""
    name = start.name
    match name:
        case "torchrun":
            return torchrun.peel(start)
        case "accelerate":
            is_launch = len(start.words) > 1 and start.words[1].chars == "launch"
            return accelerate.peel(start.left(start.words[2:])) if is_launch else None
        case "accelerate-launch":
            return accelerate.peel(start.left(start.words[1:]))
        case "deepspeed" | "ds":
            return deepspeed.peel(start)
        case "srun":
            return slurm.srun(start)
        case "mpirun" | "mpiexec" | "orterun" | "mpiexec.hydra" | "mpirun_rsh":
            return mpi.peel(start)
        case "composer":
            return composer.peel(start)
        case "ray":
            return ray.peel(start)
        case "gantry":
            return beaker.gantry(start)
        case "parallel":
            return parallel.each(start)
        case "xpk":
            return xpk.workload(start)
        case "swift" | "megatron":
            return clis.swift(start)
        case "llamafactory-cli" | "lmf":
            return clis.llamafactory(start)
        case "tune":
            return clis.tune(start)
        case "trl":
            return clis.trl(start)
        case "fairseq-train" | "fairseq-hydra-train":
            return clis.fairseq(start)
    if name in clis.ALONE or name in clis.WITH_SUBCOMMAND:
        return clis.other(start)
    if python.is_python(name):
        return python.peel(start)
    if name in ("coverage", "debugpy", "scalene"):
        return python.under(start)
    wrapped = wrappers.peel(start)
    if wrapped is not None:
        return wrapped
    if not start.words[0].known and "/" not in start.words[0].chars and len(start.words) > 1:
        # "$LAUNCHER python train.py": the launcher is not known, and what it says neither. It runs Python in
        # `"$RUN" -m package.train`, as an interpreter or as a launcher that has this option too.
        module = start.words[1].chars == "-m"
        rest = (written("python"), *start.words[1:]) if module else start.words[1:]
        return start.left(rest)._replace(hidden=start.hidden or start.words[0])
    return None


def _nested(start: Start, depth: int) -> Iterator[Launch]:
    """The launches of a script that the command line starts: ``bash -c``, a file, standard input, ``sbatch``."""
    if start.name == "sbatch":
        yield from _submitted(start, depth)
        return
    rest, is_shell = start.words, start.name in _SHELLS
    if is_shell:
        rest = rest[1:]
        while rest and rest[0].chars.startswith(("-", "+")):
            if rest[0].chars.startswith("-") and rest[0].chars.endswith("c"):
                if len(rest) > 1:
                    yield from _followed(start, rest[1], start.job.source, list(rest[3:]), depth)
                return
            rest = rest[2 if rest[0].chars in ("-o", "+o") else 1 :]
        if not rest:
            if start.command.stdin is not None:
                yield from _followed(start, start.command.stdin, start.job.source, [], depth)
            return
    if is_shell or rest[0].chars.endswith((".sh", ".bash", ".slurm", ".sbatch", ".pbs")):
        yield from _script(start, rest, depth)


def _script(start: Start, rest: tuple[Text, ...], depth: int) -> Iterator[Launch]:
    found = _read(start, rest[0])
    if found is not None:
        text, source = found
        yield from _followed(start, text, source, list(rest[1:]), depth)
        return
    if _runs_its_words(rest[1:]):
        yield from peeled(start.left(rest[1:]), depth + 1)
        return
    launch = upstream_scripts.launch(start, rest)
    if launch is not None:
        yield launch


def _runs_its_words(rest: tuple[Text, ...]) -> bool:
    """Whether a script that the project does not hold is handed a whole command (``wrapper.sh python train.py``).

    Such a script sets an environment and ends in ``exec "$@"``.
    """
    name = rest[0].display.rpartition("/")[2] if rest else ""
    return len(rest) > 1 and (python.is_python(name) or name in _COMMANDS or name in _SHELLS)


def _read(start: Start, name: Text) -> tuple[Text, Source] | None:
    own = start.command.files.get(name.display) or start.command.files.get(name.display.removeprefix("./"))
    if own is not None:
        return own, start.job.source
    files = start.job.files
    path = None if files is None else shell.locate(files, name, start.job.source.real, start.command.directory)
    if path is None or files is None:
        return None
    shown = files.shown(path)
    try:
        source = Source(shown, path, decode(files.content(path), shown))
    except Unreadable:
        return None
    return of_source(source), source


def _followed(start: Start, text: Text, source: Source, arguments: list[Text], depth: int) -> Iterator[Launch]:
    """The launches of script text that runs inside this start, which keeps what was said about devices."""
    followed = shell.follow(
        text,
        source,
        start.job.files,
        environment=start.environment,
        arguments=arguments,
        written_files=start.command.files,
        directory=start.command.directory,
        directives=start.job.directives,
    )
    job = start.job._replace(source=source)
    if followed.directives is not start.job.directives:
        job = job._replace(directives=followed.directives, allocation=slurm.allocation(followed.directives.options))
    for command in followed.commands:
        whole = command._replace(
            conditions=(*start.command.conditions, *command.conditions), span=command.span or start.command.span
        )
        inner = start._replace(words=command.words, command=whole, job=job, environment=command.environment)
        yield from peeled(inner, depth + 1)


def _submitted(start: Start, depth: int) -> Iterator[Launch]:
    """``sbatch [options] script``: the options beat the script's own directives."""
    options: dict[str, Text] = {}
    at = 0
    for name, value, read in slurm_parsed(list(start.words[1:])):
        options[name] = value
        at = read
    rest = start.words[1 + at :]
    if "wrap" in options:
        text, source, arguments = options["wrap"], start.job.source, list[Text]()
    elif rest:
        found = _read(start, rest[0])
        if found is None:
            return
        (text, source), arguments = found, list(rest[1:])
    elif start.command.stdin is not None:
        text, source, arguments = start.command.stdin, start.job.source, []
    else:
        return
    stated = directives.read(text)
    asked = Directives("slurm", {**stated.options, **options}, stated.late)
    job = start.job._replace(directives=asked, allocation=slurm.allocation(asked.options))
    yield from _followed(start._replace(job=job), text, source, arguments, depth)
