"""Multirun: the jobs that Hydra's basic sweeper would start, and what is said when there are too many."""

from __future__ import annotations

import re
from pathlib import Path

import oracle
import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from effbatch_lint.compose.hydra import compose
from effbatch_lint.compose.multirun import Jobs, expand
from effbatch_lint.files import Files
from effbatch_lint.source import Unreadable

TREE = {
    "config": "defaults: [{data: small}, {model: '???'}, _self_]\nlr: 1\nname: x\ntrainer: {devices: 1}\n",
    "params": "defaults: [config, _self_]\nhydra: {mode: MULTIRUN, sweeper: {params: {lr: '1,2', +seed: range(3), name: 'a b'}}}\n",
    "optuna": "defaults: [config, {override hydra/sweeper: optuna}]\nhydra: {sweeper: {params: {lr: 'interval(1, 4)', name: 'choice(a,b)'}}}\n",
    "space": """
defaults: [config, {override hydra/sweeper: optuna}]
hydra: {sweeper: {search_space: {lr: {type: float, low: 1, high: 4}, data: {type: categorical, choices: [small, large]}}}}
""",
    "data/small": "batch: 4\n",
    "data/large": "batch: 64\n",
    "data/larger": "batch: 128\n",
    "model/a": "k: 1\n",
    "model/b": "k: 2\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    oracle.write(tmp_path, TREE)
    return tmp_path


def jobs(folder: Path, primary: str, words: list[str], **options: object) -> Jobs:
    return expand(Files(str(folder), base=str(folder)), [str(folder)], primary, words, **options)  # type: ignore[arg-type] # options of expand


def texts(found: Jobs) -> list[list[str]]:
    return [[word.text for word in job] for job in found.jobs]


@pytest.mark.parametrize(
    "line",
    [
        "model=a", "model=a,b", "model=a,b lr=1,2,3", "model=a lr=range(1,4)", "model=a lr=range(0,1,0.25)", "model=choice(a,b) name='x,y'",
        "model=a,b model=a", "model=a name=[1,2],[3]", "model=a name={a:1},{b:2}", "model=a +seed=1,2 ~name", "model=a lr=choice(1.5,2.5)",
        "model=a,b data=small,large lr=1,2", "model=a name=a\\,b,c", "model=a name='a','b c'", "model=a lr=int(1.5,2.5)", "model=a lr=sort(3,1,2)",
        "model=a lr=null,1", "model=a lr=true,false", "model=a trainer.devices=1,2 trainer.devices=4", "++model2=1,2 model=a", "model=a lr=1e-3,1e-4",
        "model=a lr=tag(t,choice(1,2))", "model=a name=''", "model=a name=x\\ y,z",
    ],
)  # fmt: skip
def test_same_jobs_as_the_basic_sweeper(folder: Path, line: str) -> None:
    words = [word for word in re.split(r"(?<!\\) (?![^']*'(?:[^']*'[^']*')*[^']*$)", line) if word]
    theirs = BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(words), None)[0]
    found = jobs(folder, "config", words, multirun=True)
    assert texts(found) == theirs
    assert found.total == len(theirs)
    assert found.bounded is None


def test_every_job_composes_as_hydra_composes_it(folder: Path) -> None:
    for job in texts(jobs(folder, "config", ["model=a,b", "lr=range(0,1,0.5)", "name='1',x\\,y"], multirun=True)):
        assert oracle.ours(folder, "config", job) == oracle.theirs(folder, "config", job)


def test_a_glob_sweeps_over_the_options_of_its_group(folder: Path) -> None:
    assert texts(jobs(folder, "config", ["model=a", "data=glob(*,exclude=sm*)"], multirun=True)) == [
        ["model=a", "data=large"], ["model=a", "data=larger"],
    ]  # fmt: skip


def test_sweeps_of_the_primary_and_of_the_command_line(folder: Path) -> None:
    found = jobs(folder, "params", ["model=a", "lr=5"])
    assert texts(found) == [["lr=5", f"+seed={seed}", "name=a\\ b", "model=a"] for seed in range(3)]
    assert found.swept == {"+seed": 3}


def test_no_multirun_is_one_job(folder: Path) -> None:
    assert texts(jobs(folder, "config", ["model=a", "lr=1,2"])) == [["model=a", "lr=1,2"]]
    assert len(jobs(folder, "config", ["model=a", "lr=1,2", "hydra.mode=MULTIRUN"]).jobs) == 2


def test_the_number_of_jobs_is_bounded_and_it_says_so(folder: Path) -> None:
    found = jobs(folder, "config", ["model=a,b", "lr=range(1000000)", "env:N=1"], multirun=True, limit=5)
    assert texts(found) == [["env:N=1", "model=a", f"lr={number}"] for number in range(5)]
    assert found.total == 2_000_000
    assert found.bounded == "2,000,000 jobs, of which the first 5 are looked at"
    assert jobs(folder, "config", ["model=a", "lr=range(0,1e12,1e-6)"], multirun=True).total > 10**9


def test_an_interval_makes_the_value_unknown(folder: Path) -> None:
    found = jobs(folder, "optuna", ["model=a"], multirun=True)
    assert found.swept == {"lr": None, "name": 2}
    composed = compose(Files(str(folder)), [str(folder)], "optuna", found.jobs[0])
    assert composed.config.integer("lr").reason == "lr is any number from 1 to 4"
    assert composed.config.text("name") == "a"


def test_the_search_space_of_a_plug_in(folder: Path) -> None:
    found = jobs(folder, "space", ["model=a"], multirun=True)
    assert found.swept == {"lr": None, "data": 2}
    batches = [
        compose(Files(str(folder)), [str(folder)], "space", job).config.integer("data.batch").value
        for job in found.jobs
    ]
    assert batches == [4, 64]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["model=a", "lr=interval(1,2)"], "BasicSweeper does not support sweep type"),
        (["model=a", "hydra.run.dir=a,b"], "Sweeping over Hydra's configuration is not supported"),
        (["model=a", "lr=range(1,2,0)"], "range"),
        (["model=a", "lr=choice(1"], "is no override"),
    ],
)
def test_refusals(folder: Path, words: list[str], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason.replace("(", "\\(")) as caught:
        jobs(folder, "config", words, multirun=True)
    assert caught.value.code == "EB902"


def test_a_sweep_without_multirun_is_refused(folder: Path) -> None:
    assert "Ambiguous value for argument 'lr=1,2'" in oracle.reason(folder, "config", ["model=a", "lr=1,2"])
    assert "requires --multirun" in oracle.reason(folder, "config", ["model=a", "lr=range(3)"])
