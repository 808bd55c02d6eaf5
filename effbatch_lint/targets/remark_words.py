"""The words of remarks about a batch: a sentence of a comment -> tokens that say what they mean.

``8 GPUs x 2 per device x 8 = 128`` is a number, *devices*, times, a number, *per device*, times, a number, equals, a
number. Everything that is no word of this vocabulary stays a plain word, and what measures something else (80GB, 3e-4,
50%, 300 steps, ``train.batch``) is *other*, so that it can never be taken for a factor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from effbatch_lint.targets.quantity import NUMBER, Quantity, parse_quantity, unit_named

if TYPE_CHECKING:
    from collections.abc import Iterator

Meaning: TypeAlias = Literal[
    "total", "batch", "micro", "per device", "each", "accumulation", "devices", "nodes", "devices per node", "replicas",
    "length", "model parallel", "unit", "tokens per step",
]  # fmt: skip
"""What a number of a remark counts. ``batch`` and ``per device`` leave open whether accumulation is in it; ``each`` is
``per device`` without a word that says what (``4 per GPU``)."""

Kind: TypeAlias = Literal["number", "term", "times", "divide", "equals", "open", "close", "break", "word", "other"]


class Token(NamedTuple):
    """A word of a sentence, from ``start`` to ``end`` in it."""

    kind: Kind
    text: str
    start: int
    end: int
    meaning: Meaning | None = None
    number: Quantity | None = None


_BATCH = r"(?:batch(?:[-_ ]?sizes?)?|bsz?|批次大小|批大小|批量大小|批量)"
_DEVICE = r"(?:gpu|npu|tpu|device|card|accelerator|rank|process|replica|chip|worker|core)"
# A100, H100s, GB200, RTX 4090, 2080Ti, H100-SXM
_MODEL = r"(?:[AHVPBL]\d{2,3}|G[BH]200|MI\d{3}X?|RTX[ -]?A?\d{4}|T4|L40S|[1-5]0[6-9]0)(?:[ ]?Ti)?s?(?:-(?:SXM\d?|PCIe|\d+GB))*(?!\w)"
_PER = r"(?:[-_ ]per[-_ ]|[ ]?/[ ]?)"
_STEP = r"(?:global[-_ ]|optimi[sz]er[-_ ]|training[-_ ]|gradient[-_ ])?(?:batch|step|update)"
_STEPS = r"(?:[-_ ]?(?:steps?|factor|iters?|grad[-_ ]batches|batches))?"

# The first that matches counts: longer phrases stand before the words that they are made of.
_TERMS: tuple[tuple[Meaning, str], ...] = (
    ("tokens per step", rf"tokens?{_PER}{_STEP}"),
    ("total", rf"(?:total[-_ ])?(?:samples|sequences|examples){_PER}{_STEP}"),
    ("per device", rf"(?:train[-_ ])?(?:{_BATCH}|samples|sequences){_PER}{_DEVICE}"),
    ("per device", rf"per[-_ ]{_DEVICE}[-_ ](?:train(?:ing)?[-_ ])?(?:micro[-_ ]?)?{_BATCH}|local[-_ ]{_BATCH}|lbs"),
    ("devices per node", rf"(?:(?:n|num|number of)[-_ ]?)?(?:{_DEVICE}s|{_DEVICE}|procs){_PER}(?:node|machine|host)"),
    ("devices per node", r"nproc[-_ ]per[-_ ]node"),
    ("micro", rf"(?:train[-_ ])?micro[-_ ]?{_BATCH}(?:[-_ ]per[-_ ]{_DEVICE})?|mbs"),
    ("total", rf"(?:effective|eff\.?|global|total|overall|aggregate)[-_ ](?:train(?:ing)?[-_ ])?(?:mini[-_ ]?)?{_BATCH}"),
    ("total", rf"gbsz?|ebs|(?:effective|global)(?=[ ]*[:=]?[ ]*~?\d)|(?:有效|等效|全局|总|实际)的?[ ]?{_BATCH}"),
    ("accumulation", rf"batch[-_ ]accumulation[-_ ]per[-_ ]replica|grad(?:ient)?s?[-_. ]?acc(?:um(?:ulation|ulate|ulated)?)?{_STEPS}"),
    ("accumulation", rf"accum(?:ulation|ulate|ulated)?{_STEPS}|gas?|update[-_ ]freq|梯度累[积计加](?:步数)?"),
    ("each", rf"(?:per|each)[-_ ](?:\d+[ ]?GB[ ])?(?:{_DEVICE}|{_MODEL})|/[ ]?(?:gpu|device)"),
    ("batch", rf"(?:train(?:ing)?[-_ ])?(?:mini[-_ ]?)?{_BATCH}"),
    ("replicas", r"(?:data[-_ ]parallel(?:ism)?|dp)(?:[-_ ](?:size|degree|ranks|replicas))?|replicas"),
    ("model parallel", r"(?:tensor|pipeline|context|expert|sequence|model)[-_ ](?:model[-_ ])?parallel(?:ism)?(?:[-_ ](?:size|degree))?"),
    ("model parallel", r"(?:tp|pp|cp|ep|sp|mp|vpp|etp)(?:[-_ ](?:size|degree))?"),
    ("length", r"(?:max[-_ ])?(?:seq(?:uence)?|context|ctx|block|input)[-_ ]?(?:len(?:gth)?s?|size|window)|max[-_ ]length|cutoff[-_ ]len"),
    ("length", r"tokens per (?:sequence|sample|row)"),
    ("nodes", r"(?:(?:num|number of|n)[-_ ])?(?:nodes?|nnodes|machines?|hosts)"),
    ("devices", r"(?:(?:num|number of|nb|total)[-_ ]|n[-_]?|#[ ]?)?(?:gpus?|npus?|tpus?|devices?|accelerators|ranks|processes|cards|chips)"),
    ("devices", r"world[-_ ]?size|nproc|卡"),
    ("devices", _MODEL),
)  # fmt: skip
_COMPILED = tuple(
    (meaning, re.compile(rf"(?:{pattern})(?![A-Za-z_]|-[A-Za-z]|\.[A-Za-z_])", re.IGNORECASE))
    for meaning, pattern in _TERMS
)
_VARIABLE = re.compile(r"(?:num|n|nb)[-_]|ngpu|world|nproc|nnodes|_", re.IGNORECASE)

_OTHER = re.compile(
    r"(?<!\w)--?[A-Za-z][\w-]*|\$\{?\w+|[A-Za-z]\w*(?:\.[A-Za-z_]\w*)+|\w+://\S*"  # flags, variables, dotted keys, addresses
    r"|\d[\d,.]*[ ]?(?:[GMT]i?B|G|gb|Gb|mb|ms|s|h|hrs?|min|it|it/s|%|°)(?!\w)"  # 80GB, 3 h, 50%
    r"|\d+(?:\.\d+)?[eE][-+]?\d+|\d{4}-\d\d-\d\d|\d+(?:\.\d+){2,}|\d+:\d+|\d+[ ]?[-\u2013][ ]?\d+"  # 3e-4, dates, versions, ratios, ranges
    r"|(?:steps?|iterations?|iters?|epochs?|hours?|days?|minutes|layers?|heads?|experts?|params|parameters|files|shards?|classes|frames|"
    r"pixels|patches|bits?|bytes|workers|threads|million|billion|trillion|times)(?![\w-])",
    re.IGNORECASE,
)
_POWER = re.compile(r"(\d{1,2})(?:\^|\*\*)(\d{1,2})(?![\w.])")
_AMOUNT = re.compile(
    rf"(?P<about>[~≈]|about |approx\.? )?[ ]?(?P<digits>{NUMBER})(?:[ ]?(?P<suffix>[kKmM]i?|[bB])(?!\w))?"
)
_SIGNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("equals", re.compile(r"[-=]+>|→|⇒|~=|≈|={1,2}|[:：](?=\s|$)")),  # noqa: RUF001 - the colon of Chinese comments
    ("times", re.compile(r"[*×·⋅]|[xX](?=[\W\d]|[AHVGL]\w?\d+|$)")),  # noqa: RUF001 - people write the real sign
    ("divide", re.compile(r"//?|÷")),
    ("open", re.compile(r"[(\[]")),
    ("close", re.compile(r"[)\]]")),
    ("equals", re.compile(r"(?:is|are|of|equals?|gives?|yields?|makes?|becomes|equal to)(?![\w-])", re.IGNORECASE)),
    ("word", re.compile(r"[^\W\d_][\w'-]*")),
)
_UNIT = re.compile(
    r"(?:sequences?|samples?|pairs?|completions?|prompts?|images?|utterances?|tokens?|seconds|examples?|rows?)(?![\w-])",
    re.IGNORECASE,
)
_SYNONYMS = {"example": "samples", "examples": "samples", "row": "sequences", "rows": "sequences"}
_GPU_NUMBER = re.compile(r"[1-5]0[6-9]0(?![\w,.])")  # 8 x 4090: a card, never a batch
_BLANK = re.compile(r"[\s`'\"]+")
_HYPHEN = re.compile(r"(?<=\d)-(?=[A-Za-z])")  # 8-GPU


def tokens(sentence: str) -> Iterator[Token]:
    """The words of a sentence, in order."""
    at = 0
    while at < len(sentence):
        blank = _BLANK.match(sentence, at) or _HYPHEN.match(sentence, at)
        if blank is not None:
            at = blank.end()
            continue
        token = _token(sentence, at)
        yield token
        at = token.end


def meaning_of(key: str) -> Meaning | None:
    """What a key of a config counts, by its name: ``train.micro_batch_size`` -> micro."""
    name = key.rpartition(".")[2].lstrip("-").replace("-", "_")
    for meaning, pattern in _COMPILED:
        match = pattern.match(name)
        if match is not None and match.end() == len(name):
            return meaning
    return None


def unit_of(token: Token) -> str | None:
    """The unit that a token names."""
    if token.meaning == "tokens per step":
        return "tokens"
    if token.meaning != "unit":
        return None
    word = token.text.lower()
    return _SYNONYMS.get(word) or unit_named(word)


def is_variable(token: Token) -> bool:
    """Whether a term is written as a variable (``num_gpus``), which a product multiplies, not as a noun (``GPUs``)."""
    return _VARIABLE.search(token.text) is not None


def _token(sentence: str, at: int) -> Token:
    number = None if _GPU_NUMBER.match(sentence, at) else _number(sentence, at)
    other = _OTHER.match(sentence, at)
    if number is not None and (other is None or other.end() <= number.end):
        return number
    term = _term(sentence, at)
    if term is not None and (other is None or other.end() <= term.end):
        return term
    if other is not None:
        return Token("other", other[0], at, other.end())
    for kind, pattern in _SIGNS:
        match = pattern.match(sentence, at)
        if match is not None:
            return Token(kind, match[0], at, match.end())
    run = re.compile(r"\w+").match(sentence, at)  # 16bit, 4d: a number that is none
    return Token("other", run[0], at, run.end()) if run else Token("break", sentence[at], at, at + 1)


def _term(sentence: str, at: int) -> Token | None:
    for meaning, pattern in _COMPILED:
        match = pattern.match(sentence, at)
        if match is not None:
            return Token("term", match[0], at, match.end(), meaning)
    unit = _UNIT.match(sentence, at)
    return None if unit is None else Token("term", unit[0], at, unit.end(), "unit")


def _number(sentence: str, at: int) -> Token | None:
    power = _POWER.match(sentence, at)
    if power is not None:
        quantity = parse_quantity(str(int(power[1]) ** int(power[2])))
        return None if quantity is None else Token("number", power[0], at, power.end(), number=quantity)
    match = _AMOUNT.match(sentence, at)
    if match is None or not _ends(sentence, match.end()):
        return None
    quantity = parse_quantity(match["digits"] + (match["suffix"] or ""))
    if quantity is None:
        return None
    if match["about"]:
        quantity = quantity.widened(10)
    elif quantity.value >= 1_000 and quantity.value % 100 == 0:  # noqa: PLR2004 - prose says 1,000 for 1,024
        quantity = quantity.widened(5)
    return Token("number", match[0], at, match.end(), number=quantity)


def _ends(sentence: str, at: int) -> bool:
    """Whether a number may end here: at no letter, unless a word of ours follows (``4GPUs``, ``8xA100``)."""
    if at >= len(sentence) or not (sentence[at].isalnum() or sentence[at] == "_"):
        return True
    return _term(sentence, at) is not None or _SIGNS[1][1].match(sentence, at) is not None
