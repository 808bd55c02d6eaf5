"""A file with a defaults list, handed to the tool: composed, or a part of a tree whose root lies above."""

from __future__ import annotations

from pathlib import Path

import effbatch_lint

TREE = {
    "config.yaml": "defaults:\n  - _self_\n  - trainer: one\n  - experiment: null\ndata: {_target_: p.Data, batch_size: 4}\n",
    "trainer/one.yaml": "_target_: lightning.Trainer\naccelerator: gpu\ndevices: 1\n",
    "trainer/many.yaml": "defaults:\n  - one\n  - _self_\ndevices: 8\n",
    "experiment/large.yaml": "# @package _global_\ndefaults:\n  - override /trainer: many\ndata: {batch_size: 32}\n",
}


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def batches(path: Path, *overrides: str) -> list[object]:
    recipes = effbatch_lint.explain([path], overrides=overrides)
    return [recipe.as_dict()["batches"][0]["effective_batch"] for recipe in recipes]  # type: ignore[index] # a list of dicts


def test_the_folder_of_the_file_is_the_search_path(tmp_path: Path) -> None:
    written(tmp_path, TREE)
    assert batches(tmp_path / "config.yaml") == [4]
    assert batches(tmp_path / "config.yaml", "trainer=many") == [32]
    assert batches(tmp_path / "config.yaml", "experiment=large") == [256]


def test_an_override_sets_a_key_that_no_file_has(tmp_path: Path) -> None:
    written(tmp_path, TREE)
    assert batches(tmp_path / "config.yaml", "trainer.num_nodes=3") == [12]
    recipe = effbatch_lint.explain([tmp_path / "config.yaml"], overrides=("trainer.num_nodes=3",))[0]
    assert list(recipe.as_dict()["overrides"]) == ["trainer.num_nodes=3"]  # type: ignore[call-overload] # a list


def test_a_part_of_a_tree_is_no_run_of_its_own_and_leads_to_its_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    written(tmp_path / "conf", TREE)
    report = effbatch_lint.check([tmp_path / "conf" / "experiment" / "large.yaml"])
    assert report.findings == []
    assert [recipe.path for recipe in report.recipes] == [str(tmp_path / "conf" / "config.yaml")]
    assert report.recipes[0].batches[0].effective.value == 256


def test_what_a_missing_part_may_hold_is_unknown_and_the_rest_holds(tmp_path: Path) -> None:
    written(tmp_path, {**TREE, "config.yaml": TREE["config.yaml"].replace("experiment: null", "logger@log: wandb")})
    report = effbatch_lint.check([tmp_path / "config.yaml"])
    assert [finding.code for finding in report.findings] == ["EB902"]
    assert report.recipes[0].batches[0].effective.value == 4
    (tmp_path / "trainer" / "one.yaml").unlink()
    report = effbatch_lint.check([tmp_path / "config.yaml"])
    assert report.recipes == [] or report.recipes[0].batches[0].effective.value is None


def test_a_folder_full_of_parts_raises_no_alarm(tmp_path: Path) -> None:
    written(tmp_path, TREE)
    report = effbatch_lint.check([tmp_path])
    assert [finding.message for finding in report.findings if finding.severity == "error"] == []
    name = str(tmp_path / "config.yaml")
    assert [recipe.name or recipe.path for recipe in report.recipes] == [name, f"{name} with experiment=large"]
