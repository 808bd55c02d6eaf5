"""Megatron's programs that take the sizes of a model and a micro batch, and train nothing.

Upstream: NVIDIA/Megatron-LM, tools/run_text_generation_server.py and its siblings, examples/inference, tools/checkpoint,
tools/retro/main.py (prepares data); tasks/main.py and tasks/msdp/main.py (``--task`` chooses; of deepspeedai/
Megatron-DeepSpeed and, up to core 0.15, of Megatron-LM).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from effbatch_lint.frameworks.parts.megatron.flags import written

if TYPE_CHECKING:
    from effbatch_lint.compose.config import Config
    from effbatch_lint.launch import Launch

_NAME = re.compile(r"(?:^|_)(?:text_gen|generat|inference|eval|convert)")
_PATHS = ("tools/retro/main.py", "tools/checkpoint/")
_TASK = re.compile(r"LAMBADA|WIKITEXT103|ICT-ZEROSHOT-NQ|RETRIEVER-EVAL|MSDP-PROMPT|MSDP-EVAL-F1")


def trains(args: Config, launch: Launch) -> bool:
    """Whether the program of the launch line takes optimizer steps; a program of another name does."""
    program = launch.program or ""
    name = re.split(r"[/.]", program.removesuffix(".py"))[-1]
    if _NAME.search(name) or any(path in program for path in _PATHS):
        return False
    return _TASK.fullmatch(written(args, "task")) is None
