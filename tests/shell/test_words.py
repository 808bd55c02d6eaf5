"""Scripts -> command lines: a table, and the same scripts run in bash with programs that only write down their words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from effbatch_lint.documents.shell import script
from effbatch_lint.files import Files
from effbatch_lint.source import Source

if TYPE_CHECKING:
    from effbatch_lint.documents.shell.command import Command

ROWS = yaml.safe_load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"))
STUBS = ("torchrun", "python", "ssh", "tee", "env")
REAL = ("dirname", "basename", "expr", "cat", "tr", "wc", "cut", "awk", "grep", "seq", "sed")
# Programs that are followed and not run: what they print is worked out, and they start nothing.
QUIET = {"cat", "expr", "dirname", "basename", "tr", "wc", "cut", "awk", "grep", "seq", "bc", "head", "sed"}


def read(row: dict[str, Any], folder: Path) -> script.Script:
    path = folder / "run.sh"
    path.write_text(row["script"], encoding="utf-8")
    arguments = tuple(row["args"]) if "args" in row else None
    source = Source("run.sh", str(path), row["script"])
    return script.read(source, Files(str(folder)), environment=row.get("env"), arguments=arguments)


def started(found: script.Script) -> list[Command]:
    return [command for command in found.commands if command.name not in QUIET]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_words(row: dict[str, Any], tmp_path: Path) -> None:
    commands = started(read(row, tmp_path))
    assert [[word.display for word in command.words] for command in commands] == row["started"]
    unknown = [word for command in commands for word in command.words if not word.known]
    if "unknown" in row:
        assert row["unknown"] in (unknown[0].reason or "")
    if row.get("real", True):
        assert unknown == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is the oracle")
@pytest.mark.parametrize("row", [row for row in ROWS if row.get("real", True)], ids=lambda row: row["name"])
def test_against_bash(row: dict[str, Any], tmp_path: Path) -> None:
    programs, sandbox, log = tmp_path / "bin", tmp_path / "sandbox", tmp_path / "log"
    for folder in (programs, sandbox, log):
        folder.mkdir()
    bash = shutil.which("bash")
    for name in STUBS:
        stub = programs / name
        # A file per process: the parts of a pipe write at the same time.
        stub.write_text(f"#!{bash}\nprintf '%s\\0' {name} \"$@\" > {log}/$$\n", encoding="utf-8")
        stub.chmod(0o755)
    for name in REAL:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"no {name} here")
        (programs / name).symlink_to(found)
    (tmp_path / "run.sh").write_text(row["script"], encoding="utf-8")
    assert bash is not None
    subprocess.run(
        [bash, str(tmp_path / "run.sh"), *row.get("args", ())],
        cwd=sandbox,
        env={"PATH": str(programs), **row.get("env", {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    real = sorted(line.read_text(encoding="utf-8").split("\0")[:-1] for line in log.iterdir())
    mine = sorted([word.chars for word in command.words] for command in started(read(row, tmp_path)))
    assert mine == real
