"""The command line's words -> options and settings."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from effbatch_lint import __version__
from effbatch_lint.call import Options, UsageError
from effbatch_lint.settings.place import governing, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from effbatch_lint.settings.records import Settings
    from effbatch_lint.targets.target import Target

EPILOG = """\
exit status of check: 0 no errors, 1 findings at or above --fail-on, 2 usage or input error, 3 no recipe with --require-recipes
a place for numbers in a config:  # effbatch: target=2048 world-size=64 tokens=8M
"""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command and its arguments; help and usage errors exit, as argparse does.

    Only the parser of the command that is called is built: argparse looks for translations at every turn, which
    for all commands together costs a hook run 8 ms.
    """
    if argv and argv[0] in COMMANDS:
        # A formatter of given width: argparse makes one for each argument, and asking for the terminal's costs 5 ms.
        narrow = partial(argparse.HelpFormatter, width=100)
        command = argparse.ArgumentParser(prog=f"effbatch-lint {argv[0]}", formatter_class=narrow)
        COMMANDS[argv[0]][1](command)
        given = command.parse_args(argv[1:])
        given.command = argv[0]
        return given
    return parser().parse_args(argv)


def parser() -> argparse.ArgumentParser:
    """The whole command line, for its help and its errors."""
    top = argparse.ArgumentParser(
        prog="effbatch-lint",
        description="The effective batch of training configs, computed with each framework's own arithmetic.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"effbatch-lint {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, build) in COMMANDS.items():
        build(commands.add_parser(name, help=summary))
    return top


def _check(command: argparse.ArgumentParser) -> None:
    _recipes(command, ("text", "concise", "json"))
    command.add_argument(
        "--target", metavar="N[ UNIT]", help='what the batch must be: 2048, "2048 sequences", "8.4M tokens"'
    )
    command.add_argument(
        "--fail-on", choices=("error", "warning", "info"), help="least severity for exit status 1 (default: error)"
    )
    command.add_argument(
        "--require-recipes", action="store_true", help="exit status 3 when no training config is found"
    )
    command.add_argument(
        "--scripts", action="store_true", help="also the project's launch scripts that name a given config"
    )
    command.add_argument("-q", "--quiet", action="store_true", help="findings only, no closing line")
    command.add_argument("-v", "--verbose", action="store_true", help="also what was read as what, and notes")


def _explain(command: argparse.ArgumentParser) -> None:
    _recipes(command, ("text", "json"))


def _rule(command: argparse.ArgumentParser) -> None:
    command.add_argument("code", nargs="?", metavar="CODE")
    _colour(command)


def _frameworks(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME")
    _colour(command)


def _recipes(command: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    command.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: the project)")
    command.add_argument("--world-size", metavar="N[,N...]", help="accelerators in the job")
    command.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an environment variable that the config reads"
    )
    command.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a value in the framework's spelling; repeatable",
    )
    command.add_argument("--framework", metavar="NAME", help="read as this framework (default: recognised by keys)")
    command.add_argument("--config", metavar="FILE", help="settings (default: effbatch.toml or pyproject.toml above)")
    command.add_argument("--output-format", choices=formats, default="text")
    command.add_argument("--output-file", metavar="FILE")
    _colour(command)


def _colour(command: argparse.ArgumentParser) -> None:
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def _calc(command: argparse.ArgumentParser) -> None:
    count = _count
    command.add_argument(
        "--micro-batch", type=count, required=True, metavar="N", help="items per replica and forward pass"
    )
    command.add_argument(
        "--accumulation", type=count, metavar="N", help="forward passes per optimizer step (default: 1)"
    )
    command.add_argument("--replicas", type=count, metavar="N", help="data-parallel replicas")
    command.add_argument("--world-size", type=count, metavar="N", help="accelerators, instead of --replicas")
    for axis in ("tensor", "pipeline", "context"):
        command.add_argument(f"--{axis}-parallel", type=count, metavar="N", help=f"{axis}-parallel degree (default: 1)")
    command.add_argument("--sequence-length", type=count, metavar="N", help="tokens per sequence")
    _colour(command)


COMMANDS = {
    "check": ("report what is wrong with the batch of each recipe", _check),
    "explain": ("show the numbers, and which line each came from", _explain),
    "calc": ("the effective batch from bare numbers", _calc),
    "rule": ("a rule's page, or the list of rules", _rule),
    "frameworks": ("what is recognised, by which keys, with which formula", _frameworks),
}


def _count(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or len(digits) > 18 or int(digits) == 0:  # noqa: PLR2004 - within 64 bits
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above zero")
    return int(digits)


def options(given: argparse.Namespace) -> Options:
    """What the call asks for.

    Raises:
        UsageError: a number, target or override that is none.
    """
    for word in (*given.override, *given.set):
        _checked(word)
    return Options(
        paths=tuple(given.paths),
        world_sizes=world_sizes(given.world_size),
        overrides=(*given.override, *(f"env:{word}" for word in given.set)),
        target=target(getattr(given, "target", None)),
        framework=given.framework,
        scripts=getattr(given, "scripts", False),
    )


def _checked(word: str) -> None:
    from effbatch_lint.compose.merge import key_and_text  # noqa: PLC0415 - few calls override anything

    try:
        key_and_text(word)
    except ValueError as error:
        raise UsageError(str(error)) from None


def world_sizes(text: str | None) -> tuple[int, ...]:
    """``64`` or ``8,64``.

    Raises:
        UsageError: anything else.
    """
    if text is None:
        return ()
    try:
        return tuple(_count(part.strip()) for part in text.split(","))
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--world-size: {error}") from None


def target(text: str | int | None) -> Target | None:
    """``2048``, ``2048 sequences``, ``8.4M tokens``.

    Raises:
        UsageError: anything else.
    """
    if text is None:
        return None
    from effbatch_lint.targets.quantity import parse_quantity  # noqa: PLC0415 - most calls declare no target
    from effbatch_lint.targets.target import Target  # noqa: PLC0415 - as above
    from effbatch_lint.terms import Origin  # noqa: PLC0415 - as above

    quantity = parse_quantity(str(text))
    if quantity is None:
        raise UsageError(f"--target {text}: no number with a unit, such as 2048, '2048 sequences', '8.4M tokens'")
    return Target(
        quantity, Origin(None, None, f'--target "{text}"' if " " in str(text) else f"--target {text}"), "argument"
    )


def settings(given: argparse.Namespace) -> Settings:
    """The settings that govern the call: ``--config``, else the nearest above the working directory or the paths."""
    if given.config is not None:
        if not os.path.isfile(given.config):
            raise UsageError(f"--config {given.config}: no such file")
        return load(given.config)
    return governing(given.paths)
