"""The sentences in blocks of comments, and which of them can be no claim on this training."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from effbatch_lint.documents.comments import Comment
    from effbatch_lint.source import Span

_PAST = (
    "was were previous previously former formerly original originally before old older earlier reduced increased decreased lowered raised "
    "changed bumped halved doubled instead initial initially deprecated legacy completed observed"
)
_ADVICE = (
    "should could would might may can must need needs needed requires require required recommend recommends recommended suggest suggested "
    "suggests want try consider adjust tune increase decrease reduce lower raise scale scales scaled unless whenever otherwise e.g example "
    "examples minimum maximum max min less more greater higher larger smaller or divisible multiple multiples ratio default defaults "
    "optional todo fixme xxx typical typically usually range between either depending depends assert ensure fit fits oom limit cap override "
    "not no never without don't isn't"
)
_ELSEWHERE = (
    "paper papers baseline baselines reference official author authors readme blog tutorial other another gpt-2 gpt-3 gpt-4 gpt3 unlike vs "
    "versus compare compared similar eval evals evaluation valid validation val test tests tested testing inference infer generation "
    "rollout rollouts prefill decode bench benchmark lr learning warmup warm-up throughput memory vram dataset datasets corpus vocab buffer "
    "queue resolution ablation ablations sweep debug bash sbatch torchrun python python3 srun same"
)
_TRIED = (
    "tried tries trying diverged diverges diverge diverging divergence unstable instability nan nans spike spikes spiked crash crashed "
    "crashes failed fails gave had works worked runs release released stage stages phase phases until critical follow follows "
    "following"
)
_WORDS = frozenset(f"{_PAST} {_ADVICE} {_ELSEWHERE} {_TRIED}".split())
# A model by its name or its size: what is said of it need not be said of this file. "4B tokens" is no size. And TPU pods.
_MODEL = re.compile(
    r"(?<![\w/])(?:llama|alpaca|vicuna|gpt|opt|bert|roberta|deberta|palm|chinchilla|gopher|mistral|mixtral|qwen|deepseek|pythia|bloom|"
    r"falcon|gemma|gemini|olmo|mpt|phi|yi|t5|flan|codellama|starcoder|internlm|baichuan|chatglm|glm|mamba|rwkv|whisper|clip|vit|"
    r"resnet|imagen|sdxl)(?:[-_. ]?v?\d[\w.]*)*(?:-\w+)*(?![\w])|(?<![\w.-])\d+(?:\.\d+)?b(?!\w|\s*tokens?)|(?<![\w.])v\d[ep]?-\d+"
)
_SIGNS = (
    "?",
    "\uff1f",
    "...",
    "\u2026",
    "://",
    "used to",
    "no longer",
    "such as",
    "at least",
    "at most",
    "up to",
    "make sure",
    "to launch",
    "to run",
)
_RUN = re.compile(r"[\w.'-]+")
# "16 if 16 gpus" and "128 when training on 8" are conditions of a claim; any other if makes it none. "from 64": the past.
_UNLESS_DEVICES = re.compile(r"(?<![\w-])(?:if|when)(?![\w-])(?!\s+(?:using |on |with |training on )?\d)")
_CHANGE = re.compile(r"(?<![\w-])from \d")

_MAX_LINE = 400
_CODE = re.compile(r"(?:export\s+)?[-\s]*[\"']?[A-Za-z_][\w.\[\]-]*[\"']?\s*[:=]\s*\S+\s*(?:#.*|//.*|[\\,])?")
_KEY = re.compile(
    r"([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"']?([^\s\"',]*)[\"']?,?$|--([A-Za-z][\w-]*)[=\s]+(\S+)(?:\s*\\)?$"
)
_SENTENCE_END = re.compile(r"(?<=[A-Za-z)\]])[.;!]\s+(?=\S)|(?<=\d)[.;]\s+(?=[A-Z(])|\n")
_ABBREVIATION = re.compile(r"(?:\b\w|[Ee]ff|approx|vs|incl|resp|no)$")
_GOES_ON = re.compile(r"[a-z)*\u00d7\u00b7x/=+,&\u2192]|->")
_UNFINISHED = re.compile(r"(?:[,(=*\u00d7/+&-]|\b(?:of|for|with|on|is|to|the|a|an|and|per|in|by|at|size|batch|x))$")
_EQUATION = re.compile(r"[\w#-]+(?:\s*[*x]\s*[\w-]+)*\s*=")
_LIST_HEAD = re.compile(r"[^\d]*(?:[Bb]atch|GBS|BATCH)[^\d]*:$")
_LIST_ITEM = re.compile(r"[-*\u2022]?\s*[A-Za-z][\w /()-]*\s*[:=]\s*~?\d[\d,_.]*[kKmM]?(?:\s+[a-z]+)?\s*$")


class Sentence(NamedTuple):
    """A sentence, and for each of its characters the comment and the place in it."""

    text: str
    places: Sequence[tuple[Comment, int]]

    def span(self, start: int, end: int) -> Span:
        """The span of a stretch, cut at the end of its first line."""
        comment, first = self.places[start]
        last = max(at for other, at in self.places[start:end] if other is comment)
        span = comment.span
        return span._replace(column=span.column + first, end_column=span.column + last + 1)


def blocks(comments: Iterable[Comment]) -> Iterator[list[Comment]]:
    """Comments on successive lines of their own are one block; a trailing comment is a block of its own."""
    block: list[Comment] = []
    for comment in comments:
        if block and (comment.code or block[-1].code or comment.span.line != block[-1].span.line + 1):
            yield block
            block = []
        block.append(comment)
    if block:
        yield block


def key_of(comment: Comment) -> tuple[str | None, str]:
    """The key (or flag) and the value that stand before a trailing comment."""
    match = _KEY.search(comment.code)
    if match is None:
        return None, ""
    return match[1] or match[3], match[2] or match[4] or ""


def speaks_of_something_else(text: str) -> bool:
    """Whether a word says that this is no statement on the training at hand, but advice, the past, another model."""
    lower = text.lower()
    if any(sign in lower for sign in _SIGNS) or text.endswith("\\"):
        return True
    if any(word.strip(".'-") in _WORDS for word in _RUN.findall(lower)) or _MODEL.search(lower) is not None:
        return True
    return _UNLESS_DEVICES.search(lower) is not None or _CHANGE.search(lower) is not None


def sentences(block: list[Comment]) -> Iterator[Sentence]:
    """The sentences of a block: lines that go on are joined, commented-out code is left out."""
    text = ""
    places: list[tuple[Comment, int]] = []
    previous = ""
    listed = False  # below "Batch size:", where "gpus: 8" is no key of a config
    for comment in block:
        line = comment.text
        listed = _LIST_HEAD.match(line) is not None or (listed and _LIST_ITEM.match(line) is not None)
        if len(line) > _MAX_LINE or (not comment.code and not listed and _CODE.fullmatch(line)):
            line = ""
        joined = _joined(previous, line)
        text += joined + line
        places += [(comment, 0)] * len(joined) + [(comment, at) for at in range(len(line))]
        previous = line
    start = 0
    for match in [*_SENTENCE_END.finditer(text), None]:
        end = len(text) if match is None else match.start()
        if match is not None and _ABBREVIATION.search(text, max(start, end - 8), end):
            continue
        body = text[start:end].strip()
        if body:
            begin = start + len(text[start:end]) - len(text[start:end].lstrip())
            yield Sentence(body, places[begin : begin + len(body)])
        start = end if match is None else match.end()


def _joined(previous: str, line: str) -> str:
    """What joins a line to the one before it: a blank when it goes on, a comma in a list, else a line end."""
    if not previous or not line:
        return "\n" if previous else ""
    if _LIST_ITEM.match(line) and _LIST_ITEM.match(previous):
        return ", "
    if previous.endswith((".", ":", "!", "?")):
        return "\n"
    if _EQUATION.match(line):
        return "\n"
    return " " if _GOES_ON.match(line) or _UNFINISHED.search(previous) else "\n"
