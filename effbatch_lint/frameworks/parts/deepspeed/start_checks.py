"""What DeepSpeed refuses in its file before it looks at the three batch numbers together.

Upstream: deepspeedai/DeepSpeed deepspeed/runtime/config_utils.py (dict_raise_error_on_duplicate_keys),
deepspeed/runtime/config.py (_batch_assertion, _set_batch_related_parameters).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from effbatch_lint.batch import Problem
from effbatch_lint.documents.nodes import Mapping, Scalar, leaves
from effbatch_lint.frameworks.parts.deepspeed import json as deepspeed_json
from effbatch_lint.frameworks.parts.deepspeed.json import ACCUMULATION, BATCH, MICRO, origins
from effbatch_lint.terms import Origin, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from effbatch_lint.compose.config import Config


def start_checks(config: Config) -> Iterator[Problem]:
    """Keys that stand twice, numbers in quotation marks, and neither a global nor a micro batch."""
    yield from _repeated(config)
    yield from _texts(config)
    yield from _incomplete(config)


def _repeated(config: Config) -> Iterator[Problem]:
    """DeepSpeed's loader refuses a key that stands twice; HF Trainer's and accelerate's ("auto") take the last one."""
    if any(isinstance(e.value, Scalar) and e.value.text == "auto" for _, e in leaves(config.root)):
        return
    holders = (config.root, *(e.value for _, e in leaves(config.root) if isinstance(e.value, Mapping)))
    for earlier in (entry for holder in holders for entry in holder.duplicates):
        if earlier.value.span is None or earlier.value.span.path != config.path:
            continue
        yield Problem(
            "EB304",
            f"the key {earlier.key} stands twice, and DeepSpeed takes no file with a repeated key",
            (unknown(f"{earlier.key} stands twice", Origin(earlier.span, earlier.key), key=earlier.key),),
            refuses=True,
            help="remove one of them",
        )
        return


def _incomplete(config: Config) -> Iterator[Problem]:
    """DeepSpeed asserts that one of the two is there; a file without them is no fault where the program adds one."""
    if not config.has(BATCH, MICRO):
        key = config.present(ACCUMULATION, "zero_optimization") or BATCH
        message = (
            f"neither {BATCH} nor {MICRO} is set: DeepSpeed stops at this file, unless the program adds one of them"
        )
        yield Problem(
            "EB903", message, (unknown("no batch", *origins(config, key), key=key),), help=f"set {MICRO}, or {BATCH}"
        )


def _texts(config: Config) -> Iterator[Problem]:
    """A number in quotation marks is a TypeError in the first comparison."""
    for key in (BATCH, MICRO, ACCUMULATION):
        text = deepspeed_json.digits_as_text(config, key)
        if text is not None:
            yield Problem(
                "EB304",
                f'{key} is the text "{text}", and DeepSpeed computes with numbers only',
                (unknown("a text, and no number", *origins(config, key), key=key),),
                refuses=True,
                help=f'write it without quotation marks: "{key}": {text}',
            )
