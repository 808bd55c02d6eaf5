"""What a composition costs here and in Hydra: both in one run, nothing cached, the best of several turns.

    python benchmarks/compose.py [FOLDER PRIMARY [OVERRIDE ...]]

Without arguments: verl's PPO tree from the corpus, a NeMo launcher tree where one is checked out
(NEMO_LAUNCHER=.../launcher_scripts/conf), and a made-up tree of thirty files.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import hydra
from hydra.core.global_hydra import GlobalHydra

from effbatch_lint.compose.hydra import compose
from effbatch_lint.files import Files

# The rows of the lightning and verl trees select plug-ins that need not be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "compose"))
import oracle  # noqa: F401 - registers empty nodes for them

TURNS = 12
# A turn of a few milliseconds meets the machine's moods more often than one of half a second.
OUR_TURNS = 60


def best(turn: Callable[[], object], turns: int = TURNS) -> float:
    """CPU milliseconds, the least of several turns."""
    times = []
    for _ in range(turns):
        gc.collect()
        started = time.process_time()
        turn()
        times.append(time.process_time() - started)
    return 1_000 * min(times)


def compared(name: str, folder: str, primary: str, overrides: list[str]) -> None:
    def ours() -> object:
        return compose(Files(folder), [folder], primary, overrides)

    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(folder, version_base="1.3"):
        theirs_ms = best(lambda: hydra.compose(primary, overrides=overrides))
    ours_ms = best(ours, OUR_TURNS)
    read = len(compose(Files(folder), [folder], primary, overrides).config.files)
    print(
        f"{name:24} {read:4} files   hydra {theirs_ms:8.1f} ms   effbatch-lint {ours_ms:7.2f} ms   1/{theirs_ms / ours_ms:.0f}"
    )


def made_up(folder: Path) -> None:
    """A primary with ten groups of three nested files each."""
    groups = [f"group{number}" for number in range(10)]
    listed = "".join(f"  - {group}: top\n" for group in groups)
    (folder / "config.yaml").write_text(f"defaults:\n{listed}  - _self_\nseed: 1\n", encoding="utf-8")
    body = "".join(f"key{number}:\n  value: {number}\n  other: ${{seed}}\n  names: [a, b]\n" for number in range(40))
    for group in groups:
        (folder / group).mkdir()
        (folder / group / "top.yaml").write_text(f"defaults:\n  - middle\n  - _self_\n{body}", encoding="utf-8")
        (folder / group / "middle.yaml").write_text(f"defaults:\n  - bottom\n  - _self_\n{body}", encoding="utf-8")
        (folder / group / "bottom.yaml").write_text(body, encoding="utf-8")


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    if arguments:
        folder, primary, *overrides = arguments
        compared(Path(folder).name, os.path.abspath(folder), primary, overrides)
        return
    corpus = next(
        (
            above / "shared" / "corpus"
            for above in Path(__file__).resolve().parents
            if (above / "shared" / "corpus").is_dir()
        ),
        None,
    )
    if corpus is not None:
        compared(
            "verl ppo_trainer",
            str(corpus / "verl/support/verl/trainer/config"),
            "ppo_trainer",
            ["trainer.nnodes=2", "data.train_batch_size=1024"],
        )
        compared(
            "lightning template",
            str(corpus / "lightning/lightning-hydra-template/configs"),
            "train",
            ["experiment=example"],
        )
    launcher = os.environ.get("NEMO_LAUNCHER")
    if launcher:
        compared("NeMo launcher", os.path.abspath(launcher), "config", ["training=gpt3/5b"])
    with tempfile.TemporaryDirectory() as name:
        made_up(Path(name))
        compared("made up", os.path.realpath(name), "config", ["seed=2"])


if __name__ == "__main__":
    main(sys.argv[1:])
