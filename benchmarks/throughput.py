"""A thousand configs checked, beside the bare libyaml composition of the same bytes, in one run.

    python benchmarks/throughput.py [CONFIGS]

The configs are this repository's YAML examples with other numbers in them, each a file of its own. Prints the CPU
time of both (least of five) and their ratio. The budget is 4.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

import effbatch_lint

EXAMPLES = sorted(
    path
    for path in (Path(__file__).parent.parent / "examples").rglob("*")
    if path.suffix in (".yaml", ".yml") and "lightning" not in path.parts  # the parts of a tree are no configs
)


def write(folder: Path, count: int) -> list[Path]:
    """``count`` configs: each example over and over, with a further 60 lines of keys as real configs have them."""
    paths = []
    for number in range(count):
        example = EXAMPLES[number % len(EXAMPLES)]
        text = example.read_text(encoding="utf-8")
        text = re.sub(r"\b(seed|steps|rate): [\d.]+", rf"\1: {number}", text)
        if not text.rstrip().endswith("}"):
            text += "".join(f"extra_{line}: {{name: value_{line}, weight: 0.{line}}}\n" for line in range(60))
        path = folder / f"config_{number:05}.yaml"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def least(action: Callable[[], object], times: int = 5) -> float:
    """The least wall time of several runs, in seconds."""
    found = []
    for _ in range(times):
        started = time.process_time()
        action()
        found.append(time.process_time() - started)
    return min(found)


def compose_all(texts: list[str]) -> None:
    """Compose each text and drop it: trees that are kept cost the garbage collector more than libyaml needs."""
    for text in texts:
        yaml.compose(text, Loader=yaml.CSafeLoader)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), count)
        texts = [path.read_text(encoding="utf-8") for path in paths]
        report = effbatch_lint.check(paths)
        assert len(report.recipes) == count, f"{len(report.recipes)} recipes in {count} configs"
        compose = least(lambda: compose_all(texts))
        check = least(lambda: effbatch_lint.check(paths))
    size = sum(map(len, texts))
    print(f"{count:,} configs, {size:,} bytes")
    print(f"libyaml composition   {compose * 1000:8.0f} ms")
    print(f"effbatch-lint check   {check * 1000:8.0f} ms")
    print(f"ratio                 {check / compose:8.2f}    (budget 4)")


if __name__ == "__main__":
    main()
