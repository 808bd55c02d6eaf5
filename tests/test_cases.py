"""Whole runs: ``tests/cases/CODE/NAME/`` holds the input files and, in ``output.txt``, the command and all it prints.

The first line of output.txt is ``$ effbatch-lint ...``, the last one ``exit status N``. ``pytest --update-cases``
rewrites what lies between; read the diff.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
FOUND = sorted(CASES.glob("*/*/output.txt"))
_SECONDS = re.compile(r'(?<= in )\d+\.\d\d(?= s$)|(?<="seconds": )\d+\.\d+', re.MULTILINE)


@pytest.mark.parametrize("output", FOUND, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}")
def test_case(
    output: Path, run: Callable[..., tuple[int, str, str]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    expected = output.read_text(encoding="utf-8")
    command = expected.split("\n", 1)[0].removeprefix("$ effbatch-lint ")
    work = tmp_path / "project"
    shutil.copytree(output.parent, work, ignore=shutil.ignore_patterns("output.txt"))
    (work / ".git").mkdir()
    status, out, err = run(*shlex.split(command), cwd=work)
    found = f"$ effbatch-lint {command}\n{_SECONDS.sub('0.00', out)}{err}exit status {status}\n"
    if request.config.getoption("--update-cases"):
        output.write_text(found, encoding="utf-8")
    assert found == expected
    code = output.parent.parent.name
    if output.parent.name.startswith("no-"):
        assert f"[{code}]" not in found, "a case named no-... shows that its rule is silent"
    else:
        assert code in found, "a case shows its rule, or is named no-..."
