"""A cold `effbatch-lint check one.yaml` beside the imports that it cannot do without, in one run.

    python benchmarks/startup.py [RUNS]

Prints the CPU time (user + system, least of RUNS) of both and their ratio. The budget is 2.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

BARE = ["-c", "import argparse, dataclasses, yaml"]
CONFIG = """\
# effbatch: target=1024 world-size=512
tokens: {sequence_length: 2048, micro_batch_size: 4, batch_accumulation_per_replica: 1}
parallelism: {dp: 256, tp: 2, pp: 1}
"""


def cpu_seconds(arguments: list[str], folder: str) -> float:
    """CPU time of one child process."""
    # Users run from compiled files; a machine that forbids writing them would measure the compiler.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.execve(sys.executable, [sys.executable, *arguments], environment)  # noqa: S606 - a process of this interpreter
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{arguments} failed with status {status}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    bare, check = [], []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one.yaml").write_text(CONFIG, encoding="utf-8")
        for _ in range(runs):  # side by side, so that the machine's mood is the same for both
            bare.append(cpu_seconds(BARE, folder))
            check.append(cpu_seconds(["-m", "effbatch_lint", "check", "one.yaml"], folder))
    print(f"import argparse, dataclasses, yaml   {min(bare) * 1000:7.1f} ms")
    print(f"effbatch-lint check one.yaml         {min(check) * 1000:7.1f} ms")
    print(f"ratio                                {min(check) / min(bare):7.2f}    (budget 2)")


if __name__ == "__main__":
    main()
