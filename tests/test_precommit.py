"""The real pre-commit and the real git: both hooks of this checkout, installed once, at `git commit`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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
SCRIPT = """\
#!/bin/bash
# effbatch: target=128
torchrun --nproc_per_node 8 train.py --config conf/trainer.yaml
"""
TRAINER = """\
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 4
"""


class Hooks(NamedTuple):
    """This checkout as a repository of hooks, uncommitted changes included; ``home`` is where pre-commit installs it."""

    repository: Path
    revision: str
    home: Path


class Project:
    """A git repository in which `git commit` runs hooks of this checkout."""

    def __init__(self, folder: Path, hooks: Hooks, hook: str, files: dict[str, str]) -> None:
        self.folder = folder
        self._environment = {**clean_environment(), "PRE_COMMIT_HOME": str(hooks.home), "NO_COLOR": "1"}
        for name, text in files.items():
            self.write(name, text)
        self.write(
            ".pre-commit-config.yaml",
            f"repos:\n- repo: {hooks.repository}\n  rev: {hooks.revision}\n  hooks:\n  - id: {hook}\n",
        )
        self.git("init", "-q")
        self._run(sys.executable, "-m", "pre_commit", "install", "--install-hooks")
        self.first = self.commit("a run that is as declared")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def commit(self, message: str) -> tuple[int, str]:
        """`git commit -a` with all that is new: its status and what is printed, the seconds made equal."""
        self.git("add", "-A")
        status, out = self.git("commit", "-qm", message)
        return status, re.sub(r" in \d+\.\d\d s\n", " in 0.03 s\n", out)

    def git(self, *words: str) -> tuple[int, str]:
        return self._run("git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words)

    def _run(self, *words: str) -> tuple[int, str]:
        done = subprocess.run(
            words, cwd=self.folder, env=self._environment, check=False, capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr


def clean_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT"))}


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Hooks:
    folder = tmp_path_factory.mktemp("hooks")

    def git(*words: str, cwd: Path = folder) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
        done = subprocess.run(command, cwd=cwd, env=clean_environment(), check=True, capture_output=True, text=True)
        return done.stdout

    listed = git("ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "this checkout")
    return Hooks(folder, git("rev-parse", "HEAD").strip(), tmp_path_factory.mktemp("pre-commit"))


@pytest.fixture
def project(hooks: Hooks, tmp_path: Path) -> Callable[..., Project]:
    def made(hook: str, files: dict[str, str]) -> Project:
        found = Project(tmp_path, hooks, hook, files)
        status, out = found.first
        assert (status, out.count("Passed")) == (0, 1), out
        return found

    return made


def test_a_good_recipe_passes_and_a_changed_one_fails_and_says_why(
    project: Callable[..., Project], request: pytest.FixtureRequest
) -> None:
    repository = project("effbatch-lint", {"conf/train.yaml": GOOD})
    repository.write("conf/train.yaml", GOOD.replace("steps: 4", "steps: 8"))
    status, out = repository.commit("twice the accumulation")
    assert status == 1
    assert "conf/train.yaml:1:13: error[EB101] 64 sequences per optimizer step declared, 128 computed" in out
    assert "gradient_accumulation_steps: 4 reaches 64 sequences on 8 devices" in out

    repository.write("conf/train.yaml", GOOD + "tensor_parallel_size: 4\n")
    status, out = repository.commit("tensor parallelism")
    assert status == 1
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    block = re.search(r"```console\n\$ git commit [^\n]*\n(.*?)```", text, re.DOTALL)
    assert block is not None
    if request.config.getoption("--update-cases"):
        readme.write_text(text[: block.start(1)] + out.rstrip() + "\n" + text[block.end(1) :], encoding="utf-8")
    assert block[1].rstrip() == out.rstrip()


def test_a_changed_launch_script_fails(project: Callable[..., Project]) -> None:
    repository = project("effbatch-lint-scripts", {"run.sh": SCRIPT, "conf/trainer.yaml": TRAINER})
    repository.write("run.sh", SCRIPT.replace("node 8", "node 16"))
    status, out = repository.commit("more devices")
    assert status == 1
    assert re.search(r"^effbatch-lint \(launch scripts\)\.+Failed$", out, re.MULTILINE)
    assert "run.sh:2:13: error[EB101] 128 samples per optimizer step declared, 256 computed" in out
    assert "--> conf/trainer.yaml" in out

    repository.write("run.sh", SCRIPT.replace("node 8", "node 16").replace("=128", "=256"))
    status, out = repository.commit("more devices, and said so")
    assert status == 0, out


def test_a_changed_config_fails_through_the_script_that_names_it(project: Callable[..., Project]) -> None:
    repository = project("effbatch-lint-scripts", {"run.sh": SCRIPT, "conf/trainer.yaml": TRAINER})
    repository.write("conf/trainer.yaml", TRAINER.replace("steps: 4", "steps: 2"))
    status, out = repository.commit("half the accumulation")
    assert status == 1
    shown = out[out.index("run.sh:2:13") :]
    assert shown == (
        """\
run.sh:2:13: error[EB101] 128 samples per optimizer step declared, 64 computed
  |
2 | # effbatch: target=128
  |             ^^^^^^^^^^ declared: 128 samples per optimizer step
3 | torchrun --nproc_per_node 8 train.py --config conf/trainer.yaml
  |                           - 8 devices
  --> conf/trainer.yaml
  |
2 | per_device_train_batch_size: 4
  |                              - micro batch 4
3 | gradient_accumulation_steps: 2
  |                              - accumulation 2
  |
  = computed: 4 x 2 x 8 = 64 samples (hf-trainer)
  = 128 is 2 x 64, and 2 is the accumulation (gradient_accumulation_steps)
  help: gradient_accumulation_steps: 4 in conf/trainer.yaml reaches 128 samples on 8 devices; or declare target=64
  page: effbatch-lint rule EB101

1 error in 1 recipe (1 recipe checked, 3 files read) in 0.03 s

"""
    )

    repository.write("conf/trainer.yaml", TRAINER + "learning_rate: 0.1\n")
    status, out = repository.commit("nothing of the batch")
    assert status == 0, out


TREE = {
    "conf/train.yaml": (
        "# effbatch: target=256 world-size=8\ndefaults:\n  - _self_\n  - data: base\n  - experiment: null\n"
        "trainer: {_target_: lightning.Trainer, devices: 8}\n"
    ),
    "conf/data/base.yaml": "batch_size: 32\n",
    "conf/data/large.yaml": "batch_size: 64\n",
    "conf/experiment/large.yaml": (
        "# @package _global_\n# effbatch: target=512\ndefaults:\n  - override /data: large\n"
    ),
}


def test_a_changed_part_of_a_tree_fails_through_its_root(project: Callable[..., Project]) -> None:
    repository = project("effbatch-lint", TREE)
    repository.write("conf/data/base.yaml", "batch_size: 16\n")
    status, out = repository.commit("half the batch")
    assert status == 1
    assert "conf/train.yaml:1:13: error[EB101] 256 samples per optimizer step declared, 128 computed" in out
    assert "--> conf/data/base.yaml" in out

    repository.write("conf/data/base.yaml", "batch_size: 32\n")
    repository.write("conf/data/large.yaml", "batch_size: 128\n")
    status, out = repository.commit("twice the batch of the experiment")
    assert status == 1
    assert (
        "conf/experiment/large.yaml:2:13: error[EB101] 512 samples per optimizer step declared, 1,024 computed" in out
    )
    assert "--> conf/data/large.yaml" in out
    assert "in the recipe conf/train.yaml with experiment=large" in out
