"""Options and helpers that all tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from effbatch_lint import cli

ROOT = Path(__file__).parent.parent

# A busy machine is no failure of the code.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="rewrite the expected output of tests/cases")


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in a folder: its exit status, output and errors."""

    def call(*argv: str, cwd: Path | None = None) -> tuple[int, str, str]:
        if cwd is not None:
            monkeypatch.chdir(cwd)
        try:
            status = cli.main(argv)
        except SystemExit as exited:  # argparse: help and usage errors
            status = int(exited.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def corpus() -> Path:
    """The labelled public configs beside the checkout; the test is skipped where they are not."""
    found = Path(os.environ.get("EFFBATCH_CORPUS", ROOT.parent / "shared" / "corpus"))
    if not found.is_dir():
        pytest.skip(f"the labelled corpus is not beside this checkout ({found})")
    return found
