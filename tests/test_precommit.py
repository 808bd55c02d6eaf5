"""The real pre-commit in a real git repository, with this checkout as the hook's source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

GOOD = """\
# effbatch: target=64 world-size=8
base_model: meta-llama/Llama-3.1-70B
datasets: [{path: tatsu-lab/alpaca, type: alpaca}]
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
"""


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "train.yaml").write_text(GOOD, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "a recipe")
    return folder


def try_repo(folder: Path, *files: str) -> tuple[int, str]:
    """Run the hook of this checkout, uncommitted changes included: with `--all-files`, or on what is staged."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT"))}
    environment["NO_COLOR"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "effbatch-lint", *files, "--color=never"],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_good_recipe_passes_and_a_changed_one_fails_and_says_why(
    project: Path, request: pytest.FixtureRequest
) -> None:
    status, out = try_repo(project, "--all-files")
    assert status == 0, out
    assert re.search(r"^effbatch-lint\.+Passed$", out, re.MULTILINE)

    train = project / "conf" / "train.yaml"
    train.write_text(GOOD.replace("steps: 4", "steps: 8"), encoding="utf-8")
    git(project, "add", "-A")
    status, out = try_repo(project, "--all-files")
    assert status == 1
    assert "conf/train.yaml:1:13: error[EB101] 64 sequences declared, 128 sequences per optimizer step computed" in out
    assert "gradient_accumulation_steps: 4 reaches 64 sequences on 8 devices" in out

    train.write_text(GOOD + "tensor_parallel_size: 4\n", encoding="utf-8")
    git(project, "add", "-A")
    status, out = try_repo(project, "--all-files")
    assert status == 1
    hook = out[out.rindex("====\n") + 5 :].split("effbatch-lint.", 1)[1]
    shown = "effbatch-lint." + re.sub(r" in \d+\.\d\d s\n", " in 0.03 s\n", hook)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    block = re.search(r"```console\n\$ git commit [^\n]*\n(.*?)```", text, re.DOTALL)
    assert block is not None
    if request.config.getoption("--update-cases"):
        readme.write_text(text[: block.start(1)] + shown.rstrip() + "\n" + text[block.end(1) :], encoding="utf-8")
    assert block[1].rstrip() == shown.rstrip()


TRAIN = """\
# effbatch: target=256 world-size=8
defaults:
  - _self_
  - data: base
  - experiment: null
trainer: {_target_: lightning.Trainer, devices: 8}
"""
LARGE = "# @package _global_\n# effbatch: target=512\ndefaults:\n  - override /data: large\n"


def test_a_changed_part_of_a_tree_fails_through_its_root(project: Path) -> None:
    conf = project / "conf"
    for name in ("data", "experiment"):
        (conf / name).mkdir()
    (conf / "train.yaml").write_text(TRAIN, encoding="utf-8")
    (conf / "data" / "base.yaml").write_text("batch_size: 32\n", encoding="utf-8")
    (conf / "data" / "large.yaml").write_text("batch_size: 64\n", encoding="utf-8")
    (conf / "experiment" / "large.yaml").write_text(LARGE, encoding="utf-8")
    git(project, "add", "-A")
    status, out = try_repo(project)
    assert status == 0, out
    git(project, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "a tree")

    (conf / "data" / "base.yaml").write_text("batch_size: 16\n", encoding="utf-8")
    git(project, "add", "-A")
    assert git(project, "diff", "--cached", "--name-only").split() == ["conf/data/base.yaml"]
    status, out = try_repo(project)
    assert status == 1
    assert "conf/train.yaml:1:13: error[EB101] 256 samples declared, 128 samples per optimizer step computed" in out
    assert "--> conf/data/base.yaml" in out

    git(project, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "base")
    (conf / "data" / "large.yaml").write_text("batch_size: 128\n", encoding="utf-8")
    git(project, "add", "-A")
    status, out = try_repo(project)
    assert status == 1
    assert "conf/experiment/large.yaml:2:13: error[EB101] 512 samples declared, 1,024 samples" in out
    assert "--> conf/data/large.yaml" in out
    assert "in the recipe conf/train.yaml with experiment=large" in out
