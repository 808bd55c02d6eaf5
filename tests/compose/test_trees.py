"""Hand-written corner cases: ``trees.yaml``, composed by hydra-core and by effbatch-lint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import oracle
import pytest
import yaml

TREES = yaml.safe_load((Path(__file__).parent / "trees.yaml").read_text(encoding="utf-8"))


def _words(run: str) -> list[str]:
    """The words of a command line; blanks inside brackets or quotes separate none."""
    words = [""]
    depth, quote = 0, ""
    for character in run:
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        depth += (character in "{[(") - (character in "}])")
        if character == " " and not depth and not quote:
            words.append("")
        else:
            words[-1] += character
    return [word for word in words if word]


RUNS = [
    pytest.param(tree["files"], primary, _words(run), base, id=f"{tree['name']}: {primary} {run} ({base})")
    for tree in TREES
    for primary in tree.get("primaries", ["config"])
    for run in tree["runs"]
    for base in tree.get("version_bases", ["1.3"])
]


@pytest.mark.parametrize(("files", "primary", "overrides", "base"), RUNS)
def test_same_as_hydra(files: dict[str, str], primary: str, overrides: list[str], base: str, tmp_path: Path) -> None:
    oracle.write(tmp_path, files)
    expected: Any = oracle.theirs(tmp_path, primary, overrides, version_base=base)
    found = oracle.ours(tmp_path, primary, overrides, version_base=base)
    why = oracle.reason(tmp_path, primary, overrides) if found == oracle.REFUSED else ""
    assert found == expected, why
    assert "not valid YAML" not in why or primary == "broken"
