"""Statements, followed without running anything: which commands would be started, with which words.

Where a condition is known, one way is followed; where it is not, both, and the commands found remember it. Loops over
known lists are gone through; a loop of unknown length is gone through once, and what it changes is unknown after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell import choices, conditions, expansion, loops, streams, words
from effbatch_lint.documents.shell.branches import settled
from effbatch_lint.documents.shell.state import UNKNOWN, Condition, State, Truth
from effbatch_lint.documents.shell.syntax import SIMPLE, STATEMENTS, Code, inside, statements
from effbatch_lint.documents.shell.text import Text, unknowable
from effbatch_lint.source import Span, Unreadable

if TYPE_CHECKING:
    from tree_sitter import Node

    from effbatch_lint.documents.shell.command import Command

Read = Callable[[Text, State], "Text | None"]
"""Finds a file of the project (or one that the script has written) by the name that the script uses."""

MAX_STEPS = 20_000
MAX_ROUNDS = 64
# A sweep over five nested loops is looked at in part: past this many steps every loop is gone through once.
PATIENCE = 1_500
MAX_DEPTH = 40
TOO_DEEP = "nests calls deeper than the limit of"


class Interpreter:
    """Follows one script; ``commands`` are what it would start, in order."""

    def __init__(self, read: Read, path: str) -> None:
        self.read = read
        self.path = path
        self.commands: list[Command] = []
        self.steps = 0
        self.depth = 0
        # The functions that are running, and those that call themselves deeper than they are followed.
        self.calls: list[str] = []
        self.endless: set[str] = set()

    # -- sequences ---------------------------------------------------------------------------------------------

    def run(self, text: Text, state: State) -> list[State]:
        """Follow a script text in a shell."""
        code = Code(text)
        self.deeper(1)
        states = self.sequence(code, code.root.named_children, [state])
        self.deeper(-1)
        return states

    def deeper(self, levels: int) -> None:
        """Count nested texts and calls: a function that calls itself must end."""
        self.depth += levels
        if self.depth > MAX_DEPTH:
            raise Unreadable(self._here(), f"the script {TOO_DEEP} {MAX_DEPTH}")

    def _here(self) -> Span:
        return Span(self.path, 1, 1, 1, 1)

    def substitute(self, text: Text, state: State) -> Text:
        """The output of ``$(text)``."""
        stripped = text.strip()
        if stripped.chars.startswith("<") and not stripped.chars.startswith("<("):
            name = expansion.joined(stripped.slice(1).strip(), state)
            found = self.read(name, state)
            return unknowable(f"$({text.display})", f"{name.display} is not in the project") if found is None else found
        child = state.fork()
        child.captured = []
        after = self.run(text, child)
        state.files.update(after[0].files)
        state.status = after[0].status
        outputs = [Text.joined(each.captured or ()) for each in after]
        if any(output != outputs[0] for output in outputs):
            return unknowable(f"$({text.display})", "it depends on conditions that are not known", *text.spans[:1])
        return outputs[0]

    def sequence(self, code: Code, nodes: Sequence[Node], states: list[State]) -> list[State]:
        """Statements one after the other, in every possible run."""
        for node in nodes:
            if node.type not in STATEMENTS:
                continue
            active = [state for state in states if state.signal is None]
            if not active:
                break
            before = len(self.commands)
            after = [result for state in active for result in self.statement(code, node, state)]
            if node.next_sibling is not None and node.next_sibling.type == "&":
                self.commands[before:] = [each._replace(background=True) for each in self.commands[before:]]
            states = settled([*after, *(state for state in states if state.signal is not None)])
        return states

    def statement(self, code: Code, node: Node, state: State) -> list[State]:
        """One statement: the runs that come out of it."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Unreadable(self._here(), f"the script takes more than the limit of {MAX_STEPS:,} steps to follow")
        match node.type:
            case kind if kind in SIMPLE:
                return streams.plain(self, code, node, state, streams.Streams())
            case "redirected_statement":
                return streams.redirected(self, code, node, state)
            case "list":
                return choices.connected(self, code, node, state)
            case "pipeline":
                return self.pipeline(code, statements(node.children), state)
            case "negated_command":
                after = [each for child in statements(node.children) for each in self.statement(code, child, state)]
                for each in after:
                    each.status = each.status.negated()
                return after
            case "subshell":
                return self.subshell(code, node.named_children, state)
            case "compound_statement" if node.children[0].type == "((":
                state.status = conditions.arithmetic_truth(inside(code.slice(node), 2), state)
                return [state]
            case "test_command":
                state.status = self.tested(code, node, state)
                return [state]
            case "if_statement":
                return choices.if_statement(self, code, node, state)
            case "case_statement":
                return choices.case_statement(self, code, node, state)
            case "for_statement":
                return loops.for_statement(self, code, node, state)
            case "c_style_for_statement":
                return loops.counting_loop(self, code, node, state)
            case "while_statement":
                return loops.while_statement(self, code, node, state)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    state.functions[code.slice(name).chars] = (code, body)
                return [state]
        return self.sequence(code, node.named_children, [state])

    # -- conditions --------------------------------------------------------------------------------------------

    def truth(self, code: Code, node: Node, state: State) -> Truth:
        """What a condition comes to. The state takes the side effects of the way that a bare run would go."""
        if node.type == "list":
            left, right = statements(node.children)[0], statements(node.children)[-1]
            first = self.truth(code, left, state)
            both = any(child.type == "&&" for child in node.children)
            if first.value is (not both):
                return first
            second = self.truth(code, right, state)
            return conditions.all_of(first, second) if both else conditions.any_of(first, second)
        if node.type == "negated_command" and statements(node.children):
            return self.truth(code, statements(node.children)[0], state).negated()
        after = self.statement(code, node, state)
        state.adopt(after[0])
        return state.status if len(after) == 1 or all(each.status == state.status for each in after) else UNKNOWN

    def condition(self, code: Code, nodes: Sequence[Node], state: State) -> Truth:
        """The last of the statements between ``if`` and ``then``."""
        found = statements(nodes)
        if not found:
            return UNKNOWN
        for node in found[:-1]:
            state.adopt(self.statement(code, node, state)[0])
        return self.truth(code, found[-1], state)

    def tested(self, code: Code, node: Node, state: State) -> Truth:
        """``[ ]``, ``[[ ]]`` and ``(( ))``."""
        text = code.slice(node)
        if text.chars.startswith("[["):
            return conditions.extended(inside(text, 2), state)
        if text.chars.startswith("(("):
            return conditions.arithmetic_truth(inside(text, 2), state)
        return conditions.test(expansion.all_fields(words.split(inside(text, 1)), state))

    def branch(
        self,
        state: State,
        truth: Truth,
        shown: Text,
        when_true: Callable[[State], list[State]],
        when_false: Callable[[State], list[State]],
    ) -> list[State]:
        """Go one way where the condition is known, else both, the way of a bare run first.

        A test for an empty variable is followed as in a bare run, unless that run ends there: then the variable is
        one that somebody has to fill in (``CONTAINER=""`` at the top of the script), and the way on is meant.
        """
        if truth.value is not None and truth.kind != "emptiness":
            return (when_true if truth.value else when_false)(state)
        first = truth.bare is not False
        asks = truth.kind == "emptiness" and truth.bare is not None
        ways = {True: when_true, False: when_false}
        other = state.fork()
        if not asks:
            _doubt(state, shown, holds=first, bare=None if truth.bare is None else True)
        state.status = Truth.of(first)
        taken = ways[first](state)
        ended = all(each.signal == "exit" for each in taken)
        if truth.value is not None:
            ended = ended and all(each.status.value is False for each in taken)
        if asks and not ended:
            return taken
        # Where a bare run ends, the way on is the one that is meant.
        _doubt(other, shown, holds=not first, bare=None if ended or truth.bare is None else False)
        other.status = Truth.of(not first)
        return [*taken, *ways[not first](other)]

    # -- loops -------------------------------------------------------------------------------------------------

    def rounds(self) -> int:
        """How often a loop may still be gone through."""
        return MAX_ROUNDS if self.steps < PATIENCE else 1

    # -- groups ------------------------------------------------------------------------------------------------

    def subshell(self, code: Code, nodes: Sequence[Node], state: State) -> list[State]:
        """``( ... )``: what it changes ends with it; what it prints and writes stays."""
        after = self.sequence(code, nodes, [state.fork()])
        return [self._back(state, after)]

    def _back(self, state: State, after: list[State]) -> State:
        for each in after:
            state.files.update(each.files)
        state.captured = after[0].captured
        state.status = after[0].status if after[0].signal is None else UNKNOWN
        return state

    def pipeline(self, code: Code, nodes: Sequence[Node], state: State, stdin: Text | None = None) -> list[State]:
        """``a | b``: each in a shell of its own, fed with the output of the one before it."""
        fed = stdin
        for index, node in enumerate(nodes):
            child = state.fork()
            child.stdin = fed if fed is not None else state.stdin
            last = index == len(nodes) - 1
            child.captured = child.captured if last else []
            after = self.statement(code, node, child)
            state.files.update(after[0].files)
            if last:
                return [self._back(state, after)]
            outputs = [Text.joined(each.captured or ()) for each in after]
            why = "it depends on conditions that are not known"
            fed = outputs[0] if all(output == outputs[0] for output in outputs) else unknowable("...", why)
        return [state]


def _doubt(state: State, shown: Text, *, holds: bool, bare: bool | None) -> None:
    """Remember that a condition was taken to hold, or not to."""
    state.conditions = (*state.conditions, Condition(shown.display.strip(), shown.place(), holds, bare))
