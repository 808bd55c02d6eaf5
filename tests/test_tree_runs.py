"""A file of a config tree is checked through the runs that include it, and each finding says which run it is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import effbatch_lint
from effbatch_lint.documents.document import Document, parse

if TYPE_CHECKING:
    from effbatch_lint.source import Source

TREE = {
    "conf/train.yaml": (
        "# effbatch: target=256 world-size=8\n"
        "defaults:\n  - _self_\n  - data: base\n  - model: small\n  - experiment: null\n"
        "trainer:\n  _target_: lightning.Trainer\n  devices: 8\n  accumulate_grad_batches: 1\n"
    ),
    "conf/data/base.yaml": "batch_size: 32\n",
    "conf/data/large.yaml": "batch_size: 64\n",
    "conf/model/small.yaml": "defaults:\n  - block\nlayers: 3\n",
    "conf/model/block.yaml": "heads: 4\n",
    "conf/experiment/large.yaml": (
        "# @package _global_\n# effbatch: target=512\ndefaults:\n  - override /data: large\n"
    ),
    "conf/experiment/long.yaml": "# @package _global_\ntrainer:\n  accumulate_grad_batches: 4\n",
}
Found = list[tuple[str, str | None]]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    write(tmp_path, TREE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def check(*paths: str, **options: Any) -> tuple[Found, list[str]]:
    """The codes with the run that each is about, and the names of the runs."""
    report = effbatch_lint.check(paths, **options)
    found = [(finding.code, finding.recipe) for finding in report.findings if finding.severity != "info"]
    return found, [recipe.name or recipe.path for recipe in report.recipes]


def runs(path: str) -> dict[str, int | None]:
    recipes = effbatch_lint.explain([path])
    return {recipe.name or recipe.path: recipe.batches[0].effective.value for recipe in recipes}  # type: ignore[misc] # whole numbers


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        # The primary includes it, and so do the experiments that do not choose another.
        ("conf/data/base.yaml", {"conf/train.yaml": 256, "conf/train.yaml with experiment=long": 1_024}),
        ("conf/data/large.yaml", {"conf/train.yaml with experiment=large": 512}),
        ("conf/experiment/large.yaml", {"conf/train.yaml with experiment=large": 512}),
        (
            "conf/model/block.yaml",
            {
                "conf/train.yaml": 256,
                "conf/train.yaml with experiment=large": 512,
                "conf/train.yaml with experiment=long": 1_024,
            },
        ),
    ],
)
def test_a_part_leads_to_the_runs_that_include_it(changed: str, wanted: dict[str, int]) -> None:
    assert runs(changed) == wanted


def test_a_part_that_no_run_includes_is_chosen_by_the_key_of_its_group(tree: Path) -> None:
    write(tree, {"conf/data/tiny.yaml": "batch_size: 1\n", "conf/cluster/a.yaml": "# @package trainer\nnum_nodes: 2\n"})
    assert runs("conf/data/tiny.yaml") == {"conf/train.yaml with data=tiny": 8}
    (recipe,) = effbatch_lint.explain(["conf/cluster/a.yaml"])
    assert (recipe.name, recipe.config.overrides) == ("conf/train.yaml with cluster=a", ("+cluster=a",))


def test_a_run_is_compared_with_what_its_own_files_declare(tree: Path) -> None:
    assert check("conf/experiment/large.yaml")[0] == []
    write(tree, {"conf/data/large.yaml": "batch_size: 128\n"})
    assert check("conf/data/large.yaml")[0] == [("EB101", "conf/train.yaml with experiment=large")]


@pytest.mark.usefixtures("tree")
def test_what_the_primary_declares_is_not_said_of_a_run_that_chooses_otherwise() -> None:
    assert check("conf/experiment/long.yaml") == ([], ["conf/train.yaml with experiment=long"])


def test_where_a_choice_is_mandatory_the_primary_speaks_of_every_choice(tree: Path) -> None:
    write(tree, {"conf/train.yaml": TREE["conf/train.yaml"].replace("data: base", "data: ???")})
    assert check("conf/data/base.yaml") == ([], ["conf/train.yaml with data=base"])
    write(tree, {"conf/data/base.yaml": "batch_size: 16\n"})
    assert check("conf/data/base.yaml")[0] == [("EB101", "conf/train.yaml with data=base")]


@pytest.mark.usefixtures("tree")
def test_the_whole_project_is_checked_with_its_experiments_each_once() -> None:
    found, names = check(".")
    assert found == []
    assert names == [
        "conf/train.yaml",
        "conf/train.yaml with experiment=large",
        "conf/train.yaml with experiment=long",
    ]


def test_primaries_that_stand_on_each_other_are_runs_of_their_own(tree: Path) -> None:
    write(tree, {"conf/longer.yaml": "defaults:\n  - train\n  - _self_\ntrainer:\n  accumulate_grad_batches: 2\n"})
    found = runs("conf/train.yaml")
    assert found["conf/train.yaml"] == 256
    assert found["conf/longer.yaml"] == 512


def test_an_experiment_that_no_primary_composes_is_refused_at_its_line(tree: Path) -> None:
    write(tree, {"conf/experiment/broken.yaml": "# @package _global_\ndefaults:\n  - override /data: gone\n"})
    report = effbatch_lint.check(["conf/experiment/broken.yaml"])
    (finding,) = report.findings
    assert (finding.code, finding.primary.span.path, finding.primary.span.line) == (
        "EB902",
        "conf/experiment/broken.yaml",
        3,
    )
    assert "data/gone" in finding.message


def test_an_option_that_hydra_refuses_alone_is_no_fault(tree: Path) -> None:
    write(
        tree,
        {
            "conf/data/odd.yaml": "defaults:\n  - override /nothing: here\n",
            "conf/model/other.yaml": "defaults: [gone]\n",
        },
    )
    assert check(".")[0] == []
    assert check("conf/model/other.yaml") == ([], [])


def test_a_file_that_only_an_experiment_names_is_checked_through_it(tree: Path) -> None:
    write(
        tree,
        {
            "conf/config.yaml": "defaults:\n  - exp: null\n  - _self_\noutput_dir: o\nper_device_train_batch_size: 4\n",
            "conf/exp/zero.yaml": (
                "# @package _global_\n# effbatch: target=32 world-size=8\ndeepspeed: ds.json\n"
                "gradient_accumulation_steps: 2\n"
            ),
            "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}',
        },
    )
    assert check("ds.json")[0] == [("EB101", "conf/config.yaml with exp=zero")]


def test_settings_describe_a_run_of_a_tree(tree: Path) -> None:
    write(
        tree,
        {
            "effbatch.toml": (
                '[[recipes]]\nname = "long"\nfiles = ["conf/train.yaml"]\noverrides = ["experiment=long"]\n'
                "world-size = 16\ntarget = 2048\n"
            ),
            "conf/train.yaml": TREE["conf/train.yaml"].replace("devices: 8", "devices: 8\n  num_nodes: 2"),
        },
    )
    found, names = check("conf/experiment/long.yaml")
    assert (found, names) == ([], ["long"])
    write(tree, {"conf/experiment/long.yaml": "# @package _global_\ntrainer:\n  accumulate_grad_batches: 2\n"})
    assert check("conf/experiment/long.yaml")[0] == [("EB101", "long")]


def test_a_tree_of_hundreds_of_files_is_checked_in_one_process_and_each_is_parsed_once(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "trainer: {{num_nodes: 4, devices: 8}}\nexp_manager: {{name: x}}\n"
        "model: {{tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, micro_batch_size: {size},"
        " global_batch_size: {whole}, encoder_seq_length: 2048}}\n"
    )
    trainings = {
        f"nemo/training/{family}/{size}.yaml": text.format(size=size, whole=256 * size)
        for family in ("gpt3", "t5", "llama")
        for size in range(1, 48)
    }
    others = {f"nemo/cluster/place{number}.yaml": f"partition: p{number}\n" for number in range(200)}
    write(tree, {"nemo/config.yaml": "defaults:\n  - training: gpt3/1\n  - cluster: place0\n  - _self_\n"})
    write(tree, trainings | others)
    parsed: dict[str, int] = {}

    def counting(source: Source, kind: str) -> Document:
        parsed[source.path] = parsed.get(source.path, 0) + 1
        return parse(source, kind)

    monkeypatch.setattr("effbatch_lint.files.parse", counting)
    found, names = check("nemo")
    assert found == []
    assert len(names) == 141
    assert {"nemo/config.yaml", "nemo/config.yaml with training=llama/47"} <= set(names)
    assert set(parsed.values()) == {1}


MAIN = "import hydra\n@hydra.main(config_path='conf', config_name='train', version_base=None)\ndef main(cfg): ...\n"


def test_the_target_of_what_a_command_line_chooses_stands_before_the_primarys(tree: Path) -> None:
    found = effbatch_lint.check(["conf/train.yaml"], overrides=("experiment=large",)).findings
    assert [finding.code for finding in found] == []
    found = effbatch_lint.check(["conf/train.yaml"], overrides=("trainer.accumulate_grad_batches=2",)).findings
    assert [finding.code for finding in found] == ["EB101"]
    write(tree, {"train.py": MAIN, "run.sh": "python train.py experiment=large\n"})
    assert check("run.sh") == ([], ["run.sh"])
    write(tree, {"conf/data/large.yaml": "batch_size: 65\n"})
    assert check("run.sh")[0] == [("EB101", "run.sh")]
    write(tree, {"run.sh": "# effbatch: target=520\npython train.py experiment=large\n"})
    assert check("run.sh")[0] == []


def test_a_script_that_starts_the_primary_is_held_to_its_target(tree: Path) -> None:
    write(tree, {"train.py": MAIN, "run.sh": "python train.py\n"})
    assert check("run.sh")[0] == []
    write(tree, {"run.sh": "python train.py data.batch_size=16\n"})
    assert check("run.sh")[0] == [("EB101", "run.sh")]


def test_a_refused_config_is_said_to_be_refused_and_no_more(tree: Path) -> None:
    write(tree, {"conf/train.yaml": TREE["conf/train.yaml"].replace("  - experiment: null\n", "")})
    report = effbatch_lint.check(["conf/train.yaml"], overrides=("experiment=large",))
    assert [finding.code for finding in report.findings] == ["EB902"]


def test_an_experiment_in_a_folder_of_its_group_is_chosen_where_the_primary_alone_is_no_run(tree: Path) -> None:
    written_out = TREE["conf/train.yaml"].replace("experiment: null", "experiment: none_yet")
    write(tree, {"conf/train.yaml": written_out, "conf/experiment/dna/long.yaml": TREE["conf/experiment/long.yaml"]})
    assert runs("conf/experiment/dna/long.yaml") == {"conf/train.yaml with experiment=dna/long": 1_024}


def test_an_experiment_is_found_where_the_primary_does_not_stand(tree: Path) -> None:
    # hyena-dna: the default experiment chooses what the repository does not hold; the others are sound.
    write(
        tree,
        {
            "conf/train.yaml": "defaults: [_self_, {experiment: base}]\n",
            "conf/experiment/base.yaml": "# @package _global_\ndefaults: [{/model: gone}]\n",
            "conf/experiment/dna/long.yaml": (
                "# @package _global_\ndefaults: [{/data: base}]\ntrainer: {_target_: lightning.Trainer, devices: 2}\n"
            ),
            "conf/model/odd.yaml": "defaults: [nothing, {override layer: x}]\n",
        },
    )
    assert runs("conf/experiment/dna/long.yaml") == {"conf/train.yaml with experiment=dna/long": 64}
    assert runs("conf/data/base.yaml") == {"conf/train.yaml with experiment=dna/long": 64}
    # That the primary is refused is no fault of every option.
    assert check("conf/experiment/long.yaml")[0] == []
    report = effbatch_lint.check(["conf/model/odd.yaml"])
    assert [finding.message for finding in report.findings] == ["In 'model/odd': Could not load 'model/nothing'."]


def test_an_experiment_that_others_stand_on_is_a_run_itself(tree: Path) -> None:
    longest = "# @package _global_\ndefaults: [/experiment/long]\ntrainer: {accumulate_grad_batches: 8}\n"
    write(tree, {"conf/experiment/longest.yaml": longest})
    assert runs("conf/experiment/long.yaml") == {
        "conf/train.yaml with experiment=long": 1_024,
        "conf/train.yaml with experiment=longest": 2_048,
    }


def test_a_choice_that_decides_another_leads_to_what_it_brings(tree: Path) -> None:
    write(
        tree,
        {
            "conf/train.yaml": TREE["conf/train.yaml"].replace("data: base", "size: s\n  - data: of_${size}"),
            "conf/size/s.yaml": "# @package _global_\nsize: s\n",
            "conf/size/l.yaml": "# @package _global_\nsize: l\n",
            "conf/data/of_s.yaml": "batch_size: 1\n",
            "conf/data/of_l.yaml": "batch_size: 2\n",
        },
    )
    assert runs("conf/data/of_l.yaml") == {"conf/train.yaml with size=l": 16}


def test_a_choice_is_no_command_line(tree: Path) -> None:
    # verl waits for the micro batch of its command line; what this tool chooses is none.
    write(
        tree,
        {
            "ppo/ppo.yaml": (
                "defaults: [_self_, {engine: null}]\ndata: {train_batch_size: 64, max_prompt_length: 8}\n"
                "trainer: {nnodes: 1, n_gpus_per_node: 8}\nalgorithm: {adv_estimator: grpo}\n"
                "actor_rollout_ref: {rollout: {n: 1}, actor: {strategy: fsdp, ppo_mini_batch_size: 64}}\n"
            ),
            "ppo/engine/fast.yaml": "x: 1\n",
        },
    )
    assert check("ppo/engine/fast.yaml") == ([], ["ppo/ppo.yaml with engine=fast"])
    assert check("ppo/ppo.yaml", overrides=["data.max_prompt_length=9"])[0] != []


def test_a_primary_that_leaves_a_choice_open_is_checked_with_each_option(tree: Path) -> None:
    write(
        tree,
        {
            "conf/train.yaml": TREE["conf/train.yaml"].replace("data: base", "data: ???"),
            "other/app.yaml": "defaults: [{db: '???'}]\n",
            "other/db/mysql.yaml": "port: 1\n",
        },
    )
    assert check("conf/train.yaml") == (
        [("EB101", "conf/train.yaml with data=large")],
        ["conf/train.yaml with data=base", "conf/train.yaml with data=large"],
    )
    # No config of training at all.
    assert check("other/app.yaml") == ([], [])


def test_of_two_keys_of_one_group_the_first_is_taken(tree: Path) -> None:
    write(
        tree,
        {
            "conf/train.yaml": f"defaults: [_self_, {{loader@data: a}}, {{loader@a_val: a}}]\n{TREE['conf/train.yaml'].partition('null')[2]}",
            "conf/loader/a.yaml": "batch_size: 1\n",
            "conf/loader/b.yaml": "batch_size: 2\n",
        },
    )
    assert runs("conf/loader/b.yaml") == {"conf/train.yaml with loader@data=b": 16}


def test_a_primary_and_its_part_give_its_run_once(tree: Path) -> None:
    write(tree, {"conf/longer.yaml": TREE["conf/train.yaml"]})
    _, names = check("conf/train.yaml", "conf/longer.yaml", "conf/data/base.yaml")
    assert {"conf/longer.yaml", "conf/train.yaml"} < set(names)
    assert len(names) == len(set(names))


def test_jobs_that_differ_in_nothing_are_one_recipe_and_others_are_named(tree: Path) -> None:
    sweep = "hydra: {{mode: MULTIRUN, sweeper: {{params: {}}}}}\n"
    write(tree, {"conf/train.yaml": TREE["conf/train.yaml"] + sweep.format("{seed: '1,2'}") + "seed: 1\n"})
    assert check("conf/train.yaml") == ([], ["conf/train.yaml"])
    write(tree, {"conf/train.yaml": TREE["conf/train.yaml"] + sweep.format("{data: 'base,large'}")})
    assert check("conf/train.yaml") == (
        [("EB101", "conf/train.yaml with data=large")],
        ["conf/train.yaml with data=base", "conf/train.yaml with data=large"],
    )


def test_what_a_config_declares_is_checked_beside_a_variant_of_the_settings(tree: Path) -> None:
    variant = '[[recipes]]\nname = "big"\nfiles = ["conf/train.yaml"]\noverrides = ["data=large"]\ntarget = 512\n'
    write(tree, {"effbatch.toml": variant})
    assert check("conf/train.yaml") == ([], ["big", "conf/train.yaml"])
    write(tree, {"conf/data/base.yaml": "batch_size: 31\n"})
    assert check("conf/train.yaml")[0] == [("EB101", "conf/train.yaml")]


def test_a_groups_file_of_the_whole_config_is_no_root(tmp_path: Path) -> None:
    # rLLM: its absolute default comes from a package that only the root of the tree names.
    (tmp_path / ".git").mkdir()
    (tmp_path / "backend").mkdir()
    root = "defaults: [{backend: verl}, _self_]\nhydra: {searchpath: ['pkg://other.config']}\n"
    (tmp_path / "unified.yaml").write_text(root, encoding="utf-8")
    part = (
        "# @package _global_\ndefaults: [/ppo_trainer, _self_]\nactor_rollout_ref: {actor: {ppo_mini_batch_size: 64}}\n"
    )
    (tmp_path / "backend" / "verl.yaml").write_text(part, encoding="utf-8")
    found = effbatch_lint.check([tmp_path]).findings
    assert [finding.code for finding in found if finding.severity == "error"] == []


def test_a_program_may_name_a_primary_without_a_defaults_list(tree: Path) -> None:
    write(
        tree,
        {
            "plain/config.yaml": "trainer: {_target_: lightning.Trainer, devices: 2}\ndata: {batch_size: 4}\n",
            "plain/exp/x.yaml": "# @package _global_\n# effbatch: target=16\ndata: {batch_size: 16}\n",
            "train.py": (
                "import hydra\n@hydra.main(config_path='plain', config_name='config', version_base=None)\ndef main(c): ...\n"
            ),
        },
    )
    assert check("plain/exp/x.yaml") == (
        [("EB101", "plain/config.yaml with exp=x")],
        ["plain/config.yaml with exp=x"],
    )


def test_below_a_folder_that_a_program_names_the_tree_above_has_no_say(tree: Path) -> None:
    write(
        tree,
        {
            "conf/sub/ft.yaml": "defaults: [_self_, {data: b}]\ntrainer: {_target_: lightning.Trainer, devices: 2}\n",
            "conf/sub/data/b.yaml": "batch_size: 4\n",
            "ft.py": "import hydra\n@hydra.main(config_path='conf/sub', config_name='ft', version_base=None)\ndef f(c): ...\n",
        },
    )
    assert runs("conf/sub/data/b.yaml") == {"conf/sub/ft.yaml": 8}


def test_what_hydra_refuses_in_the_config_of_a_program_is_an_error_of_the_whole_project(tree: Path) -> None:
    write(tree, {"conf/data/base.yaml": "batch_size: 32\nbatch_size: 16\n"})
    assert [code for code, _ in check(".")[0] if code == "EB902"] == []  # perhaps a part of something else
    write(tree, {"train.py": MAIN})
    assert [code for code, _ in check(".")[0] if code == "EB902"] == ["EB902"]


def test_a_part_in_a_folder_of_the_search_path_leads_to_the_primary(tree: Path) -> None:
    with_path = (
        TREE["conf/train.yaml"].replace("data: base", "data: shared") + "hydra: {searchpath: ['file://shared']}\n"
    )
    write(tree, {"conf/train.yaml": with_path, "shared/data/shared.yaml": "batch_size: 31\n"})
    assert check("shared/data/shared.yaml")[0] == [("EB101", "conf/train.yaml")]
    write(tree, {"conf/train.yaml": with_path.partition("hydra:")[0], "effbatch.toml": 'search-path = ["shared"]\n'})
    assert check("shared/data/shared.yaml")[0] == [("EB101", "conf/train.yaml")]


def test_an_experiment_that_leaves_a_choice_open_is_checked_with_each_option(tree: Path) -> None:
    part = "# @package _global_\n# effbatch: target=512\ndefaults:\n  - override /data: ???\n"
    write(tree, {"conf/experiment/open.yaml": part})
    assert check("conf/experiment/open.yaml") == (
        [("EB101", "conf/train.yaml with experiment=open data=base")],
        ["conf/train.yaml with experiment=open data=base", "conf/train.yaml with experiment=open data=large"],
    )
