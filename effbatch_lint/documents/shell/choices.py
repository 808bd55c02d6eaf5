"""``&&``, ``||``, ``if`` and ``case``: one way where the condition is known, else all that may be gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell import comparisons, conditions, expansion, words
from effbatch_lint.documents.shell.state import FALSE, State, Truth
from effbatch_lint.documents.shell.syntax import Code, statements
from effbatch_lint.documents.shell.text import EMPTY, Text, written

if TYPE_CHECKING:
    from tree_sitter import Node

    from effbatch_lint.documents.shell.interpretation import Interpreter


def connected(shell: Interpreter, code: Code, node: Node, state: State) -> list[State]:
    """``a && b``, ``a || b``. A command that runs outside of the shell is taken to succeed."""
    left, right = statements(node.children)[0], statements(node.children)[-1]
    both = any(child.type == "&&" for child in node.children)
    out: list[State] = []
    for after in shell.statement(code, left, state):
        if after.signal is not None or left is right:
            out.append(after)
            continue
        truth = after.status
        if truth.value is None and truth.kind == "command" and truth.bare is not None:
            truth = Truth.of(truth.bare)

        def follow(each: State) -> list[State]:
            return shell.statement(code, right, each)

        def stop(each: State) -> list[State]:
            return [each]

        ways = (follow, stop) if both else (stop, follow)
        out.extend(shell.branch(after, truth, code.slice(left), *ways))
    return out


def if_statement(shell: Interpreter, code: Code, node: Node, state: State) -> list[State]:
    """``if``, ``elif``, ``else``."""
    clauses: list[tuple[list[Node], list[Node]]] = []
    otherwise: list[Node] = []
    for clause in (node, *(child for child in node.children if child.type in ("elif_clause", "else_clause"))):
        if clause.type == "else_clause":
            otherwise = clause.named_children
            continue
        tokens = [child.type for child in clause.children]
        then = tokens.index("then") if "then" in tokens else len(tokens)
        body = [child for child in clause.children[then:] if child.type not in ("elif_clause", "else_clause")]
        clauses.append((clause.children[1:then], body))
    return _clauses(shell, code, clauses, otherwise, state)


def _clauses(
    shell: Interpreter, code: Code, clauses: list[tuple[list[Node], list[Node]]], otherwise: list[Node], state: State
) -> list[State]:
    if not clauses:
        return shell.sequence(code, otherwise, [state])
    (test, body), rest = clauses[0], clauses[1:]
    truth = shell.condition(code, test, state)
    last = statements(test)[-1:]
    shown = code.slice(last[0]) if last else EMPTY
    return shell.branch(
        state,
        truth,
        shown,
        lambda each: shell.sequence(code, body, [each]),
        lambda each: _clauses(shell, code, rest, otherwise, each),
    )


def case_statement(shell: Interpreter, code: Code, node: Node, state: State) -> list[State]:
    """``case``: the first pattern that matches; all that may, when that is not known."""
    value = node.child_by_field_name("value")
    if value is None:
        return [state]
    shown = code.slice(value)
    word = expansion.joined(shown, state)
    items = [child for child in node.named_children if child.type == "case_item"]

    def choose(index: int, each: State) -> list[State]:
        if index == len(items):
            return [each]
        header, body = _case_item(code, items[index])
        truth = FALSE
        for option in _alternatives(header):
            truth = conditions.any_of(truth, comparisons.matched(word, option, each))
        title = written("case ", *shown.spans[:1]) + shown + written(" in ") + header
        return shell.branch(
            each,
            truth,
            title,
            lambda chosen: shell.sequence(code, body, [chosen]),
            lambda other: choose(index + 1, other),
        )

    return choose(0, state)


def _case_item(code: Code, item: Node) -> tuple[Text, list[Node]]:
    """The patterns of a case item, and its statements."""
    tokens = [child.type for child in item.children]
    end = tokens.index(")") if ")" in tokens else 0
    header = code.text.slice(code.start(item), code.start(item.children[end])).strip()
    return header.slice(1) if header.chars.startswith("(") else header, item.children[end:]


def _alternatives(header: Text) -> list[Text]:
    parts, start, at = [], 0, 0
    while at < len(header.chars):
        if header.chars[at] == "|":
            parts.append(header.slice(start, at).strip())
            start = at = at + 1
        else:
            at = words.skip(header.chars, at)
    return [*parts, header.slice(start).strip()]
