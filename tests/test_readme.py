"""Every ``console`` block of the README is run, and its output compared; ``--update-cases`` rewrites the output.

The block of the failing hook is tests/test_precommit.py's; the two set-up commands are run by .ci/run, from the README.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT

README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ effbatch-lint (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)
COMMANDS = [match["command"] for match in BLOCK.finditer(README.read_text(encoding="utf-8"))]


def test_the_readme_has_commands() -> None:
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize("command", COMMANDS)
def test_block(
    command: str, run: Callable[..., tuple[int, str, str]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / ".git").mkdir()  # where the README is read, the examples lie in a checkout
    status, out, err = run(*shlex.split(command), cwd=tmp_path)
    assert status == 0
    assert not err
    text = README.read_text(encoding="utf-8")
    match = next(found for found in BLOCK.finditer(text) if found["command"] == command)
    if request.config.getoption("--update-cases"):
        README.write_text(text[: match.start("output")] + out + text[match.end("output") :], encoding="utf-8")
    assert match["output"] == out


def test_set_up_commands_are_those_of_ci() -> None:
    blocks = re.findall(r"```sh\n(.*?)\n```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert [block.splitlines() for block in blocks] == [[line] for block in blocks for line in block.splitlines()]
    assert len(blocks) == 2
