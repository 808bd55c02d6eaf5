"""The words of remarks about a batch: a sentence of a comment -> tokens that say what they mean.

``8 GPUs x 2 per device x 8 = 128`` is a number, *devices*, times, a number, *each*, times, a number, equals, a number.
Everything that is no phrase of this vocabulary stays a plain word, and what measures something else (80GB, 3e-4, 50%,
300 steps, ``train.batch``) is *other*, so that it can never be taken for a factor.

The vocabulary is a dictionary of phrases: forty regular expressions would take longer to compile than a run may last.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from effbatch_lint.targets.quantity import NUMBER, UNITS, Quantity, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Meaning: TypeAlias = Literal[
    "total", "batch", "micro", "per device", "each", "accumulation", "devices", "nodes", "devices per node", "replicas",
    "length", "model parallel", "unit", "tokens per step",
]  # fmt: skip
"""What a number of a remark counts. ``batch`` and ``per device`` leave open whether accumulation is in it; ``each`` is
``per device`` without a word that says what (``4 per GPU``)."""

Kind: TypeAlias = Literal["number", "term", "times", "divide", "equals", "open", "close", "break", "word", "other"]


class Token(NamedTuple):
    """A word of a sentence, from ``start`` to ``end`` in it; ``phrase`` is a term as the vocabulary has it."""

    kind: Kind
    text: str
    start: int
    end: int
    meaning: Meaning | None = None
    number: Quantity | None = None
    phrase: str = ""


def _joined(*parts: Iterable[str]) -> list[str]:
    """Every phrase that takes one of each part, in order; an empty word is left out."""
    phrases = [""]
    for part in parts:
        phrases = [f"{phrase} {word}".strip() for phrase in phrases for word in part]
    return phrases


_BATCH = ("batch", "batch size", "batch sizes", "batchsize", "bs", "bsz")
_BATCH_HAN = ("批次大小", "批大小", "批量大小", "批量", "批次")
_DEVICE = ("gpu", "npu", "tpu", "device", "card", "accelerator", "rank", "process", "replica", "chip", "worker", "core")
_DEVICES = (
    "gpu", "gpus", "npu", "npus", "tpu", "tpus", "device", "devices", "accelerators", "ranks", "processes", "cards", "chips",
)  # fmt: skip
_TRAIN = ("", "train", "training")
_STEP = _joined(("", "global", "optimizer", "optimiser", "training", "gradient"), ("batch", "step", "update"))
_COUNT = ("num", "number of", "n", "nb", "total")
_OTHER_WORDS = frozenset((
    "step", "steps", "iteration", "iterations", "iter", "iters", "epoch", "epochs", "hour", "hours", "day", "days", "minutes", "layer",
    "layers", "head", "heads", "expert", "experts", "params", "parameters", "files", "shard", "shards", "classes", "frames", "pixels",
    "patches", "bit", "bits", "byte", "bytes", "workers", "threads", "million", "billion", "trillion", "times",
))  # fmt: skip
_ROWS = ("samples", "sequences", "examples")
_VOCABULARY: tuple[tuple[Meaning, Iterable[str]], ...] = (
    ("batch", _joined((*_TRAIN, "mini"), _BATCH)),
    ("total", _joined(("effective", "eff", "global", "total", "overall", "aggregate"), (*_TRAIN, "mini"), _BATCH)),
    ("total", _joined(("", "total"), _ROWS, ("per",), _STEP)),
    ("total", ("gbs", "gbsz", "ebs", "effective", "global")),
    ("total", [f"{which}{of}{batch}" for which in ("有效", "等效", "全局", "总", "实际") for of in ("", "的") for batch in _BATCH_HAN]),
    ("total", _joined(("有效", "等效", "全局", "总", "实际", "总的"), _BATCH)),
    ("micro", _joined(("", "train"), ("micro",), _BATCH)),
    ("micro", _joined(("", "train"), ("micro",), _BATCH, ("per",), _DEVICE)),
    ("micro", ("mbs", "microbatch", "microbatch size")),
    ("per device", _joined(("", "train"), (*_BATCH, "samples", "sequences"), ("per",), _DEVICE)),
    ("per device", _joined(("per",), _DEVICE, (*_TRAIN, "micro", "train micro"), _BATCH)),
    ("per device", (*_joined(("local",), _BATCH), "lbs")),
    ("each", _joined(("per", "each"), _DEVICE)),
    (
        "accumulation",
        _joined(
            ("grad", "grads", "gradient", "gradients", ""),
            ("accum", "accumulation", "accumulate", "accumulated"),
            ("", "steps", "step", "factor", "iters", "grad batches", "batches"),
        ),
    ),
    ("accumulation", (*_joined(("grad",), ("acc",), ("", "steps")), "batch accumulation per replica", "ga", "gas", "update freq")),
    ("accumulation", ("梯度累积", "梯度累计", "梯度累加", "梯度累积步数")),
    ("devices", (*_joined(("", *_COUNT), _DEVICES), "ngpu", "ngpus", "world size", "nproc", "卡")),
    ("devices per node", (*_joined(("", *_COUNT), _DEVICES, ("per",), ("node", "machine", "host")), "nproc per node", "procs per node")),
    ("nodes", (*_joined(("", *_COUNT), ("node", "nodes", "machine", "machines", "hosts")), "nnodes")),
    ("replicas", (*_joined(("data parallel", "data parallelism", "dp"), ("", "size", "degree", "ranks", "replicas")), "replicas")),
    (
        "model parallel",
        (
            *_joined(("tensor", "pipeline", "context", "expert", "sequence", "model"), ("", "model"), ("parallel", "parallelism"), ("", "size")),
            *_joined(("tp", "pp", "cp", "ep", "sp", "mp", "vpp", "etp"), ("", "size", "degree")),
        ),
    ),
    ("length", _joined(("", "max"), ("seq", "sequence", "context", "ctx", "block", "input"), ("len", "length", "lengths", "size", "window"))),
    ("length", ("seqlen", "max length", "cutoff len", *_joined(("tokens per",), ("sequence", "sample", "row")))),
    ("tokens per step", _joined(("token", "tokens"), ("per",), (*_STEP, "iteration"))),
    ("unit", [word for unit in UNITS if unit != "bins" for word in (unit, unit[:-1])]),
    ("unit", ("example", "examples", "row", "rows")),
)  # fmt: skip
_PHRASES: dict[str, Meaning] = {phrase: meaning for meaning, phrases in _VOCABULARY for phrase in phrases}
_LONGEST = 6
_UNIT_OF = {"example": "samples", "examples": "samples", "row": "sequences", "rows": "sequences"} | {
    word: unit for unit in UNITS for word in (unit, unit[:-1])
}

# Words of a phrase, and what may stand between them: "micro_batch_size", "gpus/node", "eff. batch".
_WORD = re.compile(r"[A-Za-z]+|[^\W\d_A-Za-z]+")
_BETWEEN = re.compile(r"[ ]?/[ ]?|[-_]|[ ]+|(?<=eff)\.[ ]")
_GOES_ON = re.compile(r"[-_.]?[A-Za-z]|_")
_RUN = re.compile(r"\w[\w'-]*")
# A100, H100s, GB200, RTX 4090, 2080Ti, H100-SXM, and a bare 4090 behind "8 x"
_MODEL = re.compile(
    r"(?:[AHVPBLahv]\d{2,3}|G[BH]200|MI\d{3}X?|RTX[ -]?A?\d{4}|T4|L40S|[1-5]0[6-9]0(?=[ ]?Ti)|(?:(?<=[xX] )|(?<=[xX]))[1-5]0[89]0)"
    r"(?:[ ]?Ti)?s?(?:-(?:SXM\d?|PCIe|\d+GB))*(?!\w|[.,]\d)"
)
_PER_MODEL = re.compile(rf"[Pp]er (?:\d+[ ]?[Gg][Bb] )?{_MODEL.pattern}")
_VARIABLE = re.compile(r"(?:num|n|nb)[-_]|ngpu|world|nproc|nnodes|_", re.IGNORECASE)
_OTHER = re.compile(
    r"(?<!\w)--?[A-Za-z][\w-]*|\$\{?\w+|[A-Za-z]\w*(?:\.[A-Za-z_]\w*)+|\w+://\S*"  # flags, variables, dotted keys, addresses
    r"|\d[\d,.]*[ ]?(?:[GMTgm]i?[Bb]|G|ms|s|h|hrs?|min|it|it/s|%|°)(?!\w)"  # 80GB, 3 h, 50%
    r"|\d+(?:\.\d+)?[eE][-+]?\d+|\d{4}-\d\d-\d\d|\d+(?:\.\d+){2,}|\d+:\d+|\d+[ ]?[-\u2013][ ]?\d+"  # 3e-4, dates, versions, ratios, ranges
)
_AMOUNT = re.compile(
    rf"(?P<about>[~≈]|about |approx\.? )?[ ]?(?P<digits>{NUMBER})(?:[ ]?(?P<suffix>[kKmM]i?|[bB])(?!\w)|(?:\^|\*\*)(?P<power>\d\d?))?"
)
_SIGN = re.compile(
    r"(?P<equals>[-=]+>|[→⇒≈]|~=|={1,2}|[:：](?=\s|$))"  # noqa: RUF001 - the colon of Chinese comments
    r"|(?P<times>[*×·⋅]|[xX](?=[\W\d]|[AHVGL]\w?\d+|$))"  # noqa: RUF001 - people write the real sign
    r"|(?P<divide>//?|÷)|(?P<open>[(\[])|(?P<close>[)\]])"
)
_EQUAL_WORDS = frozenset((
    "is", "are", "of", "equal", "equals", "give", "gives", "yield", "yields", "make", "makes", "becomes",
))  # fmt: skip
_BLANK = re.compile(r"[\s`'\"]+|(?<=\d)-(?=[A-Za-z])")  # the hyphen of 8-GPU
_NUMBER_FOLLOWS = re.compile(r"[ ]*[:=]?[ ]*~?\d")


def tokens(sentence: str) -> Iterator[Token]:
    """The words of a sentence, in order."""
    at = 0
    while at < len(sentence):
        blank = _BLANK.match(sentence, at)
        if blank is not None:
            at = blank.end()
            continue
        token = _token(sentence, at)
        yield token
        at = token.end


def meaning_of(key: str) -> Meaning | None:
    """What a key of a config counts, by its name: ``train.micro_batch_size`` -> micro."""
    name = key.rpartition(".")[2].lstrip("-")
    term = _term(name, 0)
    return term.meaning if term is not None and term.end == len(name) else None


def unit_of(token: Token) -> str | None:
    """The unit that a token names."""
    return "tokens" if token.meaning == "tokens per step" else _UNIT_OF.get(token.phrase)


def is_variable(token: Token) -> bool:
    """Whether a term is written as a variable (``num_gpus``), which a product multiplies, not as a noun (``GPUs``)."""
    return _VARIABLE.search(token.text) is not None


def _token(sentence: str, at: int) -> Token:
    card = _MODEL.match(sentence, at)
    number = None if card else _number(sentence, at)
    other = _OTHER.match(sentence, at)
    for found in (number, _term(sentence, at)):
        if found is not None and (other is None or other.end() <= found.end):
            return found
    if other is not None:
        return Token("other", other[0], at, other.end())
    sign = _SIGN.match(sentence, at)
    if sign is not None:
        return Token(sign.lastgroup, sign[0], at, sign.end())  # type: ignore[arg-type] # the groups are named as kinds
    run = _RUN.match(sentence, at)
    if run is None:
        return Token("break", sentence[at], at, at + 1)
    word = run[0].lower()
    kind: Kind = "equals" if word in _EQUAL_WORDS else "other" if word in _OTHER_WORDS or word[0].isdigit() else "word"
    return Token(kind, run[0], at, run.end())


def _term(sentence: str, at: int) -> Token | None:
    """The longest phrase of the vocabulary that stands at ``at``."""
    model = _MODEL.match(sentence, at)
    if model is not None:
        return Token("term", model[0], at, model.end(), "devices")
    if (per := _PER_MODEL.match(sentence, at)) is not None:
        return Token("term", per[0], at, per.end(), "each")
    first = "per" if sentence[at] == "/" else ""  # "4/gpu"
    if first and not sentence[at + 1 : at + 2].isalpha():
        return None
    best = None
    phrase, end = first, at + len(first[:1])
    for _ in range(_LONGEST):
        word = _WORD.match(sentence, end)
        if word is None:
            break
        phrase = f"{phrase} {word[0].lower()}".strip()
        end = word.end()
        if phrase in _PHRASES and _GOES_ON.match(sentence, end) is None:
            best = (phrase, end)
        between = _BETWEEN.match(sentence, end)
        if between is None:
            if not sentence[end : end + 1].isalpha():
                break
            continue  # from one script to another: 总batch
        phrase += " per" if "/" in between[0] else ""
        end = between.end()
    if best is None or (best[0] in ("effective", "global") and _NUMBER_FOLLOWS.match(sentence, best[1]) is None):
        return None
    return Token("term", sentence[at : best[1]], at, best[1], _PHRASES[best[0]], None, best[0])


def _number(sentence: str, at: int) -> Token | None:
    match = _AMOUNT.match(sentence, at)
    if match is None or not _ends(sentence, match.end()):
        return None
    digits = match["digits"] + (match["suffix"] or "")
    if match["power"]:
        if len(digits) > 2:  # noqa: PLR2004 - 2^20, 10**6
            return None
        digits = str(int(digits) ** int(match["power"]))
    quantity = parse_quantity(digits)
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
    sign = _SIGN.match(sentence, at)
    return (sign is not None and sign.lastgroup == "times") or _term(sentence, at) is not None
