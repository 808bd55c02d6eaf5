"""The way of the data: who may import whom, who prints, and what a cold run of one YAML file imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

PACKAGE = ROOT / "effbatch_lint"
# A layer may import those before it, and what is named twice only for types.
BELOW = {
    "documents": {"report", "rules", "engine", "cli", "frameworks", "launchers", "recipes", "project"},
    "compose": {"report", "rules", "engine", "cli", "frameworks", "recipes", "project"},
    "frameworks": {"report", "rules", "engine", "cli", "recipes", "project"},
    "rules": {"report", "engine", "cli"},
}


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports when it runs (not for types only), without the package's name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("effbatch_lint"):
            base = (node.module or "").removeprefix("effbatch_lint").strip(".")
            yield from (f"{base}.{alias.name}".strip(".") for alias in node.names)


def test_no_arrow_runs_against_the_way_of_the_data() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for layer, forbidden in BELOW.items()
        for path in (PACKAGE / layer).rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in forbidden
    ]
    assert wrong == []


def test_frameworks_never_import_each_other() -> None:
    allowed = {"framework", "table", "parts"}
    wrong = [
        f"{path.name} imports {name}"
        for path in (PACKAGE / "frameworks").glob("*.py")
        if path.stem != "table"
        for name in imports(path)
        if name.startswith("frameworks.") and name.split(".")[1] not in allowed
    ]
    assert wrong == []


def test_only_the_command_line_prints_or_exits() -> None:
    calls = [
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "sys.exit", "exit", "sys.stdout.write")
    ]
    assert set(calls) == {"cli.py"}


def test_a_cold_run_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(
        "tokens: {sequence_length: 1, micro_batch_size: 4, batch_accumulation_per_replica: 1}\n"
        "parallelism: {dp: 2, tp: 1, pp: 1}\n",
        encoding="utf-8",
    )
    code = (
        "import sys; from effbatch_lint import cli; cli.main(['check', 'one.yaml']);"
        "print(*[n for n in ('json', 'tomllib', 'omegaconf', 'hydra', 'subprocess', 'fractions', 'difflib', 'dataclasses',"
        " 'tree_sitter', 'pathlib') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
