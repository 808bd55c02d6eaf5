"""Simple commands: assignments, builtins, function calls, sourced files, and programs, which are remembered."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from effbatch_lint.documents.shell import expansion, programs, words
from effbatch_lint.documents.shell.branches import blur
from effbatch_lint.documents.shell.builtins import BUILTINS, Call, assign
from effbatch_lint.documents.shell.command import Command
from effbatch_lint.documents.shell.state import SUCCEEDS, TRUE, UNKNOWN, Array, State, Truth, Value
from effbatch_lint.documents.shell.text import EMPTY, Text, spaced, unknowable, written

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.interpretation import Interpreter

_CONTROL = frozenset(("exit", "return", "break", "continue", "eval", "source", "."))
MAX_COMMANDS = 1_000
# Calls of one function inside each other; the interpreter's own limit leaves room for what the last one does.
MAX_CALLS = 20


def run(shell: Interpreter, raws: list[Text], state: State, stdin: Text | None) -> list[State]:
    """A command given by its raw words."""
    count = 0
    while count < len(raws) and words.ASSIGNMENT.match(raws[count].chars):
        count += 1
    prefix, rest = raws[:count], raws[count:]
    if not rest:
        state.status = TRUE
        for raw in prefix:
            assign(raw, state)
        return [state]
    first = expansion.fields(rest[0], state)
    if not first:
        # `$WRAPPER python ...` with an empty wrapper.
        return run(shell, [*prefix, *rest[1:]], state, stdin) if rest[1:] else [state]
    name = first[0].chars if first[0].known else ""
    if name in ("exec", "command", "builtin", "time") and len(rest) > 1:
        return _wrapped(shell, raws, count, state, stdin)
    if name in state.functions or name in BUILTINS or name in _CONTROL:
        return _own(shell, _Line(name, first[1:], rest[1:], stdin), prefix, state)
    environment = state.environment()
    if prefix:
        environment.update(_prefixed(prefix, state))
    found = [*first, *expansion.all_fields(rest[1:], state)]
    _program(shell, Command(tuple(found), environment, raws[0].place(), state.script, stdin=stdin), state)
    return [state]


class _Line(NamedTuple):
    """A command of the shell's own: its name, the words that came with the name out of one expansion, the raw rest."""

    name: str
    extra: list[Text]
    raw: list[Text]
    stdin: Text | None

    def arguments(self, state: State) -> list[Text]:
        """The words after the name."""
        return [*self.extra, *expansion.all_fields(self.raw, state)]


def _wrapped(shell: Interpreter, raws: list[Text], count: int, state: State, stdin: Text | None) -> list[State]:
    """``exec``, ``command``, ``time``: what follows is run; ``count`` assignments stand before."""
    name, rest = raws[count].chars, raws[count:]
    if name == "command" and rest[1].chars in ("-v", "-V"):
        state.status = UNKNOWN
        if state.captured is not None:
            state.captured.append(programs.output([written("which"), *rest[2:]], None, state) or EMPTY)
        return [state]
    options = 1
    while options < len(rest) and rest[options].chars.startswith("-"):
        options += 1
    after = run(shell, [*raws[:count], *rest[options:]], state, stdin)
    if name == "exec":
        for each in after:
            each.signal = each.signal or "exit"
    return after


def _own(shell: Interpreter, line: _Line, prefix: list[Text], state: State) -> list[State]:
    """Functions and builtins; the assignments before them hold for them only."""
    hidden: dict[str, Value | Literal["absent"]] = {}
    for raw in prefix:
        parsed = words.ASSIGNMENT.match(raw.chars)
        if parsed is not None:
            hidden[parsed[1]] = state.variables.get(parsed[1], "absent")
            assign(raw, state)
    if line.name in state.functions:
        after = _call(shell, line, state)
    elif line.name in _CONTROL:
        after = _control(shell, line.name, line.arguments(state), state)
    else:
        truth = BUILTINS[line.name](Call(state, line.name, line.extra, line.raw, line.stdin))
        state.status = TRUE if truth is None else truth
        after = [state]
    for each in after:
        each.restore(hidden)
    return after


def _control(shell: Interpreter, name: str, arguments: list[Text], state: State) -> list[State]:
    """``exit``, ``return``, ``break``, ``continue``, ``eval``, ``source``."""
    if name == "eval":
        return shell.run(spaced(arguments), state)
    if name in ("source", "."):
        return _source(shell, arguments, state)
    state.signal = name
    if name in ("return", "exit") and arguments:
        state.status = Truth.of(arguments[0].chars == "0") if arguments[0].known else UNKNOWN
    return [state]


def _source(shell: Interpreter, arguments: list[Text], state: State) -> list[State]:
    """``source file``: followed when the project holds the file."""
    if not arguments:
        return [state]
    text = shell.read(arguments[0], state)
    if text is None:
        name = arguments[0].display.rpartition("/")[2]
        state.missing = (*state.missing, name) if name not in state.missing else state.missing
        state.status = SUCCEEDS
        return [state]
    place = text.place()
    outer, given = state.variables.get("BASH_SOURCE"), state.arguments
    if place is not None:
        # As the script itself is named: by its real place, of which the shown one is the end.
        folder = state.script.removesuffix(shell.path) if state.script.endswith(shell.path) else ""
        state.variables["BASH_SOURCE"] = Array({"0": written(os.path.join(folder, place.path))})
    if arguments[1:]:
        state.arguments = arguments[1:]
    after = shell.run(text, state)
    for each in after:
        each.variables["BASH_SOURCE"] = outer
        each.signal = None if each.signal == "return" else each.signal
        if arguments[1:]:
            each.arguments = given
    return after


def _call(shell: Interpreter, line: _Line, state: State) -> list[State]:
    """A function call. Of one that calls itself without an end that is known, what it changes is not known."""
    code, body = state.functions[line.name]
    arguments = line.arguments(state)
    again = line.name in shell.calls
    if again and (shell.depth >= MAX_CALLS or line.name in shell.endless):
        shell.endless.add(line.name)
        state.status = UNKNOWN
        return [state]
    # Each of the calls inside each other does what the last one does that is followed.
    before = state.fork() if again and shell.depth >= MAX_CALLS - 2 else None
    outer, fed = state.arguments, state.stdin
    state.arguments = arguments
    state.stdin = line.stdin
    state.frames.append({})
    shell.deeper(1)
    shell.calls.append(line.name)
    after = shell.statement(code, body, state)
    shell.calls.pop()
    shell.deeper(-1)
    for each in after:
        each.leave()
        each.arguments = outer
        each.stdin = fed
        each.signal = None if each.signal == "return" else each.signal
        if before is not None and line.name in shell.endless:
            blur(each, before, f"it changes in {line.name}, which calls itself, and how often is not known")
    return after


def _program(shell: Interpreter, command: Command, state: State) -> None:
    """A program outside of the shell: remembered; its output is known for a few."""
    found, stdin = list(command.words), command.stdin
    name = command.name
    state.status = UNKNOWN if programs.is_probe(found) else SUCCEEDS
    if name == "tee" and stdin is not None:
        for target in found[1:]:
            if not target.chars.startswith("-"):
                state.write(target, stdin, append=any(word.chars == "-a" for word in found[1:]))
    if state.captured is not None:
        printed = stdin if name == "tee" else _printed(shell, found, stdin, state)
        fed = None if stdin is None else stdin.reason
        why = fed or f"the output of {name} is known on the training machine only"
        state.captured.append(unknowable(f"$({spaced(found).display})", why) if printed is None else printed)
    if len(shell.commands) < MAX_COMMANDS:
        shell.commands.append(
            command._replace(conditions=state.conditions, directory=state.directory, files=dict(state.files))
        )


def _printed(shell: Interpreter, found: list[Text], stdin: Text | None, state: State) -> Text | None:
    if found[0].chars == "cat" and len(found) > 1:
        texts = [shell.read(word, state) for word in found[1:]]
        return None if None in texts else Text.joined(text for text in texts if text is not None)
    if found[0].chars == "sed" and len(found) > 2 and not found[-1].chars.startswith("s"):  # noqa: PLR2004 - a file
        text = shell.read(found[-1], state)
        return None if text is None else programs.output(found[:-1], text, state)
    return programs.output(found, stdin, state)


def _prefixed(prefix: list[Text], state: State) -> dict[str, Text]:
    """The assignments before a program, which hold for it alone."""
    child = state.fork()
    found: dict[str, Text] = {}
    for raw in prefix:
        name = assign(raw, child)
        if name is not None:
            found[name] = child.text(name)
    return found
