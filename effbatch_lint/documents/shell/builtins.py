"""The shell's own commands that change what later lines see."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from effbatch_lint.documents.shell import arithmetic, conditions, expansion, programs, splitting, words
from effbatch_lint.documents.shell.state import FALSE, SUCCEEDS, TRUE, UNKNOWN, Array, State, Truth
from effbatch_lint.documents.shell.text import EMPTY, Text, unknowable, written

_NAME = re.compile(r"[A-Za-z_]\w*")


class Call(NamedTuple):
    """A builtin at work.

    Attributes:
        state: the shell, which the builtin changes.
        name: the builtin's own name.
        extra: arguments that came with the name out of one expansion.
        raw: its other arguments before expansion (assignments are not split).
        stdin: what it reads.
    """

    state: State
    name: str
    extra: list[Text]
    raw: list[Text]
    stdin: Text | None

    def arguments(self) -> list[Text]:
        """The arguments after expansion."""
        return [*self.extra, *expansion.all_fields(self.raw, self.state)]


Builtin: TypeAlias = Callable[[Call], "Truth | None"]


def assign(raw: Text, state: State) -> str | None:
    """Perform one assignment word (``X=1``, ``A+=(b c)``, ``A[2]=x``); the variable's name, or None."""
    parsed = words.ASSIGNMENT.match(raw.chars)
    if parsed is None:
        return None
    name, subscript, operator = parsed[1], parsed[2], parsed[3]
    right = raw.slice(parsed.end())
    held = state.variables.get(name)
    if subscript is None and right.chars.startswith("(") and right.chars.endswith(")"):
        base = held if operator == "+=" else None
        associative = isinstance(held, Array) and held.associative
        state.assign(name, _array(right.slice(1, len(right) - 1), base, state, associative=associative))
        return name
    value = expansion.joined(right, state)
    if subscript is None:
        if operator == "+=":
            value = _added(name, value, state)
        if isinstance(held, Array):
            held.items["0"] = value
        else:
            state.assign(name, value)
        return name
    index = _index(raw.slice(parsed.start(2) + 1, parsed.end(2) - 1), held, state)
    array = held if isinstance(held, Array) else Array({} if not isinstance(held, Text) else {"0": held})
    if operator == "+=":
        value = array.items.get(index, EMPTY) + value
    array.items[index] = value
    state.assign(name, array)
    return name


def _added(name: str, value: Text, state: State) -> Text:
    held = state.value(name)
    if isinstance(held, Array):
        return held.items.get("0", EMPTY) + value
    return value if held is None else held + value


def _index(raw: Text, held: object, state: State) -> str:
    if isinstance(held, Array) and held.associative:
        return expansion.joined(raw, state).chars
    number = arithmetic.evaluate(raw, state)
    return str(number.value) if number.value is not None and number.value >= 0 else str(10**6)


def _array(inner: Text, base: object, state: State, *, associative: bool) -> Array:
    items: dict[str, Text] = {}
    if isinstance(base, Array):
        items.update(base.items)
    elif isinstance(base, Text):
        items["0"] = base
    position = 1 + max((int(key) for key in items), default=-1) if not associative else 0
    for raw in words.split(inner):
        keyed = re.match(r"\[([^\]]*)\]=", raw.chars)
        if keyed is not None:
            key = _index(raw.slice(1, keyed.end(1)), Array({}, associative), state)
            items[key] = expansion.joined(raw.slice(keyed.end()), state)
            position = int(key) + 1 if not associative else 0
            continue
        for word in expansion.fields(raw, state):
            items[str(position)] = word
            position += 1
    return Array(items, associative)


# -- builtins ------------------------------------------------------------------------------------------------------


def _declare(call: Call) -> Truth | None:
    """``export``, ``declare``, ``local``, ``readonly``, ``typeset``."""
    state = call.state
    options = ""
    for raw in (*call.extra, *call.raw):
        if raw.chars.startswith(("-", "+")) and words.ASSIGNMENT.match(raw.chars) is None:
            options += raw.chars
            continue
        parsed = words.ASSIGNMENT.match(raw.chars)
        names = [parsed[1]] if parsed else [word.chars for word in expansion.fields(raw, state)]
        for name in names:
            if parsed is None and (found := words.ASSIGNMENT.match(name)) is not None:
                _declared(call, found[1], options)
                assign(written(name, *raw.spans), state)
                _exported(call, found[1], options)
            elif _NAME.fullmatch(name):
                # "local N=${N:-4}": what is assigned is expanded while the outer variable is still seen.
                seen = parsed is not None and not parsed[0].endswith("+=")
                _declared(call, name, options, seen=seen)
                if parsed is not None:
                    assign(raw, state)
                if call.name in ("declare", "typeset", "local"):
                    _kind(state, name, options)
                _exported(call, name, options)
    return None


def _kind(state: State, name: str, options: str) -> None:
    """``-i``, ``-u``, ``-l``, ``-n``: what is assigned is computed, respelled, or another variable's; a number stays one."""
    held = state.variables.get(name)
    if not set(options) & set("inul") or not isinstance(held, Text):
        return
    if "n" in options or not held.chars.isdecimal():
        why = f"{name} is declared with {options}, which changes what is assigned to it"
        state.variables[name] = unknowable(f"${name}", why, *held.spans[:1])


def _declared(call: Call, name: str, options: str, *, seen: bool = False) -> None:
    state = call.state
    if state.frames and call.name in ("local", "declare", "typeset") and "g" not in options:
        if call.name == "local" or name not in state.frames[-1]:
            state.local(name)
        if name in state.frames[-1] and not seen:
            state.variables[name] = None
    if "A" in options and not isinstance(state.variables.get(name), Array):
        state.variables[name] = Array({}, associative=True)


def _exported(call: Call, name: str, options: str) -> None:
    if call.name == "export" or "x" in options:
        if "n" in options:
            call.state.exported.discard(name)
        else:
            call.state.exported.add(name)


def _unset(call: Call) -> None:
    for word in call.arguments():
        if word.chars.startswith("-"):
            continue
        element = re.fullmatch(r"(\w+)\[(.+)\]", word.chars)
        held = call.state.variables.get(element[1]) if element is not None else None
        if element is not None and isinstance(held, Array):
            index = _index(word.slice(element.start(2), element.end(2)), held, call.state)
            items = {key: item for key, item in held.items.items() if key != index}
            call.state.variables[element[1]] = held._replace(items=items)
            continue
        call.state.variables[word.chars] = None
        call.state.exported.discard(word.chars)
        call.state.functions.pop(word.chars, None)


def _set(call: Call) -> None:
    arguments = call.arguments()
    for index, word in enumerate(arguments):
        if word.chars == "--":
            call.state.arguments = arguments[index + 1 :]
            return
        if word.chars in ("-o", "+o"):
            if arguments[index + 1 : index + 2] == [written("allexport")]:
                call.state.allexport = word.chars == "-o"
            continue
        if word.chars.startswith(("-", "+")):
            if "a" in word.chars[1:]:
                call.state.allexport = word.chars.startswith("-")
        elif index == 0 or not re.fullmatch(
            "[-+][a-zA-Z]*o[a-zA-Z]*", arguments[index - 1].chars
        ):  # `set -eou pipefail`
            call.state.arguments = arguments[index:]
            return


def _shift(call: Call) -> None:
    arguments = call.arguments()
    count = int(arguments[0].chars) if arguments and re.fullmatch("[0-9]{1,4}", arguments[0].chars) else 1
    if call.state.arguments is not None:
        call.state.arguments = call.state.arguments[count:]


def _read(call: Call) -> Truth | None:
    """``read``: the variables take the words of the input's first line (of all of it with ``-d ''``)."""
    options, names = _read_options(call.arguments())
    state, line = call.state, call.stdin
    if line is None:
        for name in names:
            state.assign(name, unknowable(f"${name}", "it is read while the script runs"))
        return UNKNOWN
    if not line and state.stdin is not None:
        return FALSE  # the loop has read everything
    if "d" not in options:
        end = line.chars.find("\n")
        if state.stdin is not None:
            state.stdin = EMPTY if end < 0 else line.slice(end + 1)
        line = line if end < 0 else line.slice(0, end)
    line = _continued(line) if "r" not in options else line
    if "a" in options:
        parts = [part for part in splitting.split(line, state) if part is not None]
        state.assign(names[0], Array.listed(parts))
        return TRUE
    blanks = splitting.separators(state)
    white = "".join(blank for blank in blanks if blank in " \t\n")
    for index, name in enumerate(names[:-1]):
        line = line.strip(white) if white else line
        end = next((at for at, character in enumerate(line.chars) if character in blanks), len(line))
        word = line.slice(0, end)
        if not word.known:
            # How many words the unknown part holds, nobody knows: nor which of them the later names get.
            for later in names[index:]:
                state.assign(later, unknowable(f"${later}", word.reason or "", *word.spans[:1], unset=word.unset))
            return TRUE
        state.assign(name, word)
        line = line.slice(end + 1)
    state.assign(names[-1], line.strip(white) if white else line)
    return TRUE


def _continued(stdin: Text) -> Text:
    """Without ``-r`` a backslash joins lines and quotes the next character."""
    out, start = [], 0
    for found in re.finditer(r"\\(\n?)", stdin.chars):
        out.append(stdin.slice(start, found.start()))
        start = found.end()
    return Text.joined([*out, stdin.slice(start)])


def _read_options(arguments: list[Text]) -> tuple[str, list[str]]:
    options, at = "", 0
    names: list[str] = []
    while at < len(arguments):
        word = arguments[at].chars
        at += 1
        if word.startswith("-") and not names:
            for position, letter in enumerate(word[1:], start=1):
                options += letter
                if letter in "dinNptu":
                    at += position == len(word) - 1
                    break
                if letter == "a" and position < len(word) - 1:
                    names.append(word[position + 1 :])
                    break
        else:
            names.append(word)
    return options, names or ["REPLY"]


def _mapfile(call: Call) -> Truth | None:
    names = [word.chars for word in call.arguments() if not word.chars.startswith("-")]
    name = names[-1] if names else "MAPFILE"
    if call.stdin is None or not call.stdin.known:
        why = (call.stdin and call.stdin.reason) or "it is read while the script runs"
        call.state.assign(name, Array({"0": unknowable(f"${name}", why)}))
        return None
    lines = call.stdin.rstrip("\n").split("\n") if call.stdin else []
    call.state.assign(name, Array.listed(lines))
    return None


def _let(call: Call) -> Truth | None:
    truth: Truth | None = None
    for word in call.arguments():
        truth = conditions.arithmetic_truth(word, call.state)
    return truth


def _test(call: Call) -> Truth | None:
    arguments = call.arguments()
    if call.name == "[" and arguments and arguments[-1].chars == "]":
        arguments = arguments[:-1]
    return conditions.test(arguments)


def _cd(call: Call) -> Truth | None:
    arguments = [word for word in call.arguments() if word.chars not in ("--", "-P", "-L")]
    target, here = arguments[0] if arguments else written("-"), working_folder(call.state)
    if call.name == "popd" or target.chars == "-":
        call.state.directory = unknowable("$PWD", "the working folder is not known")
    elif target.chars.startswith("/") or target.pieces[:1] == here.pieces[:1]:
        call.state.directory = programs.tidied(target)
    elif target.chars not in (".", ""):
        call.state.directory = programs.tidied(here + written("/") + target)
    return SUCCEEDS


def working_folder(state: State) -> Text:
    """The current folder; where the script is started, no file states."""
    return state.directory or unknowable("$PWD", "the folder in which the script is started is not known")


def _printf(call: Call) -> Truth | None:
    arguments = call.arguments()
    if len(arguments) > 1 and arguments[0].chars == "-v":
        found = programs.printf(arguments[2:], None, call.state)
        call.state.assign(
            arguments[1].chars,
            unknowable(f"${arguments[1].chars}", "printf is not understood") if found is None else found,
        )
        return TRUE
    return _print(call, programs.printf(arguments, None, call.state))


def _echo(call: Call) -> Truth | None:
    return _print(call, programs.echo(call.arguments(), None, call.state))


def _print(call: Call, text: Text | None) -> Truth:
    if call.state.captured is not None:
        call.state.captured.append(unknowable("$(printf ...)", "printf is not understood") if text is None else text)
    return TRUE


def _pwd(call: Call) -> Truth | None:
    return _print(call, working_folder(call.state) + written("\n"))


def _getopts(call: Call) -> Truth | None:
    """``getopts``: with arguments that are given, the next option; without, there is none."""
    state, arguments = call.state, call.arguments()
    if len(arguments) < 2:  # noqa: PLR2004 - the letters and the variable
        return FALSE
    given = state.arguments if len(arguments) == 2 else arguments[2:]  # noqa: PLR2004 - words of its own follow
    index = arithmetic.evaluate(state.text("OPTIND"), state).value if "OPTIND" in state.variables else 1
    if given is None or index is None:
        return Truth(None, False, "emptiness")
    if index > len(given) or not re.fullmatch("-[A-Za-z0-9?].*", given[index - 1].chars):
        return FALSE
    word = given[index - 1]
    letter, value = word.chars[1], word.slice(2)
    takes = letter + ":" in arguments[0].chars
    if takes and not value and index < len(given):
        value, index = given[index], index + 1
    state.assign(arguments[1].chars, written(letter, *word.spans))
    state.assign("OPTARG", value if takes else EMPTY)
    state.assign("OPTIND", written(str(index + 1)))
    return TRUE


def _nothing(_call: Call) -> Truth | None:
    return None


def _colon(call: Call) -> Truth | None:
    call.arguments()  # `: ${X:=8}` is there for what its words do
    return None


def _false(_call: Call) -> Truth | None:
    return FALSE


def _lookup(_call: Call) -> Truth | None:
    return UNKNOWN


BUILTINS: dict[str, Builtin] = {
    "export": _declare, "declare": _declare, "local": _declare, "readonly": _declare, "typeset": _declare,
    "unset": _unset, "set": _set, "shift": _shift, "read": _read, "mapfile": _mapfile, "readarray": _mapfile,
    "let": _let, "test": _test, "[": _test, "cd": _cd, "pushd": _cd, "popd": _cd, "echo": _echo, "printf": _printf,
    "pwd": _pwd, "getopts": _getopts, ":": _colon, "true": _nothing, "false": _false, "trap": _nothing,
    "shopt": _nothing, "ulimit": _nothing, "umask": _nothing, "wait": _nothing, "hash": _nothing, "type": _lookup,
    "alias": _nothing,
}  # fmt: skip
