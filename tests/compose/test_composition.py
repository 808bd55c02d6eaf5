"""Where every value came from, what it replaced, and where a refusal points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import oracle
import pytest

from effbatch_lint.compose.hydra import Composition, compose
from effbatch_lint.compose.overrides import Word
from effbatch_lint.files import Files
from effbatch_lint.source import Span, Unreadable

if TYPE_CHECKING:
    from effbatch_lint.terms import Origin

TREE = {
    "conf/train": """\
defaults:
  - data: base
  - model: tiny
  - _self_
  - experiment: null

trainer:
  devices: 8
  accumulate: 1
batch: ${data.batch}
""",
    "conf/data/base": "batch: 4\nworkers: 2\n",
    "conf/data/large": "defaults:\n  - base\n  - _self_\n\nbatch: 64\n",
    "conf/model/tiny": "layers: 2\n",
    "conf/model/broken": "layers: 2\nlayers: 3\n",
    "conf/model/list": "- 1\n",
    "conf/model/bad": "layers: ${data.\n",
    "conf/model/nested": "defaults:\n  - parts: nope\n",
    "conf/experiment/big": """\
# @package _global_
defaults:
  - override /data: large

data:
  batch: 128
trainer:
  accumulate: 2
""",
    "conf/experiment/wrong": "# @package _global_\ndefaults:\n  - override /nothing: large\n",
    "conf/experiment/onto": "# @package _global_\ntrainer: [1]\n",
    "conf/experiment/search": "# @package _global_\nhydra:\n  searchpath: [file://x]\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    oracle.write(tmp_path, TREE)
    return tmp_path


def composed(project: Path, *overrides: str | Word) -> Composition:
    return compose(Files(str(project), base=str(project)), [str(project / "conf")], "train", overrides)


def chain(origin: Origin | None) -> list[str]:
    assert origin is not None
    return [one.span.where if one.span is not None else str(one.note) for one in (origin, *origin.previous)]


def test_files_are_in_the_order_of_merging(project: Path) -> None:
    found = composed(project, "experiment=big")
    assert found.config.files == [
        "conf/data/base.yaml", "conf/data/large.yaml", "conf/model/tiny.yaml", "conf/train.yaml", "conf/experiment/big.yaml",
    ]  # fmt: skip
    assert found.config.path == "conf/train.yaml"
    assert found.choices["data"] == "large"


def test_every_value_knows_its_file_and_what_it_replaced(project: Path) -> None:
    found = composed(project, "experiment=big", "trainer.devices=16").config
    assert chain(found.origin("data.batch")) == [
        "conf/experiment/big.yaml:6",
        "conf/data/large.yaml:5",
        "conf/data/base.yaml:1",
    ]
    assert chain(found.origin("trainer.accumulate")) == ["conf/experiment/big.yaml:8", "conf/train.yaml:9"]
    assert chain(found.origin("trainer.devices")) == ["--override trainer.devices=16", "conf/train.yaml:8"]
    assert chain(found.origin("data.workers")) == ["conf/data/base.yaml:2"]
    term = found.integer("batch")
    assert term.value == 128
    assert [chain(origin)[0] for origin in term.origins] == ["conf/train.yaml:10", "conf/experiment/big.yaml:6"]


def test_an_override_of_a_launch_script_stands_there(project: Path) -> None:
    word = Word("trainer.devices=32", Span("run.sh", 7, 3, 7, 21))
    found = composed(project, word, "+trainer.plan={a: 1, b: [2]}").config
    origin = found.origin("trainer.devices")
    assert chain(origin) == ["run.sh:7", "conf/train.yaml:8"]
    assert origin is not None
    assert origin.note == "trainer.devices=32"
    assert found.integer("trainer.plan.a").value == 1
    assert found.overrides == ("trainer.devices=32", "+trainer.plan={a: 1, b: [2]}")


def test_each_file_is_parsed_once(project: Path) -> None:
    files = Files(str(project), base=str(project))
    for option in ("base", "large", "base"):
        compose(files, [str(project / "conf")], "train", [f"data={option}"])
    assert files.read == 4


def test_a_composition_changes_no_parsed_file(project: Path) -> None:
    files = Files(str(project), base=str(project))

    def batch(*overrides: str) -> int | str | float | None:
        value = compose(files, [str(project / "conf")], "train", overrides).config.value("data.batch")
        assert isinstance(value, int)
        return value

    assert batch() == 4
    assert batch("experiment=big", "data.batch=5", "data.workers=9") == 5
    assert batch() == 4


@pytest.mark.parametrize(
    ("overrides", "where", "reason"),
    [
        (["data=nope"], "conf/train.yaml:2", "In 'train': Could not find 'data/nope'. Available options in 'data': base, large"),
        (["model=nested"], "conf/model/nested.yaml:2", "In 'model/nested': Could not find 'model/parts/nope'. Available options in 'model/parts': none"),
        (["model=broken"], "conf/model/broken.yaml:2", "the key layers stands twice in one mapping, which OmegaConf refuses"),
        (["model=bad"], "conf/model/bad.yaml:1", "not an interpolation that OmegaConf can parse"),
        (["experiment=wrong"], "conf/experiment/wrong.yaml:3", "In 'experiment/wrong': Could not override 'nothing'. No match in the defaults list."),
        (["experiment=onto"], "conf/experiment/onto.yaml:2", "Cannot merge DictConfig with ListConfig at trainer, which conf/train.yaml:8 sets"),
        (["experiment=search"], "conf/experiment/search.yaml:3", "Overriding hydra.searchpath is only supported from the primary config"),
        (["+data=large"], "conf/train.yaml:2", "Multiple values for data. To override a value use 'override data: large'"),
        (["trainer.nope=1"], "conf/train.yaml:1", "Could not override 'trainer.nope'. Key 'nope' is not in struct"),
        (["data.batch=1,2"], "conf/train.yaml:1", "Ambiguous value for argument 'data.batch=1,2'"),
        (["data=[1,"], "conf/train.yaml:1", "'data=[1,' is no override: it ends too early"),
        ([Word("nope@x=1", Span("run.sh", 3, 1, 3, 9))], "run.sh:3", "looks like a config group override, but config group 'nope' does not exist"),
    ],
)  # fmt: skip
def test_a_refusal_points_at_the_line(project: Path, overrides: list[str | Word], where: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        composed(project, *overrides)
    assert caught.value.code == "EB902"
    assert caught.value.span.where == where
    assert reason in caught.value.reason


def test_a_missing_primary_and_a_missing_folder(project: Path) -> None:
    files = Files(str(project))
    with pytest.raises(Unreadable, match="Cannot find primary config 'nope'"):
        compose(files, [str(project / "conf")], "nope")
    with pytest.raises(Unreadable, match="Primary config directory not found"):
        compose(files, [str(project / "nowhere")], "train")


def test_the_search_path_adds_folders_of_the_project(project: Path) -> None:
    oracle.write(
        project,
        {
            "more/data/huge": "batch: 256\n",
            "conf/wide": "hydra: {searchpath: [file://more]}\ndefaults: [{data: huge}]\n",
        },
    )
    files = Files(str(project), base=str(project))
    found = compose(files, [str(project / "conf")], "wide")
    assert found.config.integer("data.batch").value == 256
    assert found.notes == ()
    found = compose(files, [str(project / "conf")], "train", ["hydra.searchpath=[more]", "data=huge"])
    assert found.config.integer("data.batch").value == 256
    found = compose(files, [str(project / "conf"), str(project / "more")], "train", ["data=huge"])
    assert found.config.files[0] == "more/data/huge.yaml"
