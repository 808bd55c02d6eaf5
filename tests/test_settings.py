"""Settings: every key, what is refused and where, and what the described recipes and trainers come to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import effbatch_lint
from effbatch_lint.settings import place
from effbatch_lint.settings.records import Settings
from effbatch_lint.source import Span, Unreadable

Run = Callable[..., tuple[int, str, str]]

NANOTRON = """\
tokens:
  micro_batch_size: 2
  batch_accumulation_per_replica: 4
  sequence_length: 1024
parallelism:
  dp: 8
  tp: 2
  pp: 1
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git project of one config with a batch of 64 on 16 devices, entered."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.yaml").write_text(NANOTRON, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(folder: Path, text: str, name: str = "effbatch.toml") -> Settings:
    (folder / name).write_text(text, encoding="utf-8")
    return place.load(str(folder / name))


def findings(run: Run, *argv: str) -> list[dict[str, Any]]:
    _, out, _ = run("check", "--output-format", "json", *argv)
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


# -- every key -----------------------------------------------------------------------------------------------------


def test_every_key(project: Path) -> None:
    found = load(
        project,
        """\
target = "2,048 sequences"
tokens = "8M"
tolerance = "1%"
world-size = [8, 64]
framework = "nanotron"
exclude = ["old/*.yaml", "third_party"]
extra-roots = ["../shared"]
ignore = ["EB305", "stale-remark"]
extend-select = ["EB308"]
per-file-ignores = {"legacy/*" = ["EB306"], "x.yaml" = ["EB101", "EB102"]}
fail-on = "warning"
[[recipes]]
name = "sft"
files = ["train.yaml", "ds.json"]
overrides = ["a.b=3"]
world-size = 4
target = {prompts = 64}
tolerance = 0.02
framework = "litgpt"
[custom]
micro-batch = "train.bs"
""",
    )
    assert found.unknown == ()
    assert [(t.quantity.words, t.tolerance, t.kind, t.place) for t in found.targets] == [
        ("2,048 sequences", 0.01, "settings", "effbatch.toml:1"),
        ("8M tokens", 0.01, "settings", "effbatch.toml:2"),
    ]
    assert [size.value for size in found.world_sizes] == [8, 64]
    assert found.framework == "nanotron"
    assert found.exclude == ("old/*.yaml", "third_party")
    assert found.extra_roots == (str(project / "../shared"),)
    assert found.ignore == {"EB305", "EB306"}
    assert found.extend_select == {"EB308"}
    assert dict(found.per_file_ignores) == {"legacy/*": frozenset({"EB306"}), "x.yaml": frozenset({"EB101", "EB102"})}
    assert found.fail_on == "warning"
    (recipe,) = found.recipes
    assert recipe.files == (str(project / "train.yaml"), str(project / "ds.json"))
    assert (recipe.name, recipe.overrides, [size.value for size in recipe.world_sizes], recipe.framework) == (
        "sft",
        ("a.b=3",),
        [4],
        "litgpt",
    )
    assert [(t.quantity.words, t.tolerance) for t in recipe.targets] == [("64 prompts", 0.02)]
    assert [custom.prefix for custom in found.custom] == ["custom."]


def test_nothing_set(project: Path) -> None:
    assert load(project, "") == Settings(str(project), "effbatch.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("target = 2048", ["2048"]),
        ("target = 2_048", ["2048"]),
        ('target = "8.4M tokens"', ["8.4M tokens"]),
        ("target = {sequences = 2048}", ["2048 sequences"]),
        ("target = {sequence = 2048}", ["2048 sequences"]),
        ('target = {tokens = "8M"}', ["8M tokens"]),
        ('target = {completions = 512, tokens = "1M"}', ["512 completions", "1M tokens"]),
        ("target.pairs = 64", ["64 pairs"]),
        ("tokens = 8388608", ["8388608 tokens"]),
        ('tokens = "8M tokens"', ["8M tokens"]),
        ("[target]\nprompts = 64", ["64 prompts"]),
    ],
)
def test_ways_to_write_a_target(project: Path, text: str, words: list[str]) -> None:
    assert [target.quantity.words for target in load(project, text).targets] == words


@pytest.mark.parametrize(
    ("text", "share"), [("0", 0), ("0.015", 0.015), ('"1%"', 0.01), ('"1.5%"', 0.015), ('"0%"', 0), ('"25%"', 0.25)]
)
def test_ways_to_write_a_tolerance(project: Path, text: str, share: float) -> None:
    assert load(project, f"target = 8\ntolerance = {text}").targets[0].tolerance == share


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "wanted"),
    [
        ('target = "big"', "target", "a number with or without a unit"),
        ("target = 0", "target", "a number with or without a unit"),
        ("target = true", "target", "a number with or without a unit"),
        ("target = [1]", "target", "a number with or without a unit"),
        ("target = {}", "target", "a number with or without a unit"),
        ("target = {apples = 3}", "target.apples", "a number of sequences,"),
        ("target = {sequences = true}", "target.sequences", "a number with or without a unit"),
        ('target = {sequences = "8M tokens"}', "target.sequences", "a number of sequences"),
        ('tokens = "8M sequences"', "tokens", "a number of tokens"),
        ("tokens = {a = 1}", "tokens", "a number with or without a unit"),
        ('tolerance = "a lot"', "tolerance", "a share of the target"),
        ('tolerance = "%"', "tolerance", "a share of the target"),
        ("tolerance = 1", "tolerance", "a share of the target"),
        ("tolerance = -0.1", "tolerance", "a share of the target"),
        ("tolerance = true", "tolerance", "a share of the target"),
        ('tolerance = "150%"', "tolerance", "a share of the target"),
        ("tolerance = []", "tolerance", "a share of the target"),
        ("world-size = 0", "world-size", "a whole number above zero"),
        ("world-size = -8", "world-size", "a whole number above zero"),
        ('world-size = "8"', "world-size", "a whole number above zero"),
        ("world-size = true", "world-size", "a whole number above zero"),
        ("world-size = 8.0", "world-size", "a whole number above zero"),
        ("world-size = []", "world-size", "a whole number above zero"),
        ('world-size = [8, "x"]', "world-size", "a whole number above zero"),
        ("framework = 3", "framework", "a string"),
        ("framework = []", "framework", "a string"),
        ('exclude = "x"', "exclude", "a list of strings"),
        ("exclude = [1]", "exclude", "a list of strings"),
        ("exclude = [[]]", "exclude", "a list of strings"),
        ('extra-roots = "x"', "extra-roots", "a list of strings"),
        ('ignore = "EB101"', "ignore", "a list of strings"),
        ('ignore = ["EB999"]', "ignore", "a list of rule codes; EB999 is none"),
        ('extend-select = ["all"]', "extend-select", "a list of rule codes; all is none"),
        ("per-file-ignores = 3", "per-file-ignores", "a table of globs"),
        ('per-file-ignores = ["x"]', "per-file-ignores", "a table of globs"),
        ('per-file-ignores = {"x" = "EB101"}', "per-file-ignores.x", "a list of strings"),
        ('per-file-ignores = {"a.b/*.yaml" = ["EB1"]}', "per-file-ignores.a.b/*.yaml", "a list of rule codes; EB1 is none"),
        ('fail-on = "never"', "fail-on", "one of error, warning, info"),
        ("fail-on = 1", "fail-on", "a string"),
        ("recipes = 3", "recipes", "a list of tables"),
        ("recipes = [3]", "recipes", "a list of tables"),
        ("[recipes]\nfiles = []", "recipes", "a list of tables"),
        ("[[recipes]]\nname = 'x'", "recipes.files", "a list of strings"),
        ("[[recipes]]\nfiles = 'x'", "recipes.files", "a list of strings"),
        ("[[recipes]]\nfiles = []", "recipes.files", "a list of strings, at least one"),
        ("[[recipes]]\nfiles = ['x']\noverrides = ['a']", "recipes.overrides", "a list of KEY=VALUE"),
        ("[[recipes]]\nfiles = ['x']\noverrides = ['=3']", "recipes.overrides", "a list of KEY=VALUE"),
        ("[[recipes]]\nfiles = ['x']\nworld-size = 0", "recipes.world-size", "a whole number above zero"),
        ("custom = 3", "custom", "a table"),
        ("custom = [3]", "custom", "a table"),
        ("custom = {x = [3]}", "custom", "a table"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_ends_the_run_at_its_line(
    project: Path, run: Run, text: str, key: str, wanted: str
) -> None:
    (project / "effbatch.toml").write_text(f"# settings\n{text}\n", encoding="utf-8")
    status, out, err = run("check", "train.yaml")
    assert (status, out) == (2, "")
    assert f"the setting {key} must be {wanted}" in err
    assert err.startswith(
        ("effbatch-lint: effbatch.toml:2:", "effbatch-lint: effbatch.toml:3:", "effbatch-lint: effbatch.toml:4:")
    )
    with pytest.raises(Unreadable):
        effbatch_lint.check(["train.yaml"])


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "help"),
    [
        ("target = 64\ntraget = 64\n", 2, 1, "traget is no setting", "did you mean target?"),
        ("target = 64\nworld_size = 64\n", 2, 1, "world_size is no setting", "did you mean world-size?"),
        ("[[recipes]]\nfiles = ['train.yaml']\nbatch = 3\n", 3, 1, "recipes.batch is no setting", "there are name,"),
        ("[tool.effbatch-lint]\ntarget = 64\n", 1, 2, "tool is no setting", "there are target,"),
    ],
)
def test_a_key_that_does_not_exist_is_a_finding_at_its_line(
    project: Path, run: Run, text: str, line: int, column: int, message: str, help: str
) -> None:
    (project / "effbatch.toml").write_text(text, encoding="utf-8")
    found = [finding for finding in findings(run, "train.yaml") if finding["code"] == "EB905"]
    assert [(f["primary"]["path"], f["primary"]["line"], f["primary"]["column"]) for f in found] == [
        ("effbatch.toml", line, column)
    ]
    assert found[0]["message"] == message
    assert found[0]["help"].startswith(help)
    assert run("check", "train.yaml")[0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target = \n", "effbatch.toml:1:10: not valid TOML"),
        ("target = 1\ntarget = 2\n", "effbatch.toml:2:11: not valid TOML: Cannot overwrite a value"),
        ("a = " + "[" * 5_000, "nested deeper than the limit"),
        ("target = " + "9" * 5_000, "a number of 5,000 characters"),
        ("target = 0x" + "9" * 5_000, "digits, over the limit"),
        ("\0", "a NUL character"),
    ],
)
def test_a_file_that_is_no_settings_file_ends_the_run(project: Path, run: Run, text: str, message: str) -> None:
    (project / "effbatch.toml").write_text(text, encoding="utf-8")
    status, out, err = run("check", "train.yaml")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


# -- where settings come from --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[tool.effbatch-lint]\ntarget = 99\n",
        "[tool.other]\nx = 1\n[tool.effbatch-lint]\ntarget = 99\n",
        '[tool."effbatch-lint"]\ntarget = 99\n',
        "[tool]\neffbatch-lint = {target = 99}\n",
        "[tool]\neffbatch-lint.target = 99\n",
        "tool.effbatch-lint.target = 99\n",
        "[ tool . effbatch-lint ]\ntarget = 99\n",
        "[tool.effbatch-lint.target]\nsequences = 99\n",
    ],
)
def test_pyproject(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    found = place.governing()
    assert found.path == "pyproject.toml"
    assert [target.quantity.value for target in found.targets] == [99]


@pytest.mark.parametrize(
    "text",
    [
        "[project]\nname = 'x'\n",
        "[dependency-groups]\nlint = ['effbatch-lint>=0.1']\n",
        "# configure it with [tool.effbatch-lint]\n",
        "[tool.other]\nx = 'tool.effbatch-lint'\n",
    ],
)
def test_a_pyproject_that_does_not_configure_the_tool(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    assert place.governing() == Settings(str(project))


def test_a_section_that_is_no_table(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text("[tool]\neffbatch-lint = 3\n", encoding="utf-8")
    status, _, err = run("check", "train.yaml")
    assert status == 2
    assert "pyproject.toml:2:17: the setting tool.effbatch-lint must be a table" in err


def test_the_nearest_file_governs_and_not_past_the_repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = project / "a" / "b"
    below.mkdir(parents=True)
    (project / "effbatch.toml").write_text("target = 1", encoding="utf-8")
    monkeypatch.chdir(below)
    assert place.governing().folder == str(project)
    (project / "a" / "pyproject.toml").write_text("[tool.effbatch-lint]\ntarget = 2", encoding="utf-8")
    assert place.governing().folder == str(project / "a")
    (project / "a" / "effbatch.toml").write_text("target = 3", encoding="utf-8")
    assert place.governing().targets[0].quantity.value == 3
    (below / ".git").mkdir()
    assert place.governing() == Settings(str(below))


def test_settings_above_the_first_path_govern_where_none_stand_above_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "effbatch.toml").write_text("target = 1", encoding="utf-8")
    (tmp_path / "elsewhere" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert place.governing([str(tmp_path / "project" / "x.yaml")]).folder == str(tmp_path / "project")
    assert place.governing([str(tmp_path / "project")]).folder == str(tmp_path / "project")


def test_a_named_settings_file(project: Path, run: Run) -> None:
    (project / "effbatch.toml").write_text("target = 64", encoding="utf-8")
    (project / "ci.toml").write_text("target = 65", encoding="utf-8")
    assert run("check", "train.yaml")[0] == 0
    assert run("check", "train.yaml", "--config", "ci.toml")[0] == 1
    status, _, err = run("check", "train.yaml", "--config", "missing.toml")
    assert (status, err) == (2, "effbatch-lint: --config missing.toml: no such file\n")


# -- what they do --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "codes"),
    [
        ("target = 64", 0, []),
        ("target = 65", 1, ["EB101"]),
        ("target = 128", 1, ["EB102"]),
        ('tokens = "64k"', 0, []),
        ("tokens = 65536", 0, []),
        ("tokens = 65537", 1, ["EB103"]),
        ("target = 65\ntolerance = 0.02", 0, []),
        ("target = 65\ntolerance = 0.01", 1, ["EB101"]),
        ("target = 65\nignore = ['EB101']", 0, []),
        ("target = 65\nignore = ['target-mismatch']", 0, []),
        ("target = 65\nper-file-ignores = {'train.yaml' = ['EB101']}", 0, []),
        ("target = 65\nper-file-ignores = {'*.yaml' = ['EB101']}", 0, []),
        ("target = 65\nper-file-ignores = {'other.yaml' = ['EB101']}", 1, ["EB101"]),
        ("target = 65\nexclude = ['train.yaml']", 0, []),
        ("target = 65\nexclude = ['*']", 0, []),
        ("target = 65\nexclude = ['other']", 1, ["EB101"]),
        ("world-size = 16\ntarget = 64", 0, []),
        ("world-size = 8", 1, ["EB202"]),
        ("world-size = [16, 8]", 1, ["EB202"]),
        ("target = {prompts = 64}", 0, []),
        ("target = {tokens = 64}", 1, ["EB105"]),
        ("framework = 'litgpt'", 0, []),
    ],
)
def test_what_they_do(project: Path, run: Run, text: str, status: int, codes: list[str]) -> None:
    (project / "effbatch.toml").write_text(text, encoding="utf-8")
    assert [finding["code"] for finding in findings(run, "train.yaml")] == codes
    assert run("check", "train.yaml")[0] == status


def test_per_file_ignores_cover_findings_that_stand_in_the_settings(project: Path, run: Run) -> None:
    """The place of a target in the settings is the settings file: what is ignored is the recipe's finding."""
    (project / "effbatch.toml").write_text(
        "target = 65\nper-file-ignores = {'train.yaml' = ['EB101']}", encoding="utf-8"
    )
    (project / "other.yaml").write_text(NANOTRON, encoding="utf-8")
    assert [finding["recipe"] for finding in findings(run, "train.yaml", "other.yaml")] == ["other.yaml"]


def test_an_off_rule_is_switched_on(project: Path, run: Run) -> None:
    (project / "trainer.yaml").write_text("train: {bs: 4}\n", encoding="utf-8")
    described = "[custom]\nmicro-batch = 'train.bs'\n"
    (project / "effbatch.toml").write_text(described, encoding="utf-8")
    assert findings(run, "trainer.yaml") == []
    (project / "effbatch.toml").write_text("extend-select = ['EB308']\n" + described, encoding="utf-8")
    assert [finding["code"] for finding in findings(run, "trainer.yaml")] == ["EB308"]


@pytest.mark.parametrize(("fail_on", "status"), [("error", 0), ("warning", 1), ("info", 1)])
def test_the_least_severity_that_fails(project: Path, run: Run, fail_on: str, status: int) -> None:
    (project / "train.yaml").write_text(NANOTRON + "  dp: 8\n", encoding="utf-8")  # EB307, a warning
    (project / "effbatch.toml").write_text(f"fail-on = '{fail_on}'", encoding="utf-8")
    assert run("check", "train.yaml")[0] == status
    assert run("check", "train.yaml", "--fail-on", "error")[0] == 0
    assert run("check", "train.yaml", "--fail-on", "warning")[0] == 1


def test_an_unknown_framework(project: Path, run: Run) -> None:
    for text in ("framework = 'nonesuch'", "[[recipes]]\nfiles = ['train.yaml']\nframework = 'nonesuch'"):
        (project / "effbatch.toml").write_text(text, encoding="utf-8")
        status, out, err = run("check", "train.yaml")
        assert (status, out) == (2, "")
        assert err == "effbatch-lint: no framework is called 'nonesuch': see `effbatch-lint frameworks`\n"


def test_a_folder_outside_that_may_be_read(project: Path, run: Run) -> None:
    outside = project.parent / f"{project.name}-outside"
    outside.mkdir()
    (outside / "far.yaml").write_text(NANOTRON, encoding="utf-8")
    (project / "near.yaml").symlink_to(outside / "far.yaml")
    (project / "effbatch.toml").write_text("target = 64", encoding="utf-8")
    (found,) = findings(run, "near.yaml")
    assert (found["code"], found["help"]) == ("EB901", 'name its folder in the settings: extra-roots = ["..."]')
    (project / "effbatch.toml").write_text(f"target = 64\nextra-roots = ['../{outside.name}']", encoding="utf-8")
    assert findings(run, "near.yaml") == []


# -- described recipes ---------------------------------------------------------------------------------------------

OURS = "[custom]\nmicro-batch = 'train.bs'\naccumulation = 'train.accum'\nworld-size = 'nodes * gpus'\n"


def test_a_recipe_of_several_files(project: Path, run: Run) -> None:
    (project / "train.yaml").write_text("train: {bs: 4, accum: 2}\n", encoding="utf-8")
    (project / "cluster.yaml").write_text("nodes: 2\ngpus: 8\ntrain: {bs: 6}\n", encoding="utf-8")
    (project / "effbatch.toml").write_text(
        "[[recipes]]\nname = 'big'\nfiles = ['train.yaml', 'cluster.yaml']\ntarget = 192\n" + OURS,
        encoding="utf-8",
    )
    status, out, _ = run("explain", "train.yaml", "--output-format", "json")
    assert status == 0
    (recipe,) = json.loads(out)["recipes"]
    assert (recipe["name"], recipe["files"]) == ("big", ["train.yaml", "cluster.yaml"])
    assert recipe["batches"][0]["effective_batch"] == 6 * 2 * 16
    assert findings(run, "cluster.yaml") == []


def test_a_recipe_with_overrides_at_several_sizes(project: Path, run: Run) -> None:
    (project / "effbatch.toml").write_text(
        "[[recipes]]\nname = 'run'\nfiles = ['train.yaml']\noverrides = ['parallelism.dp=4']\nworld-size = [8, 16]\ntarget = 32\n",
        encoding="utf-8",
    )
    status, out, _ = run("explain", "train.yaml", "--output-format", "json")
    recipes = json.loads(out)["recipes"]
    assert status == 0
    assert [(r["name"], r["overrides"], r["batches"][0]["effective_batch"]) for r in recipes] == [
        ("run @ 8", ["parallelism.dp=4"], 32),
        ("run @ 16", ["parallelism.dp=4"], None),
    ]
    found = findings(run, "train.yaml")
    assert [(finding["code"], finding["recipe"]) for finding in found] == [("EB202", "run @ 16")]
    assert findings(run, "train.yaml", "--world-size", "8") == []
    assert findings(run, "train.yaml", "--override", "parallelism.tp=4", "--world-size", "16") == []


def test_a_recipe_of_which_no_file_is_given_is_not_read(project: Path, run: Run) -> None:
    (project / "other.yaml").write_text(NANOTRON, encoding="utf-8")
    (project / "effbatch.toml").write_text("[[recipes]]\nfiles = ['train.yaml']\ntarget = 1\n", encoding="utf-8")
    assert findings(run, "other.yaml") == []
    assert [finding["code"] for finding in findings(run)] == ["EB101"]


def test_a_recipe_whose_file_is_missing(project: Path, run: Run) -> None:
    (project / "effbatch.toml").write_text(
        "[[recipes]]\nfiles = ['train.yaml', 'gone.yaml']\ntarget = 64\n", encoding="utf-8"
    )
    (found,) = findings(run, "train.yaml")
    assert (found["code"], found["primary"]["path"]) == ("EB901", "effbatch.toml")


def test_one_config_in_two_recipes(project: Path, run: Run) -> None:
    (project / "effbatch.toml").write_text(
        "[[recipes]]\nname = 'a'\nfiles = ['train.yaml']\ntarget = 64\n"
        "[[recipes]]\nname = 'b'\nfiles = ['train.yaml']\noverrides = ['parallelism.dp=4']\ntarget = 64\n",
        encoding="utf-8",
    )
    assert [(finding["code"], finding["recipe"]) for finding in findings(run, "train.yaml")] == [("EB102", "b")]


def test_the_nearest_statement_of_the_world_size_holds(project: Path, run: Run) -> None:
    (project / "train.yaml").write_text("# effbatch: world-size=24\ntrain: {bs: 4, accum: 2}\n", encoding="utf-8")
    described = OURS.replace("world-size = 'nodes * gpus'\n", "")

    def batches(*argv: str) -> list[int]:
        _, out, _ = run("explain", "train.yaml", "--output-format", "json", *argv)
        return [recipe["batches"][0]["world_size"] for recipe in json.loads(out)["recipes"]]

    (project / "effbatch.toml").write_text(f"world-size = 8\n{described}", encoding="utf-8")
    assert batches() == [24]
    (project / "effbatch.toml").write_text(
        f"world-size = 8\n[[recipes]]\nfiles = ['train.yaml']\nworld-size = [32, 64]\n{described}", encoding="utf-8"
    )
    assert batches() == [32, 64]
    assert batches("--world-size", "128") == [128]


@pytest.mark.parametrize(("nodes", "sizes"), [("${NNODES:-1}", [16, 32]), ("$NNODES", [16, 32]), ("1", [8])])
def test_a_script_that_leaves_its_devices_open_is_checked_on_the_projects(
    project: Path, run: Run, nodes: str, sizes: list[int]
) -> None:
    (project / "effbatch.toml").write_text("world-size = [16, 32]\n", encoding="utf-8")
    (project / "run.sh").write_text(
        f"torchrun --nnodes {nodes} --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4\n",
        encoding="utf-8",
    )
    _, out, _ = run("explain", "run.sh", "--output-format", "json")
    assert [recipe["batches"][0]["world_size"] for recipe in json.loads(out)["recipes"]] == sizes


# -- settings from Python ------------------------------------------------------------------------------------------


def test_settings_from_a_mapping(project: Path) -> None:
    assert project.is_dir()
    report = effbatch_lint.check(
        ["train.yaml"], settings={"target": 65, "world-size": 16, "per-file-ignores": {"x": ["EB102"]}}
    )
    assert [(finding.code, finding.primary.span) for finding in report.findings] == [
        ("EB101", Span("train.yaml", 2, 21, 2, 22))
    ]
    assert effbatch_lint.check(["train.yaml"], settings={"target": {"tokens": "64k"}}).findings == []
    with pytest.raises(Unreadable, match="the setting exclude must be a list of strings"):
        effbatch_lint.check(["train.yaml"], settings={"exclude": [1]})
    with pytest.raises(Unreadable, match="the setting target must be a number"):
        effbatch_lint.check(["train.yaml"], settings={"target": None})
    unknown = effbatch_lint.check(["train.yaml"], settings={"traget": 64}).findings
    assert [(finding.code, finding.primary.span.path) for finding in unknown] == [("EB905", "<settings>")]


def test_settings_from_a_file_and_from_a_record(project: Path) -> None:
    (project / "ci.toml").write_text("target = 65", encoding="utf-8")
    for given in ("ci.toml", project / "ci.toml", place.load("ci.toml")):
        assert [finding.code for finding in effbatch_lint.check(["train.yaml"], settings=given).findings] == ["EB101"]


@pytest.mark.parametrize("name", ["effbatch_lint", "efbatch-lint", "effbatch", "effbatchlint"])
def test_a_table_whose_name_is_misspelled_is_told(project: Path, run: Run, name: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.ruff]\n[tool.{name}]\ntarget = 64\n", encoding="utf-8")
    (found,) = findings(run, "train.yaml")
    assert (found["code"], found["primary"]["line"]) == ("EB905", 2)
    assert (found["message"], found["help"]) == (
        f"tool.{name} is no table of this tool",
        "did you mean tool.effbatch-lint?",
    )
