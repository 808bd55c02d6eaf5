"""Programs that start another program and say nothing of devices: peeled off, with what they put into its environment.

``env X=1``, ``nohup``, ``time``, ``numactl``, ``uv run``, containers, profilers, ``ssh host``. Each entry names the
options that take a value; every other option stands alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell import words as shell_words
from effbatch_lint.documents.shell.text import written

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.text import Text
    from effbatch_lint.launchers.start import Start

# sylabs/singularity cmd/internal/cli/action_flags.go: options of `exec` and `run` that take a value.
_SINGULARITY = frozenset((
    "-B", "--bind", "-H", "--home", "--pwd", "--cwd", "--env", "--env-file", "-W", "--workdir", "-o", "--overlay", "-S",
    "--scratch", "--mount", "--no-mount", "--app", "--network", "--network-args", "--dns", "--hostname", "--security",
    "--add-caps", "--drop-caps", "--apply-cgroups", "--fusemount", "--cpus", "--memory",
))  # fmt: skip
# Wrapper -> options with a value, and how many words of its own stand before the program.
_PLAIN: dict[str, tuple[frozenset[str], int]] = {
    "nohup": (frozenset(), 0),
    "time": (frozenset(("-f", "-o")), 0),
    "nice": (frozenset(("-n",)), 0),
    "ionice": (frozenset(("-c", "-n")), 0),
    "stdbuf": (frozenset(("-o", "-e", "-i")), 0),
    "setsid": (frozenset(), 0),
    "unbuffer": (frozenset(), 0),
    "timeout": (frozenset(("-k", "-s", "--signal", "--kill-after")), 1),
    "taskset": (frozenset(), 1),
    "numactl": (frozenset(("-N", "-m", "-C", "-i", "-p")), 0),
    "sudo": (frozenset(("-u", "-g", "-E")), 0),
    "xvfb-run": (frozenset(("-n", "-s")), 0),
    "catchsegv": (frozenset(), 0),
    "nsys": (frozenset(("-t", "-o", "-f", "-c", "-w", "-s", "-x", "-y", "-d", "-b", "-e", "-k", "-p")), 1),
    "ncu": (frozenset(("-o", "-k", "-c", "-s")), 0),
    "singularity": (_SINGULARITY, 2),
    "apptainer": (_SINGULARITY, 2),
}
_RUNNERS: dict[str, frozenset[str]] = {
    "uv": frozenset((
        "--extra", "--group", "--with", "--project", "--directory", "--python", "-p", "--env-file", "--package", "--index",
        "--only-group", "--no-group", "--with-editable", "--with-requirements", "--no-extra", "--index-url",
        "--extra-index-url", "--index-strategy", "-w",
    )),
    "poetry": frozenset(("-C", "--directory", "-P", "--project")),
    "pipenv": frozenset(),
    "pdm": frozenset(("-p",)),
    "hatch": frozenset(("-e", "--env")),
    "pixi": frozenset(("-e", "--environment", "--manifest-path")),
    "rye": frozenset(),
    "conda": frozenset(("-n", "--name", "-p", "--prefix", "--cwd")),
    "micromamba": frozenset(("-n", "--name", "-p", "--prefix", "--cwd")),
    "mamba": frozenset(("-n", "--name", "-p", "--prefix", "--cwd")),
}  # fmt: skip

_XARGS = frozenset(("-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"))
# Switches of `docker run` and `docker exec`; every other option takes a value.
_DOCKER = frozenset((
    "rm", "it", "ti", "i", "t", "d", "dit", "itd", "P", "detach", "interactive", "tty", "privileged", "init", "read-only",
    "no-healthcheck", "oom-kill-disable", "publish-all", "quiet", "q", "sig-proxy", "help", "disable-content-trust",
))  # fmt: skip


def peel(start: Start) -> Start | None:
    """The program below a wrapper; None when the word is none."""
    name = start.name
    if name == "env":
        return _env(start)
    if name in _PLAIN:
        valued, own = _PLAIN[name]
        rest = _after_options(start.words[1:], valued, own)
        return start.left(rest)
    if name in _RUNNERS:
        return _run(start, _RUNNERS[name])
    if name in ("docker", "podman", "nerdctl"):
        return _container(start)
    if name == "xargs":
        return start.left(_after_options(start.words[1:], _XARGS, 0))
    if name in ("ssh", "pdsh"):
        return _remote(start, name)
    return None


def _after_options(words: tuple[Text, ...], valued: frozenset[str], own: int) -> tuple[Text, ...]:
    """The words after the options and ``own`` words that are the wrapper's (a time limit, ``exec`` and an image)."""
    at = 0
    while at < len(words):
        chars = words[at].chars
        if chars == "--":
            at += 1
            if own == 0:
                break
        elif chars.startswith("-"):
            at += 2 if chars in valued else 1
        elif own > 0:
            own -= 1
            at += 1
        else:
            break
    return words[at:]


def _env(start: Start) -> Start:
    environment = dict(start.environment)
    at = 1
    while at < len(start.words):
        word = start.words[at]
        assignment = shell_words.ASSIGNMENT.match(word.chars)
        if assignment is not None:
            environment[assignment[1]] = word.slice(assignment.end())
        elif word.chars in ("-u", "--unset"):
            at += 1
            if at < len(start.words):
                environment.pop(start.words[at].display, None)
        elif not word.chars.startswith("-"):
            break
        at += 1
    return start.left(start.words[at:])._replace(environment=environment)


def _run(start: Start, valued: frozenset[str]) -> Start | None:
    """``uv run [options] command``; ``-m module`` and a script alone are Python's."""
    words = start.words[1:]
    while words and words[0].chars.startswith("-"):
        words = words[2 if words[0].chars in valued else 1 :]
    if not words or words[0].chars != "run":
        return None
    at = 1
    while at < len(words) and words[at].chars.startswith("-") and words[at].chars not in ("-m", "--module", "--"):
        at += 2 if words[at].chars in valued else 1
    rest = words[at:]
    if rest and rest[0].chars == "--":
        rest = rest[1:]
    if rest and rest[0].chars in ("-m", "--module"):
        rest = (written("python"), written("-m"), *rest[1:])
    elif rest and rest[0].chars.endswith(".py"):
        rest = (written("python"), *rest)
    return start.left(rest)


def _container(start: Start) -> Start | None:
    """``docker run [options] image command``: ``-e NAME=VALUE`` sets the environment."""
    words = start.words[1:]
    if not words or words[0].chars not in ("run", "exec"):
        return None
    environment = dict(start.environment)
    at = 1
    while at < len(words) and words[at].chars.startswith("-"):
        name, equals, _ = words[at].chars.partition("=")
        value = words[at].slice(len(name) + 1) if equals else words[at + 1] if at + 1 < len(words) else None
        assignment = None if value is None else shell_words.ASSIGNMENT.match(value.chars)
        if name in ("-e", "--env") and value is not None and assignment is not None:
            environment[assignment[1]] = value.slice(assignment.end())
        at += 1 if equals or name.lstrip("-") in _DOCKER else 2
    return start.left(words[at + 1 :])._replace(environment=environment)


def _remote(start: Start, name: str) -> Start:
    """``ssh host command``: the words are joined and given to a shell on the other side."""
    valued = frozenset(("-p", "-i", "-l", "-o", "-F", "-J", "-w", "-R", "-f", "-x", "-u", "-t"))
    rest = _after_options(
        start.words[1:], valued - {"-f", "-t"} if name == "ssh" else valued, 1 if name == "ssh" else 0
    )
    if not rest:
        return start.left(())
    from effbatch_lint.documents.shell.text import spaced  # noqa: PLC0415 - few scripts reach for other machines

    return start.left((written("bash"), written("-c"), spaced(list(rest))))
