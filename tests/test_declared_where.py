"""Where a declaration may stand: in a document of several, in a companion, in a further file of a run, in UTF-16."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import effbatch_lint

if TYPE_CHECKING:
    from effbatch_lint.recipe import Recipe

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\n"
AUTO = '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "zero_optimization": {}}\n'
NEOX = '{"pipe_parallel_size": 1, "model_parallel_size": 1, "num_layers": 12, "seq_length": 2048, "train_iters": 10}\n'


def write(folder: Path, **files: str) -> list[Path]:
    paths = [folder / name.replace("_", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def said(recipe: Recipe) -> tuple[list[str], int | None]:
    world = recipe.batches[0].layout.world.value
    return [target.quantity.words for target in recipe.targets], None if world is None else int(world)


def codes(*paths: Path) -> list[str]:
    return [finding.code for finding in effbatch_lint.check(paths).findings]


def test_a_pragma_belongs_to_the_document_in_which_it_stands(tmp_path: Path) -> None:
    first, second = "# effbatch: target=8 world-size=2\n", "# effbatch: target=16 world-size=4\n"
    paths = write(tmp_path, a_yaml=f"{first}---\n{TRAINER}---\n{second}{TRAINER}---\n{TRAINER}")
    assert [said(recipe) for recipe in effbatch_lint.explain(paths)] == [(["8"], 2), (["16"], 4), ([], None)]
    assert codes(*paths) == []


def test_a_target_in_a_document_of_no_framework_guards_nothing(tmp_path: Path) -> None:
    paths = write(tmp_path, a_yaml=f"{TRAINER}---\n# effbatch: target=99\nname: other\n")
    assert codes(*paths) == ["EB104"]


def test_a_remark_belongs_to_the_document_in_which_it_stands(tmp_path: Path) -> None:
    wide = TRAINER.replace("4\n", "8  # effective batch size 16 on 2 GPUs\n")
    assert codes(*write(tmp_path, a_yaml=f"{TRAINER}---\n{wide}")) == []


def test_a_companion_speaks_for_the_run_that_names_it(tmp_path: Path) -> None:
    main, _ = write(
        tmp_path,
        train_yaml=f"{TRAINER}deepspeed: ds.json\n",
        ds_json=f"/*\n * effbatch: target=9 world-size=2\n */\n{AUTO}",
    )
    recipes = effbatch_lint.explain([main])
    assert [said(recipe) for recipe in recipes] == [(["9"], 2)]
    assert codes(main) == ["EB101"]


def test_the_world_size_nearest_to_the_run_holds(tmp_path: Path) -> None:
    main, _ = write(
        tmp_path,
        train_yaml=f"# effbatch: world-size=4\n{TRAINER}deepspeed: ds.json\n",
        ds_json=f"// effbatch: world-size=2\n{AUTO}",
    )
    assert [said(recipe) for recipe in effbatch_lint.explain([main])] == [([], 4)]


def test_a_further_file_of_the_run_speaks_for_it(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        model_yml=NEOX,
        local_yml='# effbatch: target=32 world-size=8\n{"train_micro_batch_size_per_gpu": 4, "eval_iters": 10, "lr_decay_style": "cosine", "warmup": 0.01, "eval_interval": 5}\n',
    )
    assert [said(recipe) for recipe in effbatch_lint.explain(paths)] == [(["32"], 8)]
    assert codes(*paths) == []


def test_a_file_in_utf_16_is_read_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"# effbatch: target=9 world-size=2\n{TRAINER}", encoding="utf-16")
    assert [said(recipe) for recipe in effbatch_lint.explain([path])] == [(["9"], 2)]
    assert codes(path) == ["EB101"]


def test_a_file_of_hundreds_of_configs_is_refused(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a_yaml=f"{TRAINER}---\n" * 300)
    assert codes(path) == ["EB901"]


def test_a_pair_holds_two_sequences(tmp_path: Path) -> None:
    dpo = "output_dir: out\nbeta: 0.1\nrpo_alpha: 1.0\nloss_type: sigmoid\nper_device_train_batch_size: 4\nmax_prompt_length: 10\n"
    for number, (target, met) in enumerate(
        [
            ("64 sequences", True),
            ("32 sequences", True),
            ("32 pairs", True),
            ("64 pairs", False),
            ("48 sequences", False),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths = write(folder, a_yaml=f'# effbatch: target="{target}" world-size=8\n{dpo}')
        assert codes(*paths) == ([] if met else ["EB101"])
