r"""Programs whose output is known without running them: ``expr``, ``dirname``, ``wc``, a few uses of others.

Scripts count devices with ``echo $CUDA_VISIBLE_DEVICES | tr ',' '\n' | wc -l`` and divide batches with ``expr``.
Whatever is not understood exactly gives None, and its output is unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from effbatch_lint.documents.shell import arithmetic, sed
from effbatch_lint.documents.shell.text import EMPTY, Text, spaced, unknowable, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from effbatch_lint.documents.shell.state import State

Program: TypeAlias = "Callable[[list[Text], Text | None, State], Text | None]"

# Programs that ask what the machine has: whether they succeed decides the way, and nobody knows it here.
_PROBES = frozenset((
    "nvidia-smi", "rocm-smi", "npu-smi", "xpu-smi", "which", "grep", "egrep", "pgrep", "ping", "nc", "lsof", "lspci",
    "curl", "ls", "diff", "cmp",
))  # fmt: skip

_ARITHMETIC = re.compile(r"[0-9+\-*/%() \t\n]+")
_PRINT = re.compile(r"\s*print\((?:int\()?([0-9+\-*/%() ]+?)\)?\)\s*")
_ECHO_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r"}
_MAX_NUMBERS = 1_000


def is_probe(words: list[Text]) -> bool:
    """Whether a command is there to find something out, by failing or not."""
    name = words[0].chars.rpartition("/")[2]
    first = words[1].chars if len(words) > 1 else ""
    return (
        name in _PROBES
        or (name in ("python", "python3") and first in ("-c", "-"))
        or (name, first) == ("ray", "status")
    )


def output(words: list[Text], stdin: Text | None, state: State) -> Text | None:
    """What the command prints; None when that is not known."""
    name = words[0].chars.rpartition("/")[2]
    program = PROGRAMS.get(name)
    if program is None:
        return None
    arguments = words[2:] if words[1:2] == [written("--")] else words[1:]
    if not all(word.known for word in arguments) and name not in (
        "echo",
        "printf",
        "cat",
        "dirname",
        "basename",
        "sed",
        "tr",
    ):
        return None
    return program(arguments, stdin, state)


def echo(arguments: list[Text], _stdin: Text | None, _state: State) -> Text:
    """``echo``: the words with blanks between them, and a line end."""
    end, escapes = "\n", False
    while arguments and re.fullmatch("-[neE]+", arguments[0].chars):
        end = "" if "n" in arguments[0].chars else end
        escapes = escapes or "e" in arguments[0].chars
        arguments = arguments[1:]
    text = spaced(arguments)
    if escapes and text.known and "\\" in text.chars:
        text = written(_unescaped(text.chars), *text.spans)
    return text + written(end)


def _unescaped(chars: str) -> str:
    return re.sub(r"\\([nt\\r])", lambda found: _ECHO_ESCAPES[found[1]], chars)


def printf(arguments: list[Text], _stdin: Text | None, _state: State) -> Text | None:
    """``printf`` with ``%s``, ``%d`` and plain text; the format is used again while words are left."""
    if not arguments or not arguments[0].known:
        return None
    form, rest = _unescaped(arguments[0].chars), list(arguments[1:])
    holes = re.findall(r"%[-0-9.]*[a-zA-Z%]", form)
    if any(hole not in ("%s", "%d", "%i", "%%") for hole in holes):
        return None
    out: list[Text] = []
    while True:
        for part in re.split(r"(%[sdi%])", form):
            if part in ("%s", "%d", "%i"):
                out.append(rest.pop(0) if rest else EMPTY if part == "%s" else written("0"))
            else:
                out.append(written("%" if part == "%%" else part, *arguments[0].spans[:1]))
        if not rest or not [hole for hole in holes if hole != "%%"]:
            return Text.joined(out)


def _expr(arguments: list[Text], _stdin: Text | None, state: State) -> Text | None:
    if any(re.fullmatch(r"[0-9]+|[-+*/%()]|-[0-9]+", word.chars) is None for word in arguments):
        return None
    number = arithmetic.evaluate(spaced(arguments), state)
    return None if number.value is None else written(str(number.value), *number.spans, note=number.note)


def _bc(arguments: list[Text], stdin: Text | None, state: State) -> Text | None:
    if stdin is None or arguments or not stdin.known or not _ARITHMETIC.fullmatch(stdin.chars):
        return None
    number = arithmetic.evaluate(stdin, state)
    return None if number.value is None else written(str(number.value), *number.spans, note=number.note)


def _python(arguments: list[Text], _stdin: Text | None, state: State) -> Text | None:
    if len(arguments) != 2 or arguments[0].chars != "-c":  # noqa: PLR2004 - "-c" and its program
        return None
    program = _PRINT.fullmatch(arguments[1].chars)
    if program is None or re.search(r"(?<!/)/(?!/)|-", program[1]):
        return None  # true division gives a float, and floor division of a negative number another result
    inner = written(program[1].replace("//", "/"), *arguments[1].spans)
    number = arithmetic.evaluate(inner, state)
    return None if number.value is None else written(str(number.value), *arguments[1].spans, note=number.note)


def _dirname(arguments: list[Text], _stdin: Text | None, _state: State) -> Text | None:
    if len(arguments) != 1:
        return None
    path = arguments[0].slice(0, len(arguments[0].chars.rstrip("/")))
    slash = path.chars.rfind("/")
    if slash < 0:
        return written(".", *arguments[0].spans) if arguments[0].known else None
    return path.slice(0, slash) if slash else written("/", *arguments[0].spans)


def _basename(arguments: list[Text], _stdin: Text | None, _state: State) -> Text | None:
    if not arguments:
        return None
    path = arguments[0].slice(0, len(arguments[0].chars.rstrip("/")))
    name = path.slice(path.chars.rfind("/") + 1)
    if len(arguments) > 1 and arguments[1].chars and name.chars.endswith(arguments[1].chars):
        name = name.slice(0, len(name) - len(arguments[1]))
    return name if name.known else None


def _realpath(arguments: list[Text], _stdin: Text | None, _state: State) -> Text | None:
    paths = [word for word in arguments if not word.chars.startswith("-")]
    return tidied(paths[0]) if len(paths) == 1 and paths[0].chars.startswith("/") else None


def tidied(path: Text) -> Text:
    """A path without ``.``, ``..`` and doubled slashes, where it is known."""
    if not path.known or not re.search(r"//|/\.\.?(/|$)|.+/$", path.chars):
        return path
    kept: list[str] = []
    for part in path.chars.split("/"):
        if part == ".." and kept:
            kept.pop()
        elif part not in ("", ".", ".."):
            kept.append(part)
    return written("/" + "/".join(kept), *path.spans)


def _which(arguments: list[Text], _stdin: Text | None, _state: State) -> Text | None:
    """Where a program lies is the machine's; its name is what the script is about."""
    names = [word for word in arguments if not word.chars.startswith("-")]
    if len(names) != 1:
        return None
    return unknowable("$PATH", "where a program lies is the machine's") + written("/") + names[0]


def _cat(arguments: list[Text], stdin: Text | None, state: State) -> Text | None:
    if not arguments or arguments[0].chars == "-":
        return stdin
    texts = [state.files.get(word.display) for word in arguments]
    return None if None in texts else Text.joined(text for text in texts if text is not None)


def _lines(stdin: Text | None) -> list[Text] | None:
    if stdin is None or not stdin.known:
        return None
    return [] if not stdin else stdin.rstrip("\n").split("\n")


def _count(arguments: list[Text], default: int) -> int | None:
    text = "".join(word.chars for word in arguments)
    found = re.fullmatch(r"(?:-n|-)([0-9]{1,6})", text)
    return int(found[1]) if found else default if not arguments else None


def _head(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    lines, count = _lines(stdin), _count(arguments, 10)
    return None if lines is None or count is None else _joined(lines[:count])


def _tail(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    lines, count = _lines(stdin), _count(arguments, 10)
    return None if lines is None or count is None else _joined(lines[-count:] if count else [])


def _joined(lines: list[Text]) -> Text:
    return Text.joined(part for line in lines for part in (line, written("\n")))


def _tr(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    options = [word.chars for word in arguments if word.chars.startswith("-")]
    sets = [_unescaped(word.chars) for word in arguments if not word.chars.startswith("-")]
    if stdin is None or not all(word.known for word in arguments):
        return None
    if (options and not stdin.known) or any(len(each) != 1 and options != ["-d"] for each in sets):
        return None
    sets = [each.replace("[:space:]", " \t\n").replace("[:blank:]", " \t") for each in sets]
    if options == ["-d"] and len(sets) == 1 and "-" not in sets[0] and "[" not in sets[0]:
        return Text(piece._replace(text=_without(piece.text, sets[0]), exact=False) for piece in stdin.pieces)
    if not options and len(sets) == 2:  # noqa: PLR2004 - from and to
        # What is not known stays unknown with other characters in it.
        return Text(
            piece if piece.reason is not None else piece._replace(text=piece.text.replace(sets[0], sets[1]))
            for piece in stdin.pieces
        )
    return None


def _without(text: str, characters: str) -> str:
    return "".join(character for character in text if character not in characters)


def _wc(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    if stdin is None or not stdin.known or len(arguments) != 1:
        return None
    counts = {
        "-l": stdin.chars.count("\n"), "-w": len(stdin.chars.split()), "-c": len(stdin.chars), "-m": len(stdin.chars),
    }  # fmt: skip
    count = counts.get(arguments[0].chars)
    return None if count is None else written(f"{count}\n", *stdin.spans)


def _cut(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    found = re.fullmatch(r"-d ?(.) -f ?([0-9]{1,4})|-f ?([0-9]{1,4}) -d ?(.)", " ".join(w.chars for w in arguments))
    lines = _lines(stdin)
    if found is None or lines is None:
        return None
    separator, field = (found[1], int(found[2])) if found[1] else (found[4], int(found[3]))
    out = []
    for line in lines:
        parts = line.split(separator)
        out.append(line if len(parts) == 1 else parts[field - 1] if 0 < field <= len(parts) else EMPTY)
    return _joined(out)


def _seq(arguments: list[Text], _stdin: Text | None, _state: State) -> Text | None:
    """``seq 0 7``; ``seq -s, 0 7`` is how a list of devices is written."""
    between: Text | None = None
    if arguments and arguments[0].chars.startswith("-s"):
        between = arguments[0].slice(2) if len(arguments[0]) > 2 else arguments[1] if len(arguments) > 1 else None  # noqa: PLR2004 - "-s" itself
        arguments = arguments[1 if len(arguments[0]) > 2 else 2 :]  # noqa: PLR2004 - as above
    numbers = [int(word.chars) for word in arguments if re.fullmatch(r"-?[0-9]{1,9}", word.chars)]
    if len(numbers) != len(arguments) or not 1 <= len(numbers) <= 3:  # noqa: PLR2004 - first, step, last
        return None
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[1])
    if len(numbers) == 3:  # noqa: PLR2004 - as above
        first, step, last = numbers
    if step == 0:
        return None
    spans = tuple(span for word in arguments for span in word.spans)
    steps = range(first, last + (1 if step > 0 else -1), step)[:_MAX_NUMBERS]
    found = [written(str(number), *spans) for number in steps]
    if between is None:
        return _joined(found)
    return Text.joined(part for text in found for part in (between, text)).slice(len(between)) + written("\n")


def _awk(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    found = re.fullmatch(r"(?:-F ?(.) )?\{ ?print (NF|\$[0-9]) ?;?\}", " ".join(w.chars for w in arguments))
    lines = _lines(stdin)
    if found is None or lines is None:
        return None
    out = []
    for line in lines:
        parts = line.split(found[1]) if found[1] else [written(word, *line.spans) for word in line.chars.split()]
        if found[2] == "NF":
            out.append(written(str(len(parts) if line else 0), *line.spans))
        else:
            field = int(found[2][1:])
            out.append(line if field == 0 else parts[field - 1] if field <= len(parts) else EMPTY)
    return _joined(out)


def _grep(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    """``grep -o , | wc -l``: how often a plain text occurs."""
    if stdin is None or not stdin.known or len(arguments) != 2 or arguments[0].chars != "-o":  # noqa: PLR2004 - "-o ,"
        return None
    if re.fullmatch(r"[\w,:/ -]+", arguments[1].chars) is None:
        return None
    return _joined([written(arguments[1].chars, *stdin.spans)] * stdin.chars.count(arguments[1].chars))


def _jq(arguments: list[Text], _stdin: Text | None, _state: State) -> Text | None:
    """``jq -n "[0,1,2] | length"``: the number of visible devices."""
    found = re.fullmatch(r"-n \[([0-9, ]*)\] *\| *length", " ".join(word.chars for word in arguments))
    if found is None:
        return None
    spans = tuple(span for word in arguments for span in word.spans)
    return written(str(len([part for part in found[1].split(",") if part.strip()])), *spans)


def _sed(arguments: list[Text], stdin: Text | None, _state: State) -> Text | None:
    return sed.edited(arguments, stdin)


PROGRAMS: dict[str, Program] = {
    "echo": echo, "printf": printf, "expr": _expr, "bc": _bc, "python": _python, "python3": _python,
    "dirname": _dirname, "basename": _basename, "realpath": _realpath, "readlink": _realpath, "cat": _cat,
    "head": _head, "tail": _tail, "tr": _tr, "wc": _wc, "cut": _cut, "seq": _seq, "awk": _awk, "grep": _grep,
    "jq": _jq, "sed": _sed, "which": _which,
}  # fmt: skip
