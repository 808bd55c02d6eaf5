"""What the project's Python code says to Hydra counts: resolvers, stored nodes, the rules that a program asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

import effbatch_lint

TRAINER = "trainer: {_target_: lightning.Trainer, devices: 2}\n"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def batches(*paths: str) -> dict[str, int | None]:
    recipes = effbatch_lint.explain(paths)
    return {recipe.name or recipe.path: recipe.batches[0].effective.value for recipe in recipes}  # type: ignore[misc] # whole numbers


def test_a_resolver_that_the_project_registers() -> None:
    config = f"defaults: [_self_]\nsize: 4\ndata: {{batch_size: '${{twice:${{size}}}}'}}\n{TRAINER}"
    write({"conf/train.yaml": config})
    assert batches("conf/train.yaml") == {"conf/train.yaml": None}
    write(
        {"src/setup.py": "from omegaconf import OmegaConf\nOmegaConf.register_new_resolver('twice', lambda x: 2 * x)\n"}
    )
    assert batches("conf/train.yaml") == {"conf/train.yaml": 16}
    # The settings' word is the last.
    write({"effbatch.toml": 'resolvers = {twice = "lambda x: x * 10"}\n'})
    assert batches("conf/train.yaml") == {"conf/train.yaml": 80}


def test_the_project_comes_before_the_well_known_meaning_of_a_name() -> None:
    config = f"defaults: [_self_]\ndata: {{batch_size: '${{div:9,2}}'}}\n{TRAINER}"
    code = "OmegaConf.register_new_resolver('div', lambda x, y: x // y)\n"
    write({"conf/train.yaml": config, "src/setup.py": code})
    assert batches("conf/train.yaml") == {"conf/train.yaml": 8}


def test_a_node_that_the_code_stores() -> None:
    store = (
        "from dataclasses import dataclass\nfrom hydra.core.config_store import ConfigStore\n"
        "@dataclass\nclass Data:\n    batch_size: int = 16\n"
        "ConfigStore.instance().store(group='data', name='base', node=Data)\n"
    )
    write({"conf/train.yaml": f"defaults: [_self_, {{data: base}}]\n{TRAINER}"})
    report = effbatch_lint.check(["conf/train.yaml"])
    assert [finding.code for finding in report.findings] == ["EB902"]
    write({"src/structured.py": store})
    assert [finding.code for finding in effbatch_lint.check(["conf/train.yaml"]).findings] == []
    assert batches("conf/train.yaml") == {"conf/train.yaml": 32}


def test_the_rules_that_the_program_asks_for() -> None:
    # A `.yml` in a defaults list is found by the rules of Hydra 1.1 only.
    write({"conf/train.yaml": f"defaults: [_self_, data/base.yml]\n{TRAINER}", "conf/data/base.yml": "batch_size: 4\n"})
    main = "import hydra\n@hydra.main({}config_path='../conf', config_name='train')\ndef main(cfg): ...\n"
    write({"src/train.py": main.format("version_base='1.3', ")})
    assert [finding.code for finding in effbatch_lint.check(["conf/train.yaml"]).findings] == ["EB902"]
    write({"src/train.py": main.format("")})
    assert batches("conf/train.yaml") == {"conf/train.yaml": 8}


def test_every_job_of_a_multirun_is_checked() -> None:
    tree = (
        "# effbatch: target=16\ndefaults: [_self_]\nhydra: {mode: MULTIRUN, sweeper: {params: {data.batch_size: '4,8'}}}\n"
        f"data: {{batch_size: 1}}\n{TRAINER}"
    )
    write({"conf/train.yaml": tree})
    assert batches("conf/train.yaml") == {
        "conf/train.yaml with data.batch_size=4": 8,
        "conf/train.yaml with data.batch_size=8": 16,
    }
    (finding,) = effbatch_lint.check(["conf/train.yaml"]).findings
    assert (finding.code, finding.recipe) == ("EB101", "conf/train.yaml with data.batch_size=4")


def test_the_jobs_of_a_launch_line_and_how_many_are_left_out() -> None:
    main = "import hydra\n@hydra.main(config_path='conf', config_name='train', version_base=None)\ndef main(cfg): ...\n"
    write(
        {
            "conf/train.yaml": f"defaults: [_self_]\ndata: {{batch_size: 1}}\n{TRAINER}",
            "train.py": main,
            "run.sh": "python train.py -m data.batch_size=4,8 trainer.devices=4\n",
        }
    )
    assert batches("run.sh") == {"run.sh:1 with data.batch_size=4": 16, "run.sh:1 with data.batch_size=8": 32}
    write({"run.sh": "python train.py -m 'data.batch_size=range(1,101)'\n"})
    report = effbatch_lint.check(["run.sh"])
    assert len(report.recipes) == 64
    notes = {finding.message for finding in report.findings if finding.code == "EB903"}
    assert notes == {"100 jobs, of which the first 64 are looked at"}


def test_a_program_that_cannot_be_parsed_tells_nothing() -> None:
    write(
        {
            "conf/train.yaml": f"defaults: [_self_]\ndata: {{batch_size: 4}}\n{TRAINER}",
            "train.py": "import hydra\ndef (:\n",
        }
    )
    assert batches("conf/train.yaml") == {"conf/train.yaml": 8}


def test_a_search_path_of_the_settings() -> None:
    write(
        {
            "conf/train.yaml": f"defaults: [_self_, {{data: base}}]\n{TRAINER}",
            "shared/data/base.yaml": "batch_size: 8\n",
            "effbatch.toml": 'search-path = ["shared"]\n',
        }
    )
    assert batches("conf/train.yaml") == {"conf/train.yaml": 16}


@pytest.mark.parametrize(
    "constants", ["A = os.path.join(A, 'x')", "A = str(B)\nB = os.path.join(A, 'x')", "A = B\nB = A"]
)
def test_constants_made_of_themselves_tell_nothing(constants: str) -> None:
    main = f"import hydra, os\n{constants}\n@hydra.main(config_path=A, config_name=A)\ndef main(cfg): ...\n"
    write({"conf/train.yaml": f"defaults: [_self_]\ndata: {{batch_size: 4}}\n{TRAINER}", "train.py": main})
    assert [finding.code for finding in effbatch_lint.check(["conf/train.yaml"]).findings] == []


def test_a_decorated_function_is_no_plain_arithmetic() -> None:
    code = "@cached\ndef twice(x):\n    return x * 2\nOmegaConf.register_new_resolver('twice', twice)\n"
    config = f"defaults: [_self_]\ndata: {{batch_size: '${{twice:4}}'}}\n{TRAINER}"
    write({"conf/train.yaml": config, "setup_it.py": code})
    assert batches("conf/train.yaml") == {"conf/train.yaml": None}
