"""HyperPyYAML's references: ``!ref <key>``, ``!ref <section[key]>``, ``!ref <batch_size> * 2``, ``!copy <key>``.

A reference that is the whole text keeps the type of what it names; others are put into the text, which is then
computed when it is plain arithmetic (``/`` gives a float). What ``!new:``, ``!name:``, ``!apply:`` and ``!include:``
make is known only to the running program, and a ``!PLACEHOLDER`` is given on the command line.

Source: speechbrain/HyperPyYAML hyperpyyaml/core.py (recursive_resolve, deref, parse_arithmetic).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Unresolved, assumed_at, origin_of
from effbatch_lint.documents.nodes import Mapping, Scalar
from effbatch_lint.documents.scalars import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

    from effbatch_lint.compose.config import Config, Place, Resolver
    from effbatch_lint.documents.scalars import Value
    from effbatch_lint.terms import Origin

_REFERENCE = r"<[^>]*>"
_ARITHMETIC = r"[-+*/%(). 0-9eE_]*[0-9.) ]"
MAX_STEPS = 100
MAX_LENGTH = 2_000


def referencing(root: Mapping) -> Resolver:
    """Gives scalars of the tree at ``root`` their values, references followed."""

    def resolver(config: Config, scalar: Scalar, key: str) -> tuple[Value | Unresolved, tuple[Origin, ...]]:
        references = _References(root, config.assumed)
        try:
            return references.scalar(scalar), tuple(references.origins)
        except _Unknown as error:
            shown = f"{scalar.tag} {scalar.text}".strip() if scalar.tag else scalar.text
            return Unresolved(f"{key} is {shown}: {error}"), tuple(references.origins)

    return resolver


class _Unknown(Exception):
    """A reference without a value, and why."""


class _References:
    """Follows the references of one value; ``origins`` are the places that it names on the way."""

    def __init__(self, root: Mapping, assumed: AbstractMapping[Place, int]) -> None:
        self.root = root
        self._assumed = assumed
        self.origins: list[Origin] = []
        self._steps = 0

    def scalar(self, scalar: Scalar) -> Value:
        assumed = assumed_at(self._assumed, scalar) if self._assumed else None
        if assumed is not None:
            return assumed
        tag = scalar.tag or ""
        if tag in ("!ref", "!copy"):
            return self._text(scalar.text, scalar)
        if tag == "!PLACEHOLDER":
            raise _Unknown("to be given on the command line")
        if tag.startswith("!"):
            raise _Unknown("made by code")
        return resolve(scalar, "pyyaml")

    def _text(self, text: str, at: Scalar) -> Value:
        self._steps += 1
        if self._steps > MAX_STEPS or len(text) > MAX_LENGTH:
            raise _Unknown("the references lead in a circle, or too far")
        if re.search(_REFERENCE, text) is None:
            return text
        if re.fullmatch(_REFERENCE, text):
            value = self.scalar(self._named(text[1:-1]))
            return self._text(value, at) if isinstance(value, str) else value
        filled = self._text(re.sub(_REFERENCE, lambda found: self._inside(found[0][1:-1], at), text), at)
        return _computed(filled) if isinstance(filled, str) else filled

    def _inside(self, name: str, at: Scalar) -> str:
        """A value as a part of a text. A reference further down is not yet resolved then, and put in as it is written."""
        named = self._named(name)
        if named.tag in ("!ref", "!copy") and named.span and at.span and named.span[1:3] > at.span[1:3]:
            return named.text
        value = str(self.scalar(named))
        if len(value) > MAX_LENGTH:
            raise _Unknown(f"a text of more than {MAX_LENGTH:,} characters")
        return value

    def _named(self, name: str) -> Scalar:
        if "." in name:
            raise _Unknown(f"<{name}> is an attribute of an object")
        node: Mapping = self.root
        keys = [part.strip("]") for part in name.split("[")]
        for key in keys[:-1]:
            below = node.get(key)
            if not isinstance(below, Mapping):
                raise _Unknown(f"there is no section <{key}>")
            node = below
        entry = node.entries.get(keys[-1])
        if entry is None:
            raise _Unknown(f"there is no key <{name}>")
        if not isinstance(entry.value, Scalar):
            raise _Unknown(f"<{name}> is no single value")
        self.origins.append(origin_of(entry, name))
        return entry.value


def _computed(text: str) -> Value:
    """The text's value as arithmetic, or the text."""
    if re.fullmatch(_ARITHMETIC, text) is None:
        return text
    from effbatch_lint.compose.arithmetic import evaluate  # noqa: PLC0415 - few references compute

    try:
        return evaluate(text)
    except ValueError:
        return text
