"""Files that a framework merges into one run: which are taken together, and where each number then comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import effbatch_lint
from effbatch_lint.call import Call, Options
from effbatch_lint.compose.code import Code
from effbatch_lint.discovery import python_below
from effbatch_lint.files import Files
from effbatch_lint.launch import Launch
from effbatch_lint.project.candidates import candidates
from effbatch_lint.project.one_run import merged
from effbatch_lint.settings.records import none

if TYPE_CHECKING:
    from effbatch_lint.recipe import Recipe

MODEL = '{"pipe_parallel_size": 1, "model_parallel_size": 2, "num_layers": 32, "seq_length": 2048}\n'
TRAINING = """\
train_micro_batch_size_per_gpu: 4
train_iters: 1000
data_impl: mmap
warmup: 0.01
lr_decay_style: cosine
"""


def explain(folder: Path, files: dict[str, str], overrides: tuple[str, ...] = ()) -> list[Recipe]:
    paths = [folder / f"{name}.yml" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return effbatch_lint.explain(paths, world_size=8, overrides=overrides)


def test_each_number_knows_its_own_file(tmp_path: Path) -> None:
    (recipe,) = explain(tmp_path, {"model": MODEL, "training": TRAINING})
    batch = recipe.batches[0]
    assert batch.effective.value == 16
    assert [Path(path).name for path in recipe.config.files] == ["model.yml", "training.yml"]
    assert [(Path(span.path).name, span.line) for span in batch.micro.spans] == [("training.yml", 1)]
    assert [(Path(span.path).name, span.line) for span in batch.layout.tensor.spans] == [("model.yml", 1)]


def test_an_override_is_applied_once(tmp_path: Path) -> None:
    (recipe,) = explain(tmp_path, {"model": MODEL, "training": TRAINING}, ("train_micro_batch_size_per_gpu=8",))
    (origin,) = recipe.batches[0].micro.origins
    assert origin.note == "--override train_micro_batch_size_per_gpu=8"
    assert [previous.note for previous in origin.previous] == [None]


@pytest.mark.parametrize("more", ["", "training"])
def test_two_whole_runs_stay_two(tmp_path: Path, more: str) -> None:
    hyphenated = MODEL.replace("_", "-")  # no key of the second is noticed as a repeat of the first
    recipes = explain(tmp_path, {"one": hyphenated, "two": hyphenated, **({more: TRAINING} if more else {})})
    assert len(recipes) == (3 if more else 2)


def test_a_key_in_two_files_is_no_run(tmp_path: Path) -> None:
    assert len(explain(tmp_path, {"model": MODEL, "training": TRAINING + "seq_length: 4096\n"})) == 2


def test_files_named_as_one_run_may_not_repeat_a_key(tmp_path: Path) -> None:
    for name, text in {"model.yml": MODEL, "training.yml": TRAINING + "seq_length: 4096\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = Files(str(tmp_path))
    call = Call(Options(), none(str(tmp_path)), files, None, [], {}, [], Code(files, python_below))
    found = [
        candidate
        for name in ("model.yml", "training.yml")
        for candidate in candidates(files.document(str(tmp_path / name)), call)
    ]
    run = merged(found)
    batch = next(run.framework.read(run.config, Launch.nothing()))
    (problem,) = batch.problems
    assert (problem.code, problem.refuses) == ("EB902", True)
    assert problem.message.startswith("seq_length stands in two files of one run: ")
    assert [Path(term.spans[0].path).name for term in problem.terms] == ["training.yml", "model.yml"]
