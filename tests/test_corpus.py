"""The labelled public configs: no false alarm on any that runs as its label says.

The numbers themselves are compared by ../shared/tools/agreement.py (.ci/run).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import corpus

import effbatch_lint
from effbatch_lint.frameworks.table import TABLE

SCRIPTS = (".sh", ".slurm", ".sbatch")
# Its defaults list names megatron_model_base_config, which lies beside it upstream and not here: Hydra refuses it (EB902).
INCOMPLETE = ("megatron_retro_config_legacy.yaml",)


def consistent(folder: Path) -> list[tuple[list[Path], dict[str, Any]]]:
    """The rows of a framework whose files are configs and whose label has nothing against them."""
    rows = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    found = []
    for row in rows:
        files = [folder / name for name in (row["file"], *(row.get("merge_with") or ()))]
        # The file itself is no valid YAML, or a part of it is missing.
        broken = row["expect"].get("error") or row["file"].endswith(INCOMPLETE)
        if row.get("consistent") is not False and not broken and not any(str(p).endswith(SCRIPTS) for p in files):
            found.append((files, row))
    return found


@pytest.mark.parametrize("framework", [module.replace("_", "-") for module, _ in TABLE])
def test_no_false_alarm(framework: str) -> None:
    folder = corpus() / framework
    if not (folder / "labels.json").exists():
        pytest.skip(f"no labels for {framework}")
    alarms = []
    for files, row in consistent(folder):
        report = effbatch_lint.check(
            files, world_size=row.get("world_size"), overrides=tuple(row.get("overrides") or ())
        )
        alarms += [
            f"{row['file']}@{row.get('world_size')}: {finding.code} {finding.message}"
            for finding in report.findings
            if finding.severity == "error"
        ]
    assert alarms == []


def test_no_false_alarm_when_all_files_are_handed_at_once() -> None:
    """As pre-commit does in a commit that touches every config: nothing about one file may disturb another."""
    labelled = [
        (folder / row["file"]).resolve()
        for folder in sorted(corpus().iterdir())
        if (folder / "labels.json").exists() and folder.name not in ("bugs", "launchers")
        for row in json.loads((folder / "labels.json").read_text(encoding="utf-8"))
        if row.get("consistent") is not False and row.get("static") is not False
    ]
    refused = {
        (folder / row["file"]).resolve()
        for folder in sorted(corpus().iterdir())
        if (folder / "labels.json").exists() and folder.name not in ("bugs", "launchers")
        for row in json.loads((folder / "labels.json").read_text(encoding="utf-8"))
        if row.get("consistent") is False
    }
    configs = {path for path in labelled if path.suffix in (".yaml", ".yml", ".json", ".toml")}
    paths = sorted(path for path in configs - refused if path.name not in INCOMPLETE)
    report = effbatch_lint.check(paths)
    assert [f"{f.primary.span.where}: {f.code} {f.message}" for f in report.findings if f.severity == "error"] == []
