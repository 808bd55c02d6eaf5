"""``for``, ``while``, ``until``: a round per known word; one round, with doubt, where the number is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.documents.shell import arithmetic, conditions, expansion, words
from effbatch_lint.documents.shell.branches import blur, settled
from effbatch_lint.documents.shell.said import UNLESS_GIVEN
from effbatch_lint.documents.shell.state import State, Value
from effbatch_lint.documents.shell.syntax import Code, statements
from effbatch_lint.documents.shell.text import Text, unknowable

if TYPE_CHECKING:
    from tree_sitter import Node

    from effbatch_lint.documents.shell.interpretation import Interpreter


def for_statement(shell: Interpreter, code: Code, node: Node, state: State) -> list[State]:
    """``for x in words``: a round per word; one round with an unknown word when the list is not known."""
    name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
    if name is None or body is None:
        return [state]
    opening = next((child for child in node.children if child.type == "in"), None)
    if opening is None:
        values = state.all_arguments()
    else:
        header = code.text.slice(code.end(opening), code.start(body)).strip(" \t\n;")
        values = expansion.all_fields(words.split(header), state)
    states = [state]
    for done, value in enumerate(values):
        if value.unset:
            continue
        # Asked anew in each round: what is inside it may have used up the patience.
        cut_short = done + 1 >= shell.rounds() and done + 1 < len(values)
        if value.known or node.children[0].type == "for":
            sure = value.known and not cut_short
            states = one_round(shell, code, body, states, (code.slice(name).chars, value), sure=sure)
        if cut_short or all(each.signal is not None for each in states):
            break
    return [_left_loop(each) for each in states]


def one_round(
    shell: Interpreter,
    code: Code,
    body: Node,
    states: list[State],
    variable: tuple[str, Value] | None = None,
    *,
    sure: bool = True,
) -> list[State]:
    """One round of a loop; not ``sure``: it may also never happen, or be followed by others that are not gone through."""
    out: list[State] = []
    for state in states:
        if state.signal is not None:
            out.append(state)
            continue
        before = None if sure else state.fork()
        if variable is not None:
            state.assign(*variable)
        for after in shell.sequence(code, body.named_children, [state]):
            if after.signal == "continue":
                after.signal = None
            if before is not None and after.signal in (None, "exit"):
                after.signal = None
                blur(after, before, "it changes in a loop, and how often that runs is not known")
            out.append(after)
    return settled(out)


def counting_loop(shell: Interpreter, code: Code, node: Node, state: State) -> list[State]:
    """``for ((i = 0; i < n; i++))``."""
    tokens = [child.type for child in node.children]
    body = node.child_by_field_name("body")
    if "((" not in tokens or "))" not in tokens or body is None:
        return [state]
    opening, closing = node.children[tokens.index("((")], node.children[tokens.index("))")]
    parts = code.text.slice(code.end(opening), code.start(closing)).split(";")
    if len(parts) != 3:  # noqa: PLR2004 - start; condition; step
        return [state]
    arithmetic.evaluate(parts[0], state)
    states = [state]
    rounds = shell.rounds()
    for done in range(1, rounds + 1):
        truths = [conditions.arithmetic_truth(parts[1], each) for each in states if each.signal is None]
        if not truths or any(truth.value is False for truth in truths):
            break
        sure = all(truth.value for truth in truths) and done < rounds
        states = one_round(shell, code, body, states, sure=sure)
        if not sure:
            break
        for each in states:
            arithmetic.evaluate(parts[2], each)
    return [_left_loop(each) for each in states]


def while_statement(shell: Interpreter, code: Code, node: Node, state: State) -> list[State]:
    """``while`` and ``until``; not entered when a bare run would not enter it."""
    body = node.child_by_field_name("body")
    if body is None:
        return [state]
    test = [child for child in statements(node.children[1:]) if child != body]
    until = node.children[0].type == "until"
    states, finished = [state], list[State]()
    rounds = shell.rounds()
    for done in range(1, rounds + 1):
        going: list[State] = []
        for each in states:
            before = each.fork()
            truth = shell.condition(code, test, each)
            truth = truth.negated() if until else truth
            if truth.value is False:
                finished.append(each)
                continue
            if truth.value is None and truth.bare is False:
                _perhaps(shell, code, body, each)
                finished.append(each)
                continue
            sure = truth.value is True and done < rounds
            for after in one_round(shell, code, body, [each], sure=sure):
                if after.signal is not None or not sure or after.same(before):
                    finished.append(after)
                else:
                    going.append(after)
        states = settled(going)
        if not states:
            break
    return [_left_loop(each) for each in settled([*finished, *states])]


def _perhaps(shell: Interpreter, code: Code, body: Node, state: State) -> None:
    """A loop over arguments that nobody gave (``while [ $# -gt 0 ]``): what it would set keeps the script's default.

    A variable whose default is empty is one that an argument has to fill.
    """
    mark = len(shell.commands)
    for after in shell.sequence(code, body.named_children, [state.fork()]):
        if after.signal == "exit":
            continue
        for name, value in after.variables.items():
            held = state.variables.get(name)
            if value == held or not isinstance(held, Text):
                continue
            if held:
                state.variables[name] = held.noted(UNLESS_GIVEN)
            else:
                why = f"{name} is set from the script's arguments, which are not given"
                state.variables[name] = unknowable(f"${name}", why, unset=True)
    del shell.commands[mark:]


def _left_loop(state: State) -> State:
    if state.signal in ("break", "continue"):
        state.signal = None
    return state
