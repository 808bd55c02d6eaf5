"""Redirections: what a statement reads, and the file that it writes.

A here-document that ``cat`` puts into a file is how scripts write a DeepSpeed or accelerate config: the file is kept,
with the places of its characters in the script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.shell import expansion, simple, words
from effbatch_lint.documents.shell.syntax import REDIRECTIONS, SIMPLE, STATEMENTS, Code, inside, statements
from effbatch_lint.documents.shell.text import EMPTY, Text, unknowable, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from effbatch_lint.documents.shell.interpretation import Interpreter
    from effbatch_lint.documents.shell.state import State


class Streams(NamedTuple):
    """What redirections do to a statement.

    Attributes:
        stdin: what it reads.
        target: the file that takes its output, appended to it or not.
        append: as said.
        words: further words of the command, written after a redirection.
        piped: commands that its output goes to, written on the line of a here-document's start.
        then: statements that follow on that line, each with the ``&&`` or ``||`` before it.
    """

    stdin: Text | None = None
    target: Text | None = None
    append: bool = False
    words: tuple[Text, ...] = ()
    piped: tuple[Node, ...] = ()
    then: tuple[tuple[str, Node], ...] = ()


def redirected(shell: Interpreter, code: Code, node: Node, state: State) -> list[State]:
    """A statement with redirections: its input, and the file that it writes."""
    body = node.child_by_field_name("body")
    streams = read_streams(shell, code, [child for child in node.children if child != body], state)
    if body is None:
        return [state]
    outer = state.captured
    if streams.target is not None or streams.piped:
        state.captured = []
    if body.type in SIMPLE:
        # The grammar loses a lone "-" before a here-document (`python - <<EOF`).
        first = next((child for child in node.children if child.type in REDIRECTIONS), None)
        if first is not None and code.start(first) > code.end(body):
            lost = words.split(code.text.slice(code.end(body), code.start(first)))
            streams = streams._replace(words=(*lost, *streams.words))
        after = plain(shell, code, body, state, streams)
    else:
        previous = state.stdin
        state.stdin = streams.stdin if streams.stdin is not None else state.stdin
        after = shell.statement(code, body, state)
        for each in after:
            each.stdin = previous
    out: list[State] = []
    for each in after:
        if streams.target is not None or streams.piped:
            text = Text.joined(each.captured or ())
            each.captured = None if outer is None else list(outer)
            if streams.target is not None:
                each.write(streams.target, text, append=streams.append)
                text = EMPTY
            if streams.piped:
                out.extend(shell.pipeline(code, streams.piped, each, text))
                continue
        out.append(each)
    for connective, following in streams.then:
        out = [
            result
            for each in out
            for result in (
                shell.statement(code, following, each)
                if each.signal is None and (connective == "&&") is (each.status.bare is not False)
                else [each]
            )
        ]
    return out


def plain(shell: Interpreter, code: Code, node: Node, state: State, streams: Streams) -> list[State]:
    """A simple command with its redirections, those inside it included."""
    inner = [child for child in node.children if child.type in REDIRECTIONS]
    if inner:
        found = read_streams(shell, code, inner, state)
        stdin = streams.stdin if found.stdin is None else found.stdin
        streams = streams._replace(stdin=stdin, words=(*streams.words, *found.words))
    *earlier, last = _lines(code, node, inner)
    states = [state]
    for line in earlier:
        states = [after for each in states for after in simple.run(shell, line, each, each.stdin)]
    stdin = streams.stdin
    return [
        after
        for each in states
        for after in simple.run(shell, [*last, *streams.words], each, each.stdin if stdin is None else stdin)
    ]


def _lines(code: Code, node: Node, holes: list[Node]) -> list[list[Text]]:
    """The raw words of a simple command, without the redirections inside it.

    The grammar takes ``A=1 B=2`` and the command on the next line for one command. What a loop or several possible runs
    go through again is cut into words once.
    """
    found = code.lines.get(node.id)
    if found is None:
        found = [line for line in words.lines(Text.joined(_around(code, node, holes))) if line] or [[]]
        code.lines[node.id] = found
    return found


def _around(code: Code, node: Node, holes: list[Node]) -> list[Text]:
    """The text of a node without the redirections inside it."""
    parts, start = [], code.start(node)
    for hole in holes:
        parts += [code.text.slice(start, code.start(hole)), written(" ")]
        start = code.end(hole)
    return [*parts, code.text.slice(start, code.end(node))]


_STDERR = written("/dev/stderr")


def read_streams(shell: Interpreter, code: Code, nodes: Sequence[Node], state: State) -> Streams:
    """What redirections do; a here-document's later words and pipe stand inside its node."""
    streams = Streams()
    for node in nodes:
        if node.type == "file_redirect":
            streams = _file(shell, code, node, state, streams)
        elif node.type == "herestring_redirect":
            raw = code.text.slice(code.start(node) + 3, code.end(node)).strip()
            streams = streams._replace(stdin=expansion.joined(raw, state) + written("\n"))
        elif node.type == "heredoc_redirect":
            streams = _document(shell, code, node, state, streams)
    return streams


def _file(shell: Interpreter, code: Code, node: Node, state: State, streams: Streams) -> Streams:
    destinations = node.children_by_field_name("destination")
    if not destinations:
        return streams
    descriptor = node.child_by_field_name("descriptor")
    sign = next((child.type for child in node.children if not child.is_named), "")
    target = expansion.joined(code.slice(destinations[0]), state)
    streams = streams._replace(words=(*streams.words, *(code.slice(extra) for extra in destinations[1:])))
    if sign == "<":
        raw = code.slice(destinations[0])
        if raw.chars.startswith("<("):
            return streams._replace(stdin=shell.substitute(inside(raw.slice(1), 1), state))
        found = shell.read(target, state)
        missing = unknowable(f"< {target.display}", f"{target.display} is not in the project")
        return streams._replace(stdin=missing if found is None else found)
    output = descriptor is None or code.slice(descriptor).chars == "1"
    if sign in (">", ">>", ">|", "&>", "&>>") and output:
        return streams._replace(target=target, append=sign.endswith(">>"))
    if sign == ">&" and target.chars == "2" and output:
        return streams._replace(target=_STDERR, append=True)  # no part of what "$(...)" catches
    return streams


def _document(shell: Interpreter, code: Code, node: Node, state: State, streams: Streams) -> Streams:
    opening = next((child for child in node.children if child.type == "heredoc_start"), None)
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    end = next((child for child in node.children if child.type == "heredoc_end"), None)
    if opening is None:
        return streams
    text = EMPTY
    if body is not None:
        # The grammar drops the blanks before the first line, and those before the closing word belong to no line.
        start = code.text.chars.rfind("\n", 0, code.start(body)) + 1
        stop = code.end(body) if end is None else code.text.chars.rfind("\n", 0, code.start(end)) + 1
        text = code.text.slice(start, max(start, stop))
    if any(child.type == "<<-" for child in node.children):
        text = Text.joined(_untabbed(text))
    if not any(quote in code.slice(opening).chars for quote in "'\"\\"):
        text = expansion.within_quotes(text, state, document=True)
    streams = streams._replace(stdin=text)
    connective = ""
    for child in node.children:
        if child.type == "file_redirect":
            streams = _file(shell, code, child, state, streams)
        elif child.type == "pipeline":
            streams = streams._replace(piped=(*streams.piped, *statements(child.children)))
        elif child.type in ("&&", "||"):
            connective = child.type
        elif connective and child.type in STATEMENTS:
            streams = streams._replace(then=(*streams.then, (connective, child)))
        elif child.type not in ("heredoc_start", "heredoc_body", "heredoc_end") and child.is_named and not connective:
            streams = streams._replace(words=(*streams.words, code.slice(child)))
    return streams


def _untabbed(text: Text) -> list[Text]:
    out = []
    for line in text.split("\n"):
        out += [line.slice(len(line.chars) - len(line.chars.lstrip("\t"))), written("\n")]
    return out[:-1]
