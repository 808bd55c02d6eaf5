"""A launch script with the files that it names is one recipe: a table, and what a call makes of several files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import effbatch_lint

TABLES = sorted(Path(__file__).parent.glob("*.yaml"))
ROWS = [row for table in TABLES for row in yaml.safe_load(table.read_text(encoding="utf-8"))]


def project(folder: Path, files: dict[str, str]) -> Path:
    (folder / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_table(row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"run.sh": row["script"], **row.get("files", {})})
    monkeypatch.chdir(tmp_path)
    found = effbatch_lint.explain(["run.sh"], row.get("world"), row.get("words", ()))
    assert found, "no recipe"
    recipe = found[0].as_dict()
    assert recipe["path"] == "run.sh"
    assert recipe["launch"] is not None
    if "framework" in row:
        assert recipe["framework"] == row["framework"]
    if "files_of" in row:
        assert recipe["files"] == row["files_of"]
    (batch, *_) = found[0].batches
    answer = batch.as_dict()
    wanted = row.get("numbers", {})
    assert {name: answer[name] for name in wanted} == wanted
    if "problems" in row:
        assert [problem.code for problem in batch.all_problems] == row["problems"]
    for name, reason in row.get("reasons", {}).items():
        assert reason in (batch.terms()[name].reason or "")
    for name, lines in row.get("origins", {}).items():
        assert [span.line for span in batch.terms()[name].spans if span.path == "run.sh"] == lines


RUN = "torchrun --nproc_per_node 2 train.py --config a.yaml\n"
TREE = {
    "conf/train.yaml": "defaults: [{trainer: base}, _self_]\n",
    "conf/trainer/base.yaml": "args: {output_dir: o, per_device_train_batch_size: 4, gradient_accumulation_steps: 3}",
}
CONFIG = "{output_dir: o, per_device_train_batch_size: 2, gradient_accumulation_steps: 8}"


def test_a_config_handed_with_its_script_is_no_recipe_of_its_own(tmp_path: Path) -> None:
    project(tmp_path, {"run.sh": RUN, "a.yaml": CONFIG, "b.yaml": CONFIG})
    found = effbatch_lint.explain([tmp_path / name for name in ("a.yaml", "b.yaml", "run.sh")])
    assert sorted(Path(recipe.path).name for recipe in found) == ["b.yaml", "run.sh"]


def test_the_launches_of_a_script_are_runs_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = RUN.replace("2 train", "4 train")
    project(tmp_path, {"run.sh": RUN + again + "python evaluate.py --batch_size 7\n", "a.yaml": CONFIG})
    monkeypatch.chdir(tmp_path)
    found = effbatch_lint.explain(["run.sh"])
    assert [(recipe.name, recipe.batches[0].effective.value) for recipe in found] == [
        ("run.sh:1", 32),
        ("run.sh:2", 64),
    ]


def test_a_launch_that_no_framework_reads_is_kept_for_explain_alone(tmp_path: Path) -> None:
    project(tmp_path, {"run.sh": "torchrun --nproc_per_node 8 main.py --epochs 3\n"})
    (recipe,) = effbatch_lint.explain([tmp_path / "run.sh"])
    answer = recipe.as_dict()
    assert answer["framework"] is None
    assert answer["batches"] == []
    launch = answer["launch"]
    assert isinstance(launch, dict)
    assert (launch["world_size"], launch["program"], launch["overrides"]) == (8, "main.py", {"epochs": "3"})
    report = effbatch_lint.check([tmp_path / "run.sh"])
    assert report.recipes == []
    assert report.findings == []


@pytest.mark.parametrize(
    "line",
    [
        # DeiT and its descendants took over timm's flags, not its loop.
        "torchrun --nproc_per_node 8 main.py --model deit_base --data-path d --drop-path 0.1 --reprob 0.5 --update_freq 4",
        # torchvision's reference script shares some.
        "torchrun --nproc_per_node 8 train.py --model resnet50 -b 32 --data-path d --opt sgd --model-ema --mixup-alpha 0.2",
        # open_clip evaluates where it has nothing to train on.
        "python -m open_clip_train.main --model ViT-B-32 --pretrained a.pt --imagenet-val val --batch-size 1000",
    ],
)
def test_a_program_that_shares_flags_with_a_framework_is_not_read_as_it(tmp_path: Path, line: str) -> None:
    project(tmp_path, {"run.sh": line + "\n"})
    (recipe,) = effbatch_lint.explain([tmp_path / "run.sh"])
    assert recipe.framework is None


def test_a_script_that_cannot_be_parsed_is_one_finding_at_its_line(tmp_path: Path) -> None:
    project(tmp_path, {"run.sh": 'echo 1\ntorchrun --nproc_per_node 8 "train.py --lr 1\n'})
    report = effbatch_lint.check([tmp_path / "run.sh"])
    assert [(finding.code, finding.primary.span.line) for finding in report.findings] == [("EB901", 2)]


def test_a_manifest_is_read_like_a_script(tmp_path: Path) -> None:
    text = """\
num_nodes: 2
resources: {accelerators: "H100:4"}
run: |
  torchrun --nnodes $SKYPILOT_NUM_NODES --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE train.py --config a.yaml
"""
    project(tmp_path, {"sky.yaml": text, "a.yaml": CONFIG})
    (recipe,) = effbatch_lint.explain([tmp_path / "sky.yaml"])
    assert recipe.batches[0].effective.value == 128


def test_a_changed_config_finds_the_scripts_that_name_it(tmp_path: Path, run: Any) -> None:
    declared = "# effbatch: target=99\n" + RUN
    project(tmp_path, {"jobs/run.sh": declared, "a.yaml": CONFIG, "other.sh": "torchrun x.py --config b.yaml\n"})
    status, out, _ = run("check", "--output-format", "concise", "--scripts", "a.yaml", cwd=tmp_path)
    assert status == 1
    assert out.startswith("jobs/run.sh:1:13: ")
    assert run("check", "a.yaml", cwd=tmp_path)[0] == 0


@pytest.mark.parametrize("changed", ["conf/train.yaml", "conf/trainer/base.yaml"])
def test_a_changed_part_of_a_hydra_tree_finds_the_script_that_starts_it(changed: str, tmp_path: Path, run: Any) -> None:
    script = "# effbatch: target=99\ntorchrun --nproc_per_node 2 src/train.py --config-name=train\n"
    program = "@hydra.main(config_path='../conf')\ndef main(cfg): ...\n"
    project(tmp_path, {"run.sh": script, "src/train.py": program, **TREE})
    status, out, _ = run("check", "--output-format", "concise", "--scripts", changed, cwd=tmp_path)
    assert status == 1
    assert out.startswith("run.sh:1:13: error[EB101] 99 samples per optimizer step declared, 24 ")


def test_a_script_that_only_speaks_of_a_changed_config_says_nothing(tmp_path: Path, run: Any) -> None:
    other = "# effbatch: target=99\n# a.yaml is for the small model\n" + RUN.replace("a.yaml", "b.yaml")
    project(tmp_path, {"other.sh": other, "a.yaml": CONFIG, "b.yaml": CONFIG})
    assert run("check", "--scripts", "a.yaml", cwd=tmp_path)[0] == 0
    assert run("check", "--scripts", "b.yaml", cwd=tmp_path)[0] == 1
    assert run("check", "--scripts", ".", cwd=tmp_path)[0] == 1


def test_the_settings_name_a_script_and_its_config_as_one_recipe(tmp_path: Path, run: Any) -> None:
    settings = '[[recipes]]\nname = "main"\nfiles = ["run.sh", "a.yaml"]\ntarget = 99\n'
    project(tmp_path, {"run.sh": RUN, "a.yaml": CONFIG, "effbatch.toml": settings})
    status, out, _ = run("check", "--output-format", "concise", "a.yaml", cwd=tmp_path)
    assert (status, "99 samples per optimizer step declared, 32" in out) == (1, True), out


@pytest.mark.parametrize(
    ("words", "effective"),
    [
        ("--config-name=train trainer.args.per_device_train_batch_size=8", 48),
        ("trainer.args.per_device_train_batch_size=8", 48),
        ("--config-name=other trainer.args.per_device_train_batch_size=8", None),
        ("trainer.lr=3 trainer.args.per_device_train_batch_size=8", None),  # no word that this tree takes
    ],
)
def test_a_hydra_tree_handed_with_the_script_of_a_program_that_is_elsewhere(
    words: str, effective: int | None, tmp_path: Path
) -> None:
    script = f"torchrun --nproc_per_node 2 -m somewhere.train {words}\n"
    project(tmp_path, {"run.sh": script, **TREE})
    found = effbatch_lint.explain([tmp_path / name for name in ("run.sh", *TREE)])
    (recipe,) = [recipe for recipe in found if recipe.path.endswith("run.sh")]
    assert (recipe.batches[0].effective.value if recipe.batches else None) == effective
    assert effbatch_lint.check([tmp_path / name for name in ("run.sh", *TREE)]).findings == []


def test_of_a_whole_tree_the_primary_of_the_programs_name_is_taken(tmp_path: Path) -> None:
    """A group's file has defaults of its own, and the same folder a primary of another program."""
    files = {
        "configs/train.yaml": "defaults:\n  - _self_\n  - data: d\n  - trainer: default\n",
        "configs/eval.yaml": "defaults:\n  - _self_\n  - data: d\n  - trainer: default\n",
        "configs/data/d.yaml": "batch_size: 64\n",
        "configs/trainer/default.yaml": "_target_: lightning.Trainer\ndevices: 1\naccumulate_grad_batches: 2\nmax_epochs: 3\n",
        "configs/trainer/ddp.yaml": "defaults:\n  - default\nstrategy: ddp\ndevices: 4\n",
    }
    project(tmp_path, {"run.sh": "python src/train.py trainer=ddp data.batch_size=16\n", **files})
    found = effbatch_lint.explain([tmp_path / name for name in ("run.sh", *files)])
    (recipe,) = [recipe for recipe in found if recipe.path.endswith("run.sh")]
    assert recipe.batches[0].effective.value == 16 * 2 * 4


def test_the_engines_file_that_a_launcher_hands_over_is_no_recipe_of_its_own(tmp_path: Path) -> None:
    """open-instruct reads no number of it: accelerate fills it in."""
    auto = '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 3}}'
    line = (
        "accelerate launch --num_processes 8 --use_deepspeed --deepspeed_config_file z.conf open_instruct/dpo.py "
        "--mixer_list x 1.0 --per_device_train_batch_size 1 --gradient_accumulation_steps 16\n"
    )
    project(tmp_path, {"run.sh": line, "z.conf": auto})
    found = effbatch_lint.explain([tmp_path / "run.sh", tmp_path / "z.conf"])
    assert [(Path(recipe.path).name, recipe.as_dict()["framework"]) for recipe in found] == [
        ("run.sh", "open-instruct")
    ]
    assert effbatch_lint.check([tmp_path / "run.sh", tmp_path / "z.conf"], target=128).findings == []


def test_a_job_of_pbs_is_a_script(tmp_path: Path) -> None:
    job = (
        "#!/bin/bash\n#PBS -l select=4:ngpus=4\nNNODES=$(wc -l < $PBS_NODEFILE)\n"
        "mpiexec -n $((NNODES*4)) --ppn 4 python train.py --per_device_train_batch_size 4 --output_dir o\n"
    )
    project(tmp_path, {"job.pbs": job})
    (recipe,) = effbatch_lint.explain([tmp_path / "job.pbs"])
    assert recipe.batches[0].effective.value == 4 * 16


RECURSIVE = "walk() { for f in $1/*; do walk $f; done; }\nwalk $DIR\n"


def test_a_script_that_calls_itself_is_followed_past_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(
        project(
            tmp_path,
            {
                "walk.sh": f"{RECURSIVE}python collect.py\n",
                "run.sh": RECURSIVE + RUN.strip() + " --per_device_train_batch_size 2\n",
                "a.yaml": CONFIG,
            },
        )
    )
    assert effbatch_lint.check(["walk.sh"]).findings == []
    assert effbatch_lint.check(["run.sh"]).findings == []
    (recipe,) = effbatch_lint.explain(["run.sh"])
    assert recipe.batches


def test_a_program_that_converts_or_decodes_with_a_training_config_has_no_batch(tmp_path: Path) -> None:
    """AI-Hypercomputer/maxtext src/maxtext/inference/decode.py takes the trainers' files."""
    line = "python3 -m maxtext.{}.{} base.yml run_name=x per_device_batch_size=2 max_target_length=8 steps=1\n"
    project(tmp_path, {"a.sh": line.format("inference", "decode"), "b.sh": line.format("trainers.pre_train", "train")})
    decoded, trained = (effbatch_lint.explain([tmp_path / name], 4)[0] for name in ("a.sh", "b.sh"))
    assert (decoded.batches, trained.batches[0].effective.value) == ((), 8)
    assert not effbatch_lint.check([tmp_path / "a.sh"]).findings


def test_hydra_prints_the_config_of_a_trainer_and_trains_nothing(tmp_path: Path) -> None:
    line = "python3 print.py {} actor_rollout_ref.actor.ppo_mini_batch_size=16 actor_rollout_ref.rollout.n=2\n"
    project(tmp_path, {"print.sh": line.format("--cfg job"), "train.sh": line.format("--config-name ppo_trainer")})
    (printed,) = effbatch_lint.explain([tmp_path / "print.sh"])
    (trained,) = effbatch_lint.explain([tmp_path / "train.sh"])
    assert (printed.batches, len(trained.batches)) == ((), 1)
