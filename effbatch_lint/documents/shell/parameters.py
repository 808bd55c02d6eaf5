"""``$X`` and ``${X...}``: the value of a parameter, an element or all of an array, its length, its name by indirection.

Source: the bash manual, section "Shell Parameter Expansion". What stands behind the name is
:mod:`effbatch_lint.documents.shell.operators`'s.
"""

from __future__ import annotations

import re

from effbatch_lint.documents.shell import arithmetic, expansion, operators, words
from effbatch_lint.documents.shell.operators import Parameter
from effbatch_lint.documents.shell.state import Array, State
from effbatch_lint.documents.shell.text import EMPTY, MARK, Text, unknowable, written

_HEAD = re.compile(r"([!#]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])")


def value(name: str, state: State, shown: Text) -> Text | list[Text] | Array:
    """A parameter's value: a list for ``$@``, an array for ``$*``."""
    if name == "@":
        return _placed(state.all_arguments(), shown)
    if name == "*":
        return Array.listed(_placed(state.all_arguments(), shown))
    return _placed([_single(name, state, shown)], shown)[0]


def _single(name: str, state: State, shown: Text) -> Text:
    if name.isdecimal():
        return state.argument(int(name[:6]))
    if name == "#":
        if state.arguments is None:
            return unknowable("$#", "the script's arguments are not given", unset=True)
        return written(str(len(state.arguments)), *shown.spans)
    if name == "?":
        if state.status.value is None:
            return unknowable("$?", "the success of a command is not known before it runs")
        return written("0" if state.status.value else "1", *shown.spans)
    if name in "$!-":
        return unknowable(f"${name}", f"${name} is the running shell's")
    if name == "PWD" and state.directory is not None:
        return state.directory
    return state.text(name)


def _placed(texts: list[Text], shown: Text) -> list[Text]:
    """The texts, with the place of use for unknown pieces that have none of their own."""
    if all(text.known for text in texts):
        return texts
    return [
        Text(
            piece if piece.reason is None or piece.spans else piece._replace(spans=shown.spans[:1])
            for piece in text.pieces
        )
        for text in texts
    ]


def expand(inner: Text, shown: Text, state: State, *, quoted: bool) -> Text | list[Text] | Array:
    """The value of ``${inner}``; ``shown`` is the whole expansion as it stands in the script."""
    head = _HEAD.match(inner.chars) if inner.chars != "#" else re.match("()(#)", "#")
    if head is None:
        return unknowable(shown.display, f"{shown.display} is no expansion that is understood", *shown.spans[:1])
    prefix, name, end = head[1], head[2], head.end()
    subscript = None
    if inner.chars.startswith("[", end):
        closing = words.brackets(inner.chars, end)
        subscript, end = inner.slice(end + 1, closing - 1), closing
    rest = inner.slice(end)
    if prefix == "#" and not rest:
        return _length(name, subscript, state, shown)
    if prefix == "!":
        return _indirect(name, subscript, rest, state, shown)
    found = _subscripted(name, subscript, state, shown)
    return operators.applied(found, rest, Parameter(name, subscript, state, shown, quoted))


def _subscripted(name: str, subscript: Text | None, state: State, shown: Text) -> Text | list[Text] | Array:
    if subscript is None:
        return value(name, state, shown)
    index = subscript.chars
    held = state.value(name)
    if index in ("@", "*"):
        items = ordered(held) if isinstance(held, Array) else [] if held is None else _placed([held], shown)
        return items if index == "@" else Array.listed(items)
    if not isinstance(held, Array):
        held = Array({} if held is None else {"0": held})
    if not held.associative:
        number = arithmetic.evaluate(subscript, state)
        if number.value is None:
            why = f"the index {subscript.display} is not known: {number.reason}"
            return unknowable(shown.display, why, *shown.spans[:1])
        position = number.value
        if position < 0:
            position += 1 + max((int(key) for key in held.items), default=-1)
        index = str(position)
    else:
        index = expansion.joined(subscript, state).chars
    item = held.items.get(index, EMPTY)
    # Of a list of unknown length no element is known.
    if not item.chars and (hidden := next((text for text in held.items.values() if text.chars == MARK), None)):
        return unknowable(shown.display, hidden.reason or "", *shown.spans[:1], unset=hidden.unset)
    return item


def ordered(array: Array) -> list[Text]:
    """The elements of an array in the order of their indices."""
    if array.associative:
        return list(array.items.values())
    return [array.items[key] for key in sorted(array.items, key=int)]


def _length(name: str, subscript: Text | None, state: State, shown: Text) -> Text:
    if (subscript is not None and subscript.chars in ("@", "*")) or name in "@*":
        held = state.value(name) if subscript else Array.listed(state.all_arguments())
        items = ordered(held) if isinstance(held, Array) else [] if held is None else [held]
        hidden = next((item for item in items if item.chars == MARK), None)
        if hidden is not None:
            return unknowable(shown.display, hidden.reason or "", *shown.spans[:1], unset=hidden.unset)
        return written(str(len(items)), *(span for item in items for span in item.spans))
    held_text = _subscripted(name, subscript, state, shown)
    assert isinstance(held_text, Text)
    if not held_text.known:
        return unknowable(shown.display, held_text.reason or "", *shown.spans[:1])
    return written(str(len(held_text.chars)), *held_text.spans)


def _indirect(name: str, subscript: Text | None, rest: Text, state: State, shown: Text) -> Text | list[Text] | Array:
    if subscript is not None and subscript.chars in ("@", "*"):
        held = state.value(name)
        if not isinstance(held, Array):
            return []
        hidden = next((text for text in held.items.values() if text.chars == MARK), None)
        if hidden is not None and not held.associative:
            # A list of unknown length has nobody knows how many indices.
            return unknowable(shown.display, hidden.reason or "", *shown.spans[:1], unset=hidden.unset)
        keys = list(held.items) if held.associative else sorted(held.items, key=int)
        return [written(key, *shown.spans[:1]) for key in keys]
    if rest.chars in ("*", "@"):
        return [written(known) for known in sorted(state.variables) if known.startswith(name)]
    target = _single(name, state, shown)
    if not target.known or not re.fullmatch(r"[A-Za-z_]\w*", target.chars):
        return unknowable(shown.display, target.reason or f"{shown.display} names no variable", *shown.spans[:1])
    found = value(target.chars, state, shown)
    return operators.applied(found, rest, Parameter(target.chars, None, state, shown, quoted=True))
