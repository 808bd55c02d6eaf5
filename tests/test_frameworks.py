"""Every framework against its table: ``tests/frameworks/NAME.yaml``, a list of snippet -> numbers.

A row: ``name``, ``source`` (where upstream says so), ``text`` (the config) in ``file`` (config.yaml when absent),
``files`` (companions), ``world_size``, ``overrides``; ``expect`` (fields of the batch as the contract names them,
``framework`` and ``profile``), ``problems`` (the codes, exactly), ``refused`` (a part of the reason), ``reasons``
(term -> a part of why it is unknown), ``batch`` (which one, the first when absent).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import effbatch_lint

TABLES = sorted((Path(__file__).parent / "frameworks").glob("*.yaml"))
ROWS = [
    pytest.param(table.stem, row, id=f"{table.stem}: {row['name']}")
    for table in TABLES
    for row in yaml.safe_load(table.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("framework", "row"), ROWS)
def test_table(framework: str, row: dict[str, Any], tmp_path: Path) -> None:
    main = tmp_path / row.get("file", "config.yaml")
    for name, text in {row.get("file", "config.yaml"): row["text"], **row.get("files", {})}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    recipes = effbatch_lint.explain(
        [main, *(tmp_path / name for name in row.get("merge_with", ()))],
        world_size=row.get("world_size"),
        overrides=tuple(row.get("overrides", ())),
    )
    assert len(recipes) == 1
    recipe = recipes[0].as_dict()
    batches: Any = recipe["batches"]
    batch: dict[str, Any] = batches[row.get("batch", 0)]
    expected = {"framework": framework, **row.get("expect", {})}
    found = {"framework": recipe["framework"], "profile": recipe["profile"], **batch}
    assert {key: found[key] for key in expected} == expected
    assert sorted(problem["code"] for problem in batch["problems"]) == sorted(row.get("problems", []))
    assert (row["refused"] in batch["refused"]) if "refused" in row else batch["refused"] is None
    for term, reason in row.get("reasons", {}).items():
        assert reason in batch["terms"][term]["reason"]
