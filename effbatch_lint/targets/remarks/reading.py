"""A sentence of a comment -> what it claims of the batch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.targets.quantity import Quantity, parse_quantity
from effbatch_lint.targets.remarks.claims import Claim, Factor, may_claim
from effbatch_lint.targets.remarks.grammar import Equation, Item, NotUnderstood, Side, equations
from effbatch_lint.targets.remarks.sentences import Sentence, blocks, key_of, sentences, speaks_of_something_else
from effbatch_lint.targets.remarks.words import Meaning, meaning_of, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from effbatch_lint.documents.comments import Comment

_ASIDE = re.compile(r"\([^()\d]*\)")
_TRAINED = ("trained on", "trained with", "trained using", "train on", "train with")
_SET_UP = (
    "preset for",
    "set up for",
    "setup for",
    "designed for",
    "config for",
    "configured for",
    "configuration for",
    "assuming",
    "assumes",
)


def claims(comments: Sequence[Comment]) -> list[Claim]:
    """The claims in comments, in order."""
    found: list[Claim] = []
    for number, block in enumerate(blocks(comments)):
        found.extend(claim._replace(block=number) for claim in _of_block(block))
    return found


def _of_block(block: list[Comment]) -> Iterator[Claim]:
    if not any(may_claim(f"{comment.code} # {comment.text}") for comment in block):
        return
    key, value = key_of(block[0])
    if key is not None and speaks_of_something_else(key.replace("_", " ")):
        return
    for sentence in sentences(block):
        if sentence.text.endswith(":") and speaks_of_something_else(sentence.text):
            return  # a heading such as "the original recipe:"
        claim = _claim(sentence, meaning_of(key) if key else None, value)
        if claim is not None:
            yield claim


_WORK = frozenset(("micro", "per device", "each", "batch", "accumulation", "replicas"))
_DEVICES = frozenset(("devices", "nodes", "devices per node"))
_BATCH_KEYS = frozenset(("total", "batch", "micro", "per device", "accumulation"))
_SURELY_ALL = 100_000  # no single device takes so many tokens at once
_MAX_DEVICES = 10_000_000


def _claim(sentence: Sentence, key: Meaning | None, value: str) -> Claim | None:
    """What a sentence claims; ``key`` is the meaning of the key that it stands beside, ``value`` that key's text."""
    text = _ASIDE.sub(_without_prose, sentence.text)
    if not any(character.isdigit() for character in text) or speaks_of_something_else(text):
        return None
    try:
        found = equations(text)
    except NotUnderstood:
        return None
    reading = _Reading(key, value)
    if not all(map(reading.read, found)) or not reading.settled():
        return None
    devices, nodes = reading.condition()
    lower = text.lower()
    set_up = any(words in lower for words in _SET_UP)
    if not reading.says_batch and not ((devices or nodes) and (set_up or any(words in lower for words in _TRAINED))):
        return None
    counted = [equation for equation in found if equation.counts]
    start, end = counted[0].start, counted[-1].end
    return Claim(
        text=sentence.text[start:end],
        span=sentence.span(start, end),
        total=reading.total,
        tokens=reading.tokens,
        factors=tuple(reading.factors) if reading.says_batch else (),
        devices=devices,
        nodes=nodes,
        ambiguous=reading.ambiguous,
        set_up=set_up,
        beside_key=key in _BATCH_KEYS,
    )


def _is_length(item: Item) -> bool:
    """``4,096 tokens`` as a factor."""
    return item.meaning == "unit" and item.value is not None and item.value.unit == "tokens"


def _without_prose(aside: re.Match[str]) -> str:
    """Brackets without a number are blanked, unless they name a factor: ``16 (per device)``."""
    named = [token.kind for token in tokens(aside[0][1:-1])]
    return aside[0] if named and set(named) == {"term"} else " " * len(aside[0])


class _Reading:
    """The equations of one sentence, put together.

    Every method that takes something in says whether it goes together with the rest: a sentence with two totals, two
    products or two numbers of devices is no claim.
    """

    def __init__(self, key: Meaning | None, value: str) -> None:
        self.total: Quantity | None = None
        self.tokens: Quantity | None = None
        self.factors: list[Factor] = []
        self.ambiguous = False
        self._key = key
        self._value = value
        self._named = False  # a word says that it is the whole batch
        self._loose: Quantity | None = None  # "batch size 128": whose is open
        self._products = 0
        self._meanings: set[Meaning | None] = set()  # of the product's factors
        self._together: Quantity | None = None  # the product, worked out
        self._result_missing = False
        self._shaky = False  # a total whose meaning only the key beside it can tell
        self._counts: dict[Meaning, int] = {}

    def read(self, equation: Equation) -> bool:
        """Take in an equation; False when it does not go together with the others."""
        lone = equation.lone
        if lone is not None:
            return self._lone(lone, arrow=equation.arrow)
        items = [item for side in equation.sides for item in side.all_items]
        meanings = {item.meaning for item in items}
        if "model parallel" in meanings:
            return True  # the layout, not the batch
        subjects = {
            side.items[0].meaning for side in equation.sides if not side.is_product and side.items[0].value is None
        }
        results = [side.items[0] for side in equation.sides if not side.is_product and side.items[0].value is not None]
        if (subjects & _DEVICES) or any(item.meaning in _DEVICES for item in results) or meanings <= _DEVICES:
            return self._count_devices(equation, results)
        if subjects - {"total", "batch"}:
            return not subjects & {"length", "unit"}  # accumulation = 128 / 16: a number of the config, worked out
        self._named |= "total" in subjects or any(item.meaning == "total" for item in results)
        self.ambiguous |= subjects == {"batch"}
        products = [side for side in equation.sides if side.is_product]
        if not products and len(results) > 1:
            return self._equal_numbers(results)
        if products:
            self._products += 1
            if self._products > 1 or not self._product(products, results):
                return False
        return all(
            self._result(item)
            for item in results
            if item.meaning in (None, "total", "batch", "unit", "tokens per step")
        )

    def _lone(self, item: Item, *, arrow: bool) -> bool:
        """A labelled number that stands alone: a total, a factor, or what the claim is made for."""
        if item.value is None:
            self._named |= item.meaning == "total"
            return True
        match item.meaning:
            case "total" | "tokens per step":
                self._named = True
                return not item.quoted and self._result(item)
            case "batch" if item.value.unit == "tokens" and item.value.value >= _SURELY_ALL:
                return self._result(item)  # "batch size 0.5M tokens"
            case "batch":
                self._loose, before = item.value, self._loose
                return before is None or before.value == item.value.value
            case "micro" | "per device" | "each" | "accumulation" | "replicas":
                return self._factor(item.value, item.meaning)
            case "devices" | "nodes" | "devices per node":
                return self._count(item.meaning, item.value)
            case "unit":
                # "~1M tokens" beside a batch; beside any other key it counts a data set
                return self._key != "total" or item.value.unit != "tokens" or self._result(item)
            case None:
                self._shaky = arrow
                return not arrow or self._result(item)
        return True

    def _result(self, item: Item) -> bool:
        """A number that is said to be the batch, in tokens or in rows."""
        assert item.value is not None
        counts_tokens = item.value.unit == "tokens" or item.meaning == "tokens per step"
        known = self.tokens if counts_tokens else self.total
        if known is not None:
            return known.value == item.value.value
        if counts_tokens:
            self.tokens = item.value._replace(unit="tokens")
        else:
            self.total = item.value
        return True

    def _equal_numbers(self, results: list[Item]) -> bool:
        """``512 sequences = 1M tokens``; other numbers that are called equal without a product say nothing clear."""
        units = [item.value.unit if item.value is not None else None for item in results]
        rows = units[0] != "tokens" and (units[0] is not None or results[0].meaning == "total")
        return rows and units[-1] == "tokens" and all(self._result(item) for item in results)

    def _product(self, products: list[Side], results: list[Item]) -> bool:
        """The factors of the product; without a stated result it is worked out here."""
        names = next((side for side in products if all(item.value is None for item in side.all_items)), None)
        numbers = next((side for side in products if any(item.value is not None for item in side.all_items)), None)
        if numbers is None:
            return True  # a formula: batch_size x num_gpus x accumulation
        items = numbers.items
        if names is not None and len(names.items) == len(items) and not numbers.divisors:
            named = zip(items, names.items, strict=True)
            items = tuple(item._replace(meaning=item.meaning or name.meaning) for item, name in named)
        elif names is not None:
            return False
        items = tuple(item._replace(meaning="length") if _is_length(item) else item for item in items)
        meanings = {item.meaning for item in items}
        self._meanings |= meanings
        if meanings >= {"nodes", "devices"}:
            items = tuple(
                item._replace(meaning="devices per node" if item.meaning == "devices" else item.meaning)
                for item in items
            )
        together = 1
        for item in items:
            if item.value is not None and not numbers.divisors and not self._factor(item.value, item.meaning):
                return False
            together *= item.value.value if item.value is not None and item.meaning != "length" else 1
        self._together = None if numbers.divisors else parse_quantity(str(together))
        if names is None and self._named and "length" in meanings:
            self.total = self._together  # GBS = 8 x 2 x 32 x sequence_length = 1M tokens
        self._result_missing = not results
        return bool(results) or all(item.value is not None or item.meaning == "length" for item in items)

    def _factor(self, value: Quantity, meaning: Meaning | None) -> bool:
        """A factor of the batch; what counts devices says for how many the claim is made, too."""
        if meaning in _DEVICES and not self._count(meaning, value):
            return False
        known = next((factor for factor in self.factors if meaning is not None and factor.meaning == meaning), None)
        if known is not None:
            return known.value.value == value.value
        self.factors.append(Factor(value, "per device" if meaning == "each" else meaning))
        return True

    def _count(self, meaning: Meaning, value: Quantity) -> bool:
        """How many devices, nodes or devices per node the claim is made for."""
        known = self._counts.setdefault(meaning, value.value)
        return known == value.value <= _MAX_DEVICES

    def _count_devices(self, equation: Equation, results: list[Item]) -> bool:
        """``2 nodes x 8 GPUs = 16 GPUs``, ``num_gpus = 8``."""
        for item in results:
            assert item.value is not None
            meaning = item.meaning if item.meaning in _DEVICES else "devices"
            if not self._count(meaning, item.value):
                return False
        if not any(item.meaning in (None, "devices") for item in results):
            for side in equation.sides:
                counts = {item.meaning: item.value.value for item in side.items if item.value is not None}
                devices = counts.get("devices per node", counts.get("devices"))
                if side.is_product and "nodes" in counts and devices is not None:
                    return self._counts.setdefault("devices", counts["nodes"] * devices) == counts["nodes"] * devices
        return True

    def settled(self) -> bool:
        """Whether it all makes one claim, or none; False when there is no telling what it says."""
        if self._loose is not None and self.total is None and self.tokens is None:
            if self._counts and (not self._products or self._result_missing):
                self.total, self.ambiguous = self._loose, True
            elif self._products:
                self._factor(self._loose, "batch")
        if self._result_missing and self.total is None and self.tokens is None:
            if not (self._named or self._key == "total"):
                return False
            self.total = self._together
        if self._products and self.total is not None and not self._named and not self._explained:
            return self._explains_the_key(self.total)
        return not (self._shaky and (self._key not in _BATCH_KEYS or not self._counts))

    def _explains_the_key(self, total: Quantity) -> bool:
        """Whether the key beside an unnamed product makes it the batch.

        Beside ``gradient_accumulation_steps: 8``, ``2 x 4 x 8 = 64`` is; beside ``batch_size: 64`` it may be anything.
        """
        own = self._value.replace("_", "")
        if self._key == "total":
            return not self._result_missing or bool(self._meanings & _DEVICES) or own == str(total.value)
        two_of_a_batch = self._key == "batch" and len(self.factors) < 3  # noqa: PLR2004 - 32 x 8 may be anything
        if self._key not in _BATCH_KEYS or own == str(total.value) or two_of_a_batch:
            return False
        return own in {str(factor.value.value) for factor in self.factors}

    @property
    def _explained(self) -> bool:
        """Whether the factors say by themselves that their product is a batch."""
        work = self._meanings & (_WORK - {"each"})
        devices = bool(self._meanings & _DEVICES)
        if work or self.ambiguous:
            return devices or len(work) > 1
        return devices and len(self.factors) > 2  # noqa: PLR2004 - 8 GPUs x 2 x 8

    @property
    def says_batch(self) -> bool:
        """Whether there is a batch in it at all."""
        if self.total is not None or self.tokens is not None:
            return True
        meanings = {factor.meaning for factor in self.factors}
        return bool(meanings & {"micro", "per device"})

    def condition(self) -> tuple[tuple[int, ...], int | None]:
        """The devices for which it is claimed, or the nodes where only those are said."""
        devices, nodes = self._counts.get("devices"), self._counts.get("nodes")
        each = self._counts.get("devices per node")
        if nodes is not None and each is not None:
            return (nodes * each,), None
        if devices is None:
            return (), nodes
        # "2 nodes, 8 GPUs": sixteen, or eight in all
        return ((devices,) if nodes in (None, 1) else (devices, devices * nodes)), None
