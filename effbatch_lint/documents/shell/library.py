"""A script of functions alone: it is sourced, and one of its functions is called by hand.

What it would start is what each function starts that no other one calls, with arguments that nobody has given
(facebookresearch/fairseq, examples/normformer/train_lm.sh: ``train_125M --lr 3e-3``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.interpretation import Interpreter
    from effbatch_lint.documents.shell.state import State


def follow_functions(interpreter: Interpreter, after: State) -> None:
    """Add to the interpreter's commands those of the functions that stand alone in a shell that has run nothing."""
    bodies = {name: code.slice(body).chars for name, (code, body) in after.functions.items()}
    for name, (code, body) in list(after.functions.items()):
        if '"$@"' not in bodies[name] or any(_calls(text, name) for other, text in bodies.items() if other != name):
            continue
        called = after.fork()
        called.arguments = None
        called.frames.append({})
        interpreter.statement(code, body, called)


def _calls(body: str, name: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", body) is not None
