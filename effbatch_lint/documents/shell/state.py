"""What a running shell remembers, as far as it matters: variables, functions, arguments, files written, doubts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from effbatch_lint.documents.shell.said import argument_not_given, not_given
from effbatch_lint.documents.shell.text import EMPTY, Text, unknowable, written

if TYPE_CHECKING:
    from tree_sitter import Node

    from effbatch_lint.documents.shell.syntax import Code
    from effbatch_lint.source import Span


class Array(NamedTuple):
    """An array: its elements by index (``0``, ``1``, ...) or, when ``associative``, by key."""

    items: dict[str, Text]
    associative: bool = False

    @classmethod
    def listed(cls, texts: list[Text]) -> Array:
        """The array of these elements, indexed from 0."""
        return cls({str(index): text for index, text in enumerate(texts)})


Value: TypeAlias = Text | Array | None
"""A variable's value; None when the script unset it."""


class Truth(NamedTuple):
    """The outcome of a condition.

    Attributes:
        value: true, false, or None when it cannot be known.
        bare: the outcome in a bare run, without arguments and variables that nobody gave.
        kind: what decides it: a comparison, a test for an empty variable, the success of a command.
    """

    value: bool | None
    bare: bool | None
    kind: Literal["test", "emptiness", "command"] = "test"

    @classmethod
    def of(cls, value: bool) -> Truth:  # noqa: FBT001 - the value itself
        """A known outcome."""
        return cls(value, value)

    def negated(self) -> Truth:
        """The opposite."""
        return Truth(
            None if self.value is None else not self.value, None if self.bare is None else not self.bare, self.kind
        )


UNKNOWN = Truth(None, None)
TRUE = Truth(True, True)
FALSE = Truth(False, False)
SUCCEEDS = Truth(None, True, "command")
"""A command that runs outside of the shell: taken to succeed, and not known to."""


class Condition(NamedTuple):
    """A condition that nobody can decide here, and the way that was followed.

    Attributes:
        text: the condition as it stands in the script.
        span: where.
        holds: which way was followed.
        bare: whether a bare run goes this way; None when not even that is known.
    """

    text: str
    span: Span | None
    holds: bool
    bare: bool | None


Substitute: TypeAlias = Callable[[Text, "State"], Text]
"""Gives the output of a ``$(...)``."""


class State:
    """One possible run of the shell, up to a point. Forked where a condition is not known."""

    __slots__ = (
        "allexport", "arguments", "captured", "conditions", "directory", "exported", "files", "frames", "functions",
        "missing", "script", "signal", "status", "stdin", "substitute", "variables",
    )  # fmt: skip

    def __init__(self, script: str, substitute: Substitute) -> None:
        self.script = script
        self.substitute = substitute
        self.variables: dict[str, Value] = {}
        self.exported: set[str] = set()
        self.allexport = False
        # None: nobody said which arguments the script gets.
        self.arguments: list[Text] | None = None
        self.functions: dict[str, tuple[Code, Node]] = {}
        # Per function call: the values that `local` hid.
        self.frames: list[dict[str, Value | Literal["absent"]]] = []
        # Files written by the script, by the name that it uses.
        self.files: dict[str, Text] = {}
        # None: the folder in which the script is started, which no file states.
        self.directory: Text | None = None
        self.captured: list[Text] | None = None
        self.conditions: tuple[Condition, ...] = ()
        self.signal: str | None = None
        self.status: Truth = TRUE
        # What a loop or a group of commands reads.
        self.stdin: Text | None = None
        # Sourced files that the project does not hold.
        self.missing: tuple[str, ...] = ()

    def fork(self) -> State:
        """A copy that goes its own way."""
        other = State.__new__(State)
        for name in State.__slots__:
            setattr(other, name, getattr(self, name))
        other.variables = {
            name: value._replace(items=dict(value.items)) if isinstance(value, Array) else value
            for name, value in self.variables.items()
        }
        other.exported = set(self.exported)
        other.arguments = None if self.arguments is None else list(self.arguments)
        other.functions = dict(self.functions)
        other.frames = [dict(frame) for frame in self.frames]
        other.files = dict(self.files)
        other.captured = None if self.captured is None else list(self.captured)
        return other

    def adopt(self, other: State) -> None:
        """Become the other run."""
        for name in State.__slots__:
            setattr(self, name, getattr(other, name))

    def same(self, other: State) -> bool:
        """Whether the two runs cannot be told apart from here on."""
        return (
            self.variables == other.variables
            and self.arguments == other.arguments
            and self.files == other.files
            and self.exported == other.exported
            and self.directory == other.directory
            and self.captured == other.captured
            and self.signal == other.signal
            and self.functions.keys() == other.functions.keys()
            and self.status == other.status
        )

    # -- variables ---------------------------------------------------------------------------------------------

    def value(self, name: str) -> Value:
        """The value of a variable; one that the script never set is unknown, and empty in a bare run."""
        if name in self.variables:
            return self.variables[name]
        hint = f"; {', '.join(self.missing)}, which the script sources, is not in the project" if self.missing else ""
        return unknowable(f"${name}", f"{not_given(name)}{hint}", unset=True)

    def text(self, name: str) -> Text:
        """The value as one text: of an array, its element 0."""
        value = self.value(name)
        if isinstance(value, Array):
            return value.items.get("0", EMPTY)
        return EMPTY if value is None else value

    def assign(self, name: str, value: Value) -> None:
        """Set a variable."""
        self.variables[name] = value
        if self.allexport:
            self.exported.add(name)

    def environment(self) -> dict[str, Text]:
        """The exported variables that the script or its caller set."""
        return {name: self.text(name) for name in sorted(self.exported) if self.variables.get(name) is not None}

    def write(self, target: Text, text: Text, *, append: bool) -> None:
        """Keep what is written to a file, when any of it is known, or it may be a config."""
        name = target.display
        kept = any(piece.reason is None for piece in text.pieces) or name.endswith((".json", ".yaml", ".yml", ".toml"))
        if kept and not name.startswith("/dev/"):
            self.files[name] = self.files.get(name, EMPTY) + text if append else text

    # -- arguments ---------------------------------------------------------------------------------------------

    def argument(self, number: int) -> Text:
        """``$1``, ``$2``, ...; ``$0`` is the script."""
        if number == 0:
            return written(self.script)
        if self.arguments is None:
            return unknowable(f"${number}", argument_not_given(number), unset=True)
        return self.arguments[number - 1] if number <= len(self.arguments) else EMPTY

    def all_arguments(self) -> list[Text]:
        """``$@``: one unknown word when nobody said what it holds."""
        if self.arguments is None:
            return [unknowable("$@", "the script's arguments are not given", unset=True)]
        return self.arguments

    # -- functions ---------------------------------------------------------------------------------------------

    def local(self, name: str) -> None:
        """Let the running function have a variable of its own."""
        if self.frames:
            self.frames[-1].setdefault(name, self.variables.get(name, "absent"))

    def leave(self) -> None:
        """End a function: its local variables have their outer values again."""
        self.restore(self.frames.pop())

    def restore(self, hidden: dict[str, Value | Literal["absent"]]) -> None:
        """Give variables back the values that they had before."""
        for name, value in hidden.items():
            if value == "absent":
                self.variables.pop(name, None)
            else:
                self.variables[name] = value
