"""The Hydra trees of the labelled corpus, when it lies beside the project: each file that has a defaults list, the
labelled command lines of the lightning trees, and the words of verl's launch scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import oracle
import pytest

CORPUS = next(
    (
        folder
        for above in Path(__file__).resolve().parents
        for folder in [above / "shared" / "corpus"]
        if folder.is_dir()
    ),
    None,
)
VERL = "verl/support/verl/trainer/config"
WORD = re.compile(r"^\s*([+~]{0,2}[\w./@]+=(?:[\w./-]+|\[[\w.,-]*\]))\s*\\?$", re.MULTILINE)
LISTED = re.compile(r"^defaults:\s*$", re.MULTILINE)

pytestmark = pytest.mark.skipif(CORPUS is None, reason="the corpus is not here: ../shared/corpus")


def _runs() -> list[tuple[str, str, tuple[str, ...]]]:
    """Folder, primary, overrides. Of the files with a defaults list every second, for the time that Hydra takes."""
    if CORPUS is None:
        return []
    runs: list[tuple[str, str, tuple[str, ...]]] = [
        (str(path.parent.relative_to(CORPUS)), path.stem, ())
        for path in sorted(CORPUS.rglob("*.yaml"))[::2]
        if "nemo-rl" not in path.parts and LISTED.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    for row in json.loads((CORPUS / "lightning" / "labels.json").read_text(encoding="utf-8")):
        folder, _, name = row["file"].rpartition("/")
        if folder:
            runs.append((f"lightning/{folder}", Path(name).stem, tuple(row["overrides"])))
    for number, script in enumerate(sorted((CORPUS / "verl").glob("*.sh"))):
        text = script.read_text(encoding="utf-8")
        primary = "ppo_megatron_trainer" if "ppo_megatron" in text else "ppo_trainer"
        primary = "sft_trainer_engine" if "sft_trainer" in text else primary
        words = WORD.findall(text)
        # Scripts of older releases set keys that this tree does not have; forced, they compose.
        runs.append((VERL, primary, tuple(words if number % 3 == 0 else ("++" + word.lstrip("+") for word in words))))
    return list(dict.fromkeys(runs))


@pytest.mark.parametrize(("folder", "primary", "overrides"), _runs())
def test_same_as_hydra(folder: str, primary: str, overrides: tuple[str, ...]) -> None:
    assert CORPUS is not None
    root = CORPUS / folder
    expected = oracle.theirs(root, primary, list(overrides))
    assert oracle.ours(root, primary, list(overrides), project=CORPUS) == expected, oracle.reason(
        root, primary, list(overrides)
    )


def test_there_are_enough_trees() -> None:
    composed = [run for run in _runs() if run[2]]
    assert len(composed) > 30
