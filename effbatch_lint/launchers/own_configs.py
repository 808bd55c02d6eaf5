"""Programs that load a config of their own where the launch line names none.

NVIDIA-NeMo/RL examples/run_*.py: the file of that table in ``configs`` beside the program; the line's words lie over it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from effbatch_lint.documents.shell.text import written
from effbatch_lint.launch import Argument

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEMO_RL = {
    "run_distillation.py": "distillation_math.yaml", "run_dpo.py": "dpo.yaml", "run_grpo.py": "grpo_math_1B.yaml",
    "run_grpo_single_controller.py": "grpo_math_1B_megatron_single_controller.yaml", "run_ppo.py": "ppo_math_1B.yaml",
    "run_grpo_sliding_puzzle.py": "grpo_sliding_puzzle.yaml", "run_rm.py": "rm.yaml", "run_sft.py": "sft.yaml",
    "run_vlm_grpo.py": "vlm_grpo_3B.yaml",
    "run_xtoken_off_policy_distillation.py": "xtoken_off_policy_distillation.yaml",
}  # fmt: skip
_SECTIONS = (
    "policy.",
    "cluster.",
    "grpo.",
    "ppo.",
    "sft.",
    "dpo.",
    "rm.",
    "distillation.",
    "logger.",
    "checkpointing.",
)


def own_config(program: str | None, arguments: Iterable[Argument]) -> tuple[Argument, ...]:
    """The config that the program loads by itself, as if the line named it; nothing where the line does, or it loads none."""
    folder, name = os.path.split(program or "")
    file = _NEMO_RL.get(name)
    given = {argument.name: argument.dashes for argument in arguments}
    if file is None or "config" in given or not any(key.startswith(_SECTIONS) for key in given):
        return ()
    path = os.path.join(folder, "configs", file)
    return (Argument("config", path, "--", note=f"{name} loads it where no --config is given", word=written(path)),)
