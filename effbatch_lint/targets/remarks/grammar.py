"""The arithmetic in a sentence: products, equations and labelled numbers, out of the tokens of a remark.

equation  = side { "=" side }                 GBS = 8*2*32 = 512
side      = factor { ("x" | "/") factor }     4 nodes x 8 GPUs x 2
factor    = item | "(" side ")"
item      = number [label] | label [("=" | "(")] number | number | label
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.targets.remarks.words import Meaning, Token, is_variable, tokens, unit_of

if TYPE_CHECKING:
    from effbatch_lint.targets.quantity import Quantity


class Item(NamedTuple):
    """A number with what it counts, a bare number, or a bare label (``batch_size``).

    ``quoted``: written as a setting, ``global_batch=4``: a word of some command or file, not of this comment's author.
    """

    start: int
    end: int
    value: Quantity | None = None
    meaning: Meaning | None = None
    quoted: bool = False


class Side(NamedTuple):
    """Items that are multiplied, and items by which that is divided."""

    items: tuple[Item, ...]
    divisors: tuple[Item, ...] = ()

    @property
    def is_product(self) -> bool:
        """Whether anything is multiplied or divided."""
        return len(self.items) + len(self.divisors) > 1

    @property
    def all_items(self) -> tuple[Item, ...]:
        """Items and divisors."""
        return (*self.items, *self.divisors)


class Equation(NamedTuple):
    """Sides that are said to be equal; one side alone is an equation too. ``arrow``: it starts with a sign (``=> 32``)."""

    sides: tuple[Side, ...]
    start: int
    end: int
    arrow: bool = False

    @property
    def lone(self) -> Item | None:
        """The item, when the equation is one item and no more."""
        return self.sides[0].items[0] if len(self.sides) == 1 and not self.sides[0].is_product else None

    @property
    def counts(self) -> bool:
        """Whether there is a number in it that is more than a bare number in a sentence (``for Llama 2``)."""
        values = [item for side in self.sides for item in side.all_items if item.value is not None]
        return bool(values) and (self.lone is None or self.arrow or values[0].meaning is not None)


class NotUnderstood(Exception):
    """A sentence with arithmetic that holds a word which is not understood."""


def equations(sentence: str) -> list[Equation]:
    """The equations of a sentence, in order.

    Raises:
        NotUnderstood: one of them goes on with a word that is no number and no label (``32 * K``, ``8 * 80GB``).
    """
    return _Parser(list(tokens(sentence))).equations()


_NOTHING = Token("break", "", 0, 0)
# What follows: a total from its factors, a total from the devices.
_ARROWS = ("->", "=>", "-->", "==>", "→", "⇒")
# Nouns that name no quantity by themselves: "A100 80", "GPUs 2" are no labelled numbers.
_NOUNS = frozenset(("devices", "nodes", "each", "unit", "length"))


class _Parser:
    """Recursive descent over the tokens; ``at`` is the next one."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0

    def peek(self, ahead: int = 0) -> Token:
        index = self.at + ahead
        return self.tokens[index] if index < len(self.tokens) else _NOTHING

    def equations(self) -> list[Equation]:
        found = []
        while self.at < len(self.tokens):
            before = self.at
            equation = self.equation()
            if equation is not None:
                found.append(equation)
            elif self.at == before:
                self.at += 1
        return found

    def equation(self) -> Equation | None:
        arrow = self.peek().kind == "equals" and self.starts_afresh()
        if self.peek().kind == "equals":
            self.at += 1
        first = self.peek().start
        side = self.side()
        if side is None:
            return None
        sides = [side]
        while self.joins(sides[-1]):
            self.at += 1
            side = self.side()
            if side is None:
                if sides[-1].is_product:
                    raise NotUnderstood
                break
            sides.append(side)
        end = max(item.end for side in sides for item in side.all_items)
        return Equation(tuple(sides), first, end, arrow)

    def starts_afresh(self) -> bool:
        """Whether the sign that stands next equates nothing: ``=> 32`` does, ``eta = 32`` does not.

        Raises:
            NotUnderstood: it sets a key of the config (``train.batch=32``), whose number this is.
        """
        if self.at == 0:
            return True
        if self.tokens[self.at - 1].kind == "other":
            raise NotUnderstood
        return self.peek().text in _ARROWS and self.tokens[self.at - 1].kind != "word"

    def joins(self, last: Side) -> bool:
        """Whether an equals sign stands next. Some join a bare label only: "8 GPUs: batch 4", "1,024 sequences of 2,048 tokens"."""
        token = self.peek()
        if token.kind != "equals":
            return False
        item = last.items[-1]
        if item.value is None:
            return True
        if token.text in (":", "：") or token.text.lower() in ("of", "are"):  # noqa: RUF001 - the colon of Chinese comments
            return False
        # "64 GPUs -> effective batch 512": the one follows from the other
        return (
            token.text not in _ARROWS or last.is_product or item.meaning not in ("devices", "nodes", "devices per node")
        )

    def side(self) -> Side | None:
        first = self.at
        factor = self.factor(assigned=self.assigns(first))
        if factor is None:
            return None
        assigned = self.assigns(first) and factor.items[0].value is not None
        items, divisors = list(factor.items), list(factor.divisors)
        while (sign := self.peek().kind) in ("times", "divide"):
            if sign == "divide" and self.separates(items[-1]):
                break
            self.at += 1
            factor = self.factor(assigned=assigned)
            if factor is None:
                raise NotUnderstood
            (items if sign == "times" else divisors).extend(factor.items)
            (divisors if sign == "times" else items).extend(factor.divisors)
        if self.peek().kind == "other":
            raise NotUnderstood
        return Side(tuple(items), tuple(divisors))

    def assigns(self, at: int) -> bool:
        """Whether ``label = number`` stands there."""
        return [token.kind for token in self.tokens[at : at + 3]] == ["term", "equals", "number"]

    def separates(self, last: Item) -> bool:
        """Whether a slash stands between two labelled numbers (``16 nodes / 128 GPUs``) and is no division."""
        if last.meaning is None or last.value is None:
            return False
        after, following = self.peek(1), self.peek(2)
        return (after.kind, following.kind) in (("number", "term"), ("term", "number"))

    def factor(self, *, assigned: bool) -> Side | None:
        if self.peek().kind != "open":
            item = self.item(assigned=assigned)
            return None if item is None else Side((item,))
        opened = self.at
        self.at += 1
        side = self.side()
        if side is None or self.peek().kind != "close":
            self.at = opened + 1
            return None
        self.at += 1
        return side

    def item(self, *, assigned: bool) -> Item | None:
        """The next item; ``assigned``: in a product of ``label = number`` factors."""
        token = self.peek()
        if token.kind == "number":
            return self.counted(token)
        if token.kind == "term":
            return self.labelled(token, assigned=assigned)
        return None

    def counted(self, number: Token) -> Item | None:
        """``8 GPUs``, ``8 x H100s``, ``8 (per device)``, or a number alone; None for ``300 steps``."""
        self.at += 1
        ahead = 0
        if self.peek().kind == "other":
            self.at += 1
            return None
        if self.peek().kind == "times":  # 8 x H100s, 96x 40GB A100: the noun is no factor of its own
            ahead = 2 if self.peek(1).kind == "other" else 1
            noun = self.peek(ahead)
            if noun.meaning != "devices" or is_variable(noun) or self.numbered(ahead + 1):
                ahead = 0
        elif self.peek().kind == "open" and self.peek(1).kind == "term" and self.peek(2).kind == "close":
            label = self.peek(1)
            self.at += 3
            return Item(number.start, self.tokens[self.at - 1].end, _with_unit(number, label), label.meaning)
        label = self.peek(ahead)
        if label.kind != "term" or (self.peek(ahead + 1).kind == "open" and self.peek(ahead + 1).start == label.end):
            return Item(number.start, number.end, number.number)  # 128 per_device(2): the label belongs to what follows
        self.at += ahead + 1
        while label.meaning == "devices" and self.peek().meaning == "devices" and not is_variable(self.peek()):
            label = self.peek()  # 64 A100 GPUs
            self.at += 1
        return Item(number.start, label.end, _with_unit(number, label), label.meaning)

    def numbered(self, ahead: int) -> bool:
        """Whether a number, bare or in brackets, stands there: the noun before it has a number of its own."""
        return self.peek(ahead).kind == "number" or (
            self.peek(ahead).kind == "open" and self.peek(ahead + 1).kind == "number"
        )

    def labelled(self, label: Token, *, assigned: bool) -> Item:
        """``batch size = 4``, ``per_device(2)``, ``dp8``, ``GBS 128``, or a label alone."""
        self.at += 1
        bare = Item(label.start, label.end, None, label.meaning)
        if self.peek().kind == "number" and (label.meaning not in _NOUNS or is_variable(label)):
            number, ahead = self.peek(), 1
        elif assigned and self.peek().kind == "equals" and self.peek(1).kind == "number":
            number, ahead = self.peek(1), 2
        elif self.peek().kind == "open" and self.peek(1).kind == "number" and self.peek(2).kind == "close":
            self.at += 3
            return bare._replace(end=self.tokens[self.at - 1].end, value=self.tokens[self.at - 2].number)
        else:
            return bare
        following = self.peek(ahead)
        if following.kind == "open" and self.peek(ahead + 1).kind == "term" and self.peek(ahead + 2).kind == "close":
            following = self.peek(ahead + 3)  # batch size = 2 (per GPU) x 8
            return (
                bare
                if following.kind in ("times", "divide")
                else self.valued(label, number, ahead, self.peek(ahead + 1))
            )
        if following.kind == "other":
            return bare
        if following.kind in ("times", "divide") and not self.separates(bare._replace(value=number.number)):
            # "GBS = 8 x 2 x 32": the number is the first factor; "batch=4 * gpus=8": it is the label's own.
            if ahead == 2 and not self.assigns(self.at + ahead + 1):  # noqa: PLR2004 - behind the equals sign
                return bare
            if label.meaning == "total":
                return bare
        if following.kind == "term" and following.meaning not in ("unit", "total", "each", "tokens per step"):
            return bare  # an effective batch of 8 GPUs x 4
        return self.valued(label, number, ahead, following)

    def valued(self, label: Token, number: Token, ahead: int, following: Token) -> Item:
        """The labelled number, together with the unit or the "per GPU" that follows it."""
        self.at += ahead
        meaning = label.meaning
        if following.kind == "term":
            self.at += 3 if self.peek().kind == "open" else 1
            if following.meaning == "each" and meaning in ("batch", "total"):
                meaning = "per device"
        quoted = "_" in label.text and ahead == 2 and number.start == label.end + 1  # noqa: PLR2004 - behind the equals sign
        return Item(label.start, self.tokens[self.at - 1].end, _with_unit(number, following), meaning, quoted)


def _with_unit(number: Token, label: Token) -> Quantity | None:
    """The number, in the unit that the label names."""
    quantity = number.number
    return quantity and quantity._replace(unit=unit_of(label))
