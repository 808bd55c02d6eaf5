"""A cold `effbatch-lint check run.sh`, with the configs that it names, beside the imports that no check can do without.

    python benchmarks/script.py [RUNS]

Prints the CPU time (user + system, least of RUNS) of both and their ratio; exit status 1 when it is over the budget of 3.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from startup import BARE, cpu_seconds

BUDGET = 3
FILES = {
    "run.sh": """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
# effbatch: target=512
MICRO=${MICRO:-4}
ARGS=(
  --config conf/train.yaml
  --per_device_train_batch_size "$MICRO"
  --gradient_accumulation_steps $((32 / MICRO))
)
srun torchrun --nnodes "$SLURM_NNODES" --nproc_per_node 8 train.py "${ARGS[@]}"
""",
    "conf/train.yaml": """\
output_dir: out
model_name_or_path: some/model
max_length: 2048
deepspeed: conf/zero2.json
""",
    "conf/zero2.json": """\
{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}
""",
}


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    bare, check = [], []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".git").mkdir()
        for name, text in FILES.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(text, encoding="utf-8")
        for _ in range(runs):  # side by side, so that the machine's mood is the same for both
            bare.append(cpu_seconds(BARE, folder))
            check.append(cpu_seconds(["-m", "effbatch_lint", "check", "run.sh"], folder))
    ratio = min(check) / min(bare)
    print(f"import argparse, dataclasses, yaml   {min(bare) * 1000:7.1f} ms")
    print(f"effbatch-lint check run.sh           {min(check) * 1000:7.1f} ms")
    print(f"ratio                                {ratio:7.2f}    (budget {BUDGET})")
    return int(ratio > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
