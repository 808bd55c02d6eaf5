"""Shell words -> numbers and options, with the places that wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.documents.shell.text import Text, spaced
from effbatch_lint.launch import Argument
from effbatch_lint.terms import Origin, Term, unknown

if TYPE_CHECKING:
    from collections.abc import Container

_NUMBER = re.compile(r"[0-9](?:_?[0-9]){0,11}")
_FLAG = re.compile(r"(--?)([A-Za-z][\w.\-/]*)(=)?", re.ASCII)
_OVERRIDE = re.compile(r"([+~]{0,2})([A-Za-z_][\w./@\-\[\]]*)=", re.ASCII)


def origins(text: Text, key: str) -> tuple[Origin, ...]:
    """The places of a word as origins of a number."""
    note = text.note
    return tuple(Origin(span, key, note) for span in text.spans) or (Origin(None, key, note),)


def term(text: Text, key: str) -> Term:
    """The whole number that a word spells; unknown with its reason otherwise."""
    where = origins(text, key)
    if not text.known:
        return unknown(f"{key} is {text.display}: {text.reason}", *where, key=key)
    if not _NUMBER.fullmatch(text.chars.strip()):
        return unknown(f"{key} is {text.display!r}, which is no whole number", *where, key=key)
    return Term(int(text.chars.strip().replace("_", "")), "read", where, None, None, key)


def numbers(variables: Mapping[str, Text]) -> dict[str, Term]:
    """The variables that hold a whole number, each with the place that wrote it."""
    return {name: found for name, text in variables.items() if text.known and (found := term(text, name)).known}


class Options(NamedTuple):
    """A launcher's own options.

    Attributes:
        values: value by option name, dashes removed and hyphens for underscores; the last one counts.
        switches: options without a value.
        rest: the words from the program on.
        hidden: a word before the program that is not known and may hold options ("$DIST_ARGS").
        spelled: the option as the line spells it, for messages.
        repeated: every option with its value in order, for those that may be given several times (``--env``).
    """

    values: Mapping[str, Text]
    switches: frozenset[str]
    rest: tuple[Text, ...]
    hidden: Text | None = None
    spelled: Mapping[str, str] = {}
    repeated: tuple[tuple[str, Text], ...] = ()

    def term(self, *names: str) -> Term | None:
        """The number that the first of the options that is given states; None when none is given."""
        for name in names:
            if name in self.values:
                return term(self.values[name], self.spelled.get(name, name))
        return None

    def arguments(self) -> tuple[Argument, ...]:
        """The options with their places."""
        names = {name: self.spelled.get(name, name).lstrip("-") for name in (*self.values, *self.switches)}
        valued = [_argument(names[name], value, _dashes(names[name])) for name, value in self.values.items()]
        return (*valued, *(Argument(names[name], None, _dashes(names[name])) for name in sorted(self.switches)))


def options(
    words: Sequence[Text],
    switches: Container[str] = frozenset(),
    *,
    short: Mapping[str, str] | None = None,
    known: Iterable[str] = (),
) -> Options:
    """Options up to the first word that is none.

    Args:
        words: what follows the launcher's name.
        switches: the options that take no value; every other one takes the next word, as :mod:`argparse` has it.
        short: names of one-letter options, whose value may be glued to them (``-n8``).
        known: all the option names, where abbreviations are understood.
    """
    found: list[tuple[str, Text]] = []
    given: set[str] = set()
    spelled: dict[str, str] = {}
    hidden: Text | None = None
    at = 0
    while at < len(words):
        word = words[at]
        if not word.known and all(piece.reason is not None for piece in word.pieces):
            # A word of which nothing is known, where the program or an option may stand.
            if hidden is None and any(not later.chars.startswith("-") for later in words[at + 1 :]):
                hidden = word
                at += 1
                continue
            break
        if word.chars == "--":
            at += 1
            break
        flag = _FLAG.match(word.chars)
        if flag is None:
            break
        at += 1
        letter = flag[2][0]
        if flag[1] == "-" and short is not None and letter in short:
            name, value = short[letter], word.slice(2) if len(word) > 2 else None  # noqa: PLR2004 - "-n" alone
            spelled[name] = f"-{letter}"
        else:
            name = _full(flag[2].replace("_", "-"), known)
            value = word.slice(flag.end()) if flag[3] else None
            spelled[name] = flag[1] + flag[2]
        if value is None and name in switches:
            given.add(name)
        elif value is None and at < len(words):
            found.append((name, words[at]))
            at += 1
        elif value is not None:
            found.append((name, value))
    return Options(dict(found), frozenset(given), tuple(words[at:]), hidden, spelled, tuple(found))


def _full(name: str, known: Iterable[str]) -> str:
    """The option that an abbreviation means, when it is only one."""
    candidates = [option for option in known if option.startswith(name)]
    return candidates[0] if len(candidates) == 1 and name not in candidates else name


def arguments(words: Sequence[Text]) -> tuple[Argument, ...]:
    """A program's words: flags with their values, ``key=value`` words, positional words.

    No parser of the program is at hand: a flag takes the words up to the next flag or ``key=value``.
    """
    found: list[Argument] = []
    # The script's own arguments, when nobody gave them, are no value of the flag before.
    words = [word for word in words if word.display not in ("$@", "$*")]
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        flag, override = _FLAG.match(word.chars), _OVERRIDE.match(word.chars)
        if flag is not None and (flag[3] or flag.end() == len(word.chars)):
            if flag[3]:
                found.append(_argument(flag[2], word.slice(flag.end()), flag[1]))
                continue
            start = at
            while at < len(words) and not _begins(words[at]):
                at += 1
            values = list(words[start:at])
            if values:
                found.append(_argument(flag[2], _line(values), flag[1]))
            else:
                where = tuple(Origin(span, flag[2]) for span in word.spans)
                found.append(Argument(flag[2], None, flag[1], where))
        elif override is not None:
            found.append(_argument(override[2], word.slice(override.end()), override[1]))
        elif not word.unset:
            found.append(_argument("", word, ""))
    return tuple(found)


def _begins(word: Text) -> bool:
    """Whether a word begins a flag or an override, and so ends the values of the flag before it."""
    flag = _FLAG.match(word.chars)
    return (flag is not None and bool(flag[3] or flag.end() == len(word.chars))) or bool(_OVERRIDE.match(word.chars))


def _dashes(name: str) -> str:
    return "-" if len(name) == 1 else "--"


def _line(values: list[Text]) -> Text:
    """The values with blanks between them; a variable that nobody set, behind them, holds further flags if anything."""
    kept = len(values)
    while kept > 1 and values[kept - 1].unset:
        kept -= 1
    return spaced(values[:kept])


def _argument(name: str, value: Text, dashes: str) -> Argument:
    return Argument(name, value.display, dashes, origins(value, name), value.reason, value.note, value)


def number(argument: Argument) -> Term:
    """The whole number that an argument states."""
    text = argument.text or ""
    if argument.reason is not None:
        return unknown(f"{argument.name} is {text}: {argument.reason}", *argument.origins, key=argument.name)
    if not _NUMBER.fullmatch(text):
        return unknown(f"{argument.name} is {text!r}, which is no whole number", *argument.origins, key=argument.name)
    return Term(int(text.replace("_", "")), "read", argument.origins, None, None, argument.name)


def overrides(found: Iterable[Argument]) -> dict[str, str | bool]:
    """The flags and ``key=value`` words by name; a later one replaces an earlier one; Hydra's ``+`` is kept."""
    result: dict[str, str | bool] = {}
    for argument in found:
        if argument.name:
            name = argument.name if argument.dashes.startswith("-") else argument.dashes + argument.name
            result.pop(name, None)
            result[name] = True if argument.text is None else argument.text
    return result
