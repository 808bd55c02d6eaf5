"""A trainer that the settings describe: how it is recognised, what its batch comes to, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import effbatch_lint
from effbatch_lint.settings.place import load
from effbatch_lint.source import Unreadable

FORMULAS = """\
micro-batch = "train.bs"
accumulation = "train.accum"
world-size = "nodes * gpus"
tensor-parallel = "model.tp"
sequence-length = "data.len"
"""
CONFIG = "train: {bs: 4, accum: 2}\nnodes: 2\ngpus: 8\nmodel: {tp: 2}\ndata: {len: 1024}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recipe(project: Path, settings: str, config: str = CONFIG, **options: Any) -> Any:
    (project / "effbatch.toml").write_text(settings, encoding="utf-8")
    (project / "run.yaml").write_text(config, encoding="utf-8")
    found = effbatch_lint.explain(["run.yaml"], **options)
    return found[0].as_dict() if found else None


def batch(project: Path, settings: str, config: str = CONFIG, **options: Any) -> Any:
    return recipe(project, settings, config, **options)["batches"][0]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("[custom]\n", "custom"),
        ("[custom.ours]\n", "ours"),
        ('[custom."our-trainer"]\n', "our-trainer"),
        ("[[custom]]\n", "custom"),
        ("[[custom]]\nname = 'theirs'\n", "theirs"),
        ("[custom.ours]\nname = 'theirs'\n", "theirs"),
    ],
)
def test_ways_to_describe_a_trainer(project: Path, header: str, name: str) -> None:
    found = recipe(project, header + FORMULAS)
    assert found["framework"] == name
    assert {key: found["batches"][0][key] for key in ("micro_batch", "accumulation", "world_size", "data_parallel", "tensor_parallel",
                                                      "effective_batch", "sequence_length", "tokens_per_step")} == {
        "micro_batch": 4, "accumulation": 2, "world_size": 16, "data_parallel": 8, "tensor_parallel": 2, "effective_batch": 64,
        "sequence_length": 1024, "tokens_per_step": 65_536,
    }  # fmt: skip


def test_every_number_has_its_place(project: Path) -> None:
    terms = batch(project, "[custom]\n" + FORMULAS)["terms"]
    assert [(o["key"], o["line"]) for o in terms["world_size"]["origins"]] == [("nodes", 2), ("gpus", 3)]
    assert terms["world_size"]["formula"] == "2 x 8"
    assert terms["micro_batch"]["key"] == "train.bs"
    assert terms["tensor_parallel"]["origins"][0]["path"] == "run.yaml"


def test_two_trainers_each_read_their_own(project: Path) -> None:
    settings = "[custom.a]\nmicro-batch = 'a.bs'\n[custom.b]\nmicro-batch = 'b.bs'\n"
    assert recipe(project, settings, "a: {bs: 3}\n")["framework"] == "a"
    assert recipe(project, settings, "b: {bs: 3}\n")["framework"] == "b"
    assert recipe(project, settings, "c: {bs: 3}\n") is None


@pytest.mark.parametrize(
    ("settings", "config", "recognised"),
    [
        ("micro-batch = 'train.bs'", "train: {bs: 4}", True),
        ("micro-batch = 'train.bs'", "train: {batch: 4}", False),
        ("micro-batch = 'train.bs * train.n'", "train: {bs: 4}", False),
        ("micro-batch = 'train.bs'\nmatch = ['trainer']", "train: {bs: 4}", False),
        ("micro-batch = 'train.bs'\nmatch = ['trainer']", "train: {bs: 4}\ntrainer: ours", True),
        ("micro-batch = '8'\nmatch = ['trainer']", "trainer: ours", True),
        ("global-batch = 'gbs'", "gbs: 64", True),
        ("micro-batch = 'train.bs'", "train: [{bs: 4}]", False),
    ],
)
def test_recognition(project: Path, settings: str, config: str, recognised: bool) -> None:  # noqa: FBT001
    assert (recipe(project, f"[custom]\n{settings}\n", config) is not None) == recognised


def test_a_described_trainer_goes_before_a_framework(project: Path) -> None:
    nanotron = "tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 4, sequence_length: 8}\nparallelism: {dp: 8, tp: 1, pp: 1}\n"
    assert recipe(project, "", nanotron)["framework"] == "nanotron"
    assert recipe(project, "[custom.fork]\nmicro-batch = 'tokens.micro_batch_size'\n", nanotron)["framework"] == "fork"


@pytest.mark.parametrize(
    ("further", "config", "options", "expected", "codes"),
    [
        ("", "bs: 4", {}, {"effective_batch": None, "batch_per_replica": 4}, []),
        ("", "bs: 4", {"world_size": 8}, {"effective_batch": 32}, []),
        ("accumulation = 'accum'", "bs: 4", {"world_size": 8}, {"accumulation": None, "effective_batch": None}, []),
        ("world-size = 'n'", "bs: 4", {"world_size": 8}, {"world_size": 8, "effective_batch": 32}, []),
        ("world-size = 'n'", "bs: 4\nn: 16", {"world_size": 8}, {"world_size": 16, "effective_batch": 64}, ["EB203"]),
        ("data-parallel = 'dp'", "bs: 4\ndp: 3", {}, {"world_size": 3, "effective_batch": 12}, []),
        ("data-parallel = 'dp'\npipeline-parallel = 'pp'", "bs: 4\ndp: 3\npp: 2", {"world_size": 6}, {"effective_batch": 12}, []),
        ("data-parallel = 'dp'", "bs: 4\ndp: 3", {"world_size": 8}, {"effective_batch": None}, ["EB202"]),
        ("context-parallel = '3'", "bs: 4", {"world_size": 8}, {"effective_batch": None}, ["EB201"]),
        ("global-batch = 'gbs'", "bs: 4\ngbs: 64", {"world_size": 8}, {"effective_batch": 64, "accumulation": 2, "declared_global_batch": 64}, []),
        ("global-batch = 'gbs'", "bs: 4\ngbs: 60", {"world_size": 8}, {"effective_batch": None}, ["EB302"]),
        ("global-batch = 'gbs'", "bs: 4\ngbs: 64", {}, {"effective_batch": 64, "accumulation": None}, []),
        ("global-batch = 'gbs'\naccumulation = 'a'", "bs: 4\ngbs: 64\na: 2", {"world_size": 8}, {"effective_batch": 64}, []),
        ("global-batch = 'gbs'\naccumulation = 'a'", "bs: 4\ngbs: 64\na: 3", {"world_size": 8}, {"effective_batch": 64}, ["EB301"]),
        ("unit = 'images'", "bs: 4", {"world_size": 8}, {"unit": "images", "effective_batch": 32}, []),
        ("accumulation = 'max(1, a // 3)'", "bs: 4\na: 7", {"world_size": 8}, {"accumulation": 2}, []),
        ("accumulation = 'a / 3'", "bs: 4\na: 7", {"world_size": 8}, {"accumulation": None, "effective_batch": None}, []),
        ("dialect = 'yaml12'", "bs: 010", {}, {"micro_batch": 10}, []),
        ("dialect = 'pyyaml'", "bs: 010", {}, {"micro_batch": 8}, []),
        ("dialect = 'omegaconf'", "bs: 1e1", {}, {"micro_batch": 10}, []),
    ],
)  # fmt: skip
def test_batches(
    project: Path, further: str, config: str, options: dict[str, Any], expected: dict[str, Any], codes: list[str]
) -> None:
    found = batch(project, f"[custom]\nmicro-batch = 'bs'\n{further}\n", config + "\n", **options)
    assert {key: found[key] for key in expected} == expected
    assert [problem["code"] for problem in found["problems"]] == codes


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[custom]\nmicro-batch = 'bs'\nmicro = 3\n", (3, 1), "custom.micro: no key of a custom trainer; there are micro-batch,"),
        ("[custom]\naccumulation = 'a'\n", (1, 2), "custom.micro-batch: missing"),
        ("[custom.ours]\naccumulation = 'a'\n", (1, 9), "custom.ours.micro-batch: missing"),
        ("[custom]\nmicro-batch = 'bs *'\n", (2, 15), "custom.micro-batch: 'bs *' is no arithmetic over key paths"),
        ("[custom]\nmicro-batch = 'min(bs)'\n", (2, 15), "custom.micro-batch: min() takes 2 to 16 arguments"),
        ("[custom]\nmicro-batch = 'bs'\naccumulation = [1]\n", (3, 16), "custom.accumulation: a key path or arithmetic"),
        ("[custom]\nmicro-batch = 'bs'\naccumulation = '${a}'\n", (3, 16), "custom.accumulation: a key path or arithmetic"),
        ("[custom]\nmicro-batch = 'bs'\naccumulation = true\n", (3, 16), "custom.accumulation: a key path or arithmetic"),
        ("[custom]\nmicro-batch = 'bs'\naccumulation = 1.5\n", (3, 16), "custom.accumulation: a key path or arithmetic"),
        ("[custom]\nmicro-batch = 8\n", (1, 2), "custom.match: missing"),
        ("[custom]\nmicro-batch = 'bs'\nunit = 'apples'\n", (3, 8), "custom.unit: one of sequences,"),
        ("[custom]\nmicro-batch = 'bs'\nunit = []\n", (3, 8), "custom.unit: one of"),
        ("[custom]\nmicro-batch = 'bs'\ndialect = 'json5'\n", (3, 11), "custom.dialect: one of pyyaml, omegaconf, yaml12"),
        ("[custom]\nmicro-batch = 'bs'\nmatch = 'x'\n", (3, 9), "custom.match: a list of keys"),
        ("[custom]\nmicro-batch = 'bs'\nmatch = [1]\n", (3, 9), "custom.match: a list of keys"),
        ("[custom]\nmicro-batch = 'bs'\nname = []\n", (3, 8), "custom.name: a string"),
    ],
)  # fmt: skip
def test_what_is_refused(project: Path, text: str, place: tuple[int, int], message: str) -> None:
    (project / "effbatch.toml").write_text(text, encoding="utf-8")
    (project / "run.yaml").write_text(CONFIG, encoding="utf-8")
    with pytest.raises(Unreadable) as refused:
        effbatch_lint.check(["run.yaml"])
    assert (refused.value.span.line, refused.value.span.column) == place
    assert refused.value.reason.startswith(f"the setting {message}")


def test_a_described_trainer_is_named_on_the_command_line(project: Path) -> None:
    settings = "[custom.ours]\nmicro-batch = 'bs'\naccumulation = 'a'\n"
    assert recipe(project, settings, "other: 3\n", framework="ours")["framework"] == "ours"
    assert load("effbatch.toml").custom[0].prefix == "custom.ours."
