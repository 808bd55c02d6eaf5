"""HF Trainer and a DeepSpeed JSON: "auto" is filled in from the arguments, and a number that differs stops the run.

Upstream: huggingface/transformers, src/transformers/integrations/deepspeed.py (HfTrainerDeepSpeedConfig.fill_match,
trainer_config_process, trainer_config_finalize, 5.24.0).

``train_batch_size`` is compared with micro batch x accumulation x all processes: tensor- and context-parallel ranks
count there, although they read the same samples. A key that is absent is neither filled nor compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from effbatch_lint.batch import Problem
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO
from effbatch_lint.terms import Origin, Term, product, shown, unknown

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config


class Named(NamedTuple):
    """The DeepSpeed configuration that ``deepspeed:`` names.

    Attributes:
        config: its content; None when the file is not in the project, or nothing is named.
        tensor: the AutoTP degree; None when DeepSpeed is not in use, so that another file may state one.
    """

    config: Config | None
    tensor: Term | None


def named(config: Config, key: str = "deepspeed") -> Named:
    """The DeepSpeed configuration in the file or mapping at ``key``.

    A file that is not in the project leaves the batch as the arguments give it: Trainer refuses numbers that differ,
    so that only AutoTP could change the batch, and it is taken as off unless the file's name speaks of it.
    """
    if not config.has(key) or config.flag(key):  # a bare switch of the script's own parser names no file
        return Named(None, None)
    found = config.companion(key)
    if found is not None:
        return Named(found, deepspeed_json.tensor_parallel(found))
    name = config.text(key) or ""
    origin = config.origin(key) or Origin(None, key)
    if "autotp" in name.lower():
        reason = f"{name} is not in the project, and its name speaks of tensor parallelism"
        return Named(None, unknown(reason, origin, key=deepspeed_json.TENSOR))
    off = Term(1, "assumed", (origin,), f"{name or key} is not in the project: AutoTP taken as off")
    return Named(None, off.named(deepspeed_json.TENSOR))


def mismatches(json: Config, micro: Term, accumulation: Term, processes: Term) -> Iterator[Problem]:
    """The numbers of the JSON that differ from the arguments: Trainer lists them and stops.

    Args:
        json: the DeepSpeed configuration.
        micro: ``per_device_train_batch_size``.
        accumulation: ``gradient_accumulation_steps``.
        processes: all processes of the job, model-parallel ones included.
    """
    for key, argument in ((MICRO, micro), (ACCUMULATION, accumulation)):
        yield from _texts(json, key)
        number = deepspeed_json.stated(json, key)
        if number is not None and number.known and argument.known and number.value != argument.value:
            other = "Trainer's argument" if argument.key in (None, key) else argument.key
            yield Problem(
                "EB301",
                f"{key} is {shown(number.value)} in {_name(json)}, and {other} is {shown(argument.value)}",
                (number, argument),
                refuses=True,
                help=f'write "{key}": "auto" in {_name(json)}, or make the two equal',
            )
    yield from _texts(json, BATCH)
    whole = deepspeed_json.stated(json, BATCH)
    if whole is not None and whole.value is not None:
        yield from _total(json, whole, micro, accumulation, processes)


def pinned(json: Config | None, model_parallel: Term) -> Term | None:
    """B as ``train_batch_size`` fixes it for every run that starts: its samples, less the model-parallel copies."""
    whole = deepspeed_json.stated(json, BATCH) if json is not None else None
    if whole is None or not whole.value or not model_parallel.value or whole.value % model_parallel.value:
        return None
    if model_parallel.value == 1:
        return whole
    text = f"{shown(whole.value)} / {shown(model_parallel.value)} model-parallel ranks, which {BATCH} counts"
    return Term(whole.value // model_parallel.value, "derived", whole.origins, text)


def _total(json: Config, whole: Term, micro: Term, accumulation: Term, processes: Term) -> Iterator[Problem]:
    own = product(micro, accumulation)
    given = product(own, processes)
    if not whole.value or not own.value or whole.value == given.value:
        return
    if given.known:
        reached = f"{shown(micro.value)} x {shown(accumulation.value)} x {shown(processes.value)} processes make {shown(given.value)}"
    elif whole.value % own.value:
        reached = f"no number of processes makes {shown(micro.value)} x {shown(accumulation.value)} reach it"
    else:
        return
    needed = whole.value // own.value
    fits = f"start it on {shown(needed)} processes, or " if whole.value % own.value == 0 else ""
    yield Problem(
        "EB301",
        f"{BATCH} is {shown(whole.value)} in {_name(json)}, and {reached}",
        (whole, micro, accumulation, processes),
        refuses=True,
        help=f'{fits}write "{BATCH}": "auto"',
    )


def _texts(json: Config, key: str) -> Iterator[Problem]:
    text = deepspeed_json.digits_as_text(json, key)
    if text is not None:
        origin = json.origin(key)
        yield Problem(
            "EB301",
            f'{key} in {_name(json)} is the text "{text}", and Trainer compares it with a number: the two never agree',
            (unknown("a text, and no number", *([origin] if origin else []), key=key),),
            refuses=True,
            help=f'write it without quotation marks: "{key}": {text}',
        )


def _name(json: Config) -> str:
    """Where the numbers stand: the JSON, or the key under which they are written in place."""
    return json.prefix.rstrip(".") or json.path
