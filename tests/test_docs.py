"""The generated pages are those that the code makes now: ``python docs/generate.py`` writes them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from conftest import ROOT


def _generated() -> dict[Path, str]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[Path, str] = module.generated()
    return pages


@pytest.mark.parametrize(("path", "text"), [pytest.param(p, t, id=p.name) for p, t in _generated().items()])
def test_page_is_fresh(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text


def test_every_rule_page_says_what_why_and_what_instead() -> None:
    for path, text in _generated().items():
        if path.name.startswith("EB"):
            for heading in ("What it checks", "Why it matters", "Example", "Use instead"):
                assert f"\n{heading}\n" in text, path.name
