"""The differences from hydra-core that are meant: the table in docs/hydra.md, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import oracle
import pytest
import yaml
from omegaconf import OmegaConf

from effbatch_lint.compose.config_store import stored
from effbatch_lint.compose.hydra import compose
from effbatch_lint.files import Files
from effbatch_lint.source import Unreadable

CASES: list[tuple[str, dict[str, str], list[str], Any, Any]] = [
    # name, files, overrides, Hydra's answer, ours
    ("a plug-in that is not installed", {"config": "defaults: [{override hydra/launcher: nowhere}]\nv: 1\n"}, [], oracle.REFUSED, {"v": 1}),
    ("Hydra's own options elsewhere", {"config": "defaults: [{hydra/job_logging@x: none}]\n"}, [],
     {"x": {"version": 1, "root": None, "disable_existing_loggers": False}}, {"x": {}}),
    ("Hydra's own keys", {"config": "v: 1\n"}, ["hydra.nope=1"], oracle.REFUSED, {"v": 1}),
    ("a file outside", {"in/config": "defaults: ['../../secret@_global_']\nv: 1\n", "../secret": "w: 2\n"}, [], {"w": 2, "v": 1}, oracle.REFUSED),
    ("an environment variable", {"config": "defaults: [{a: '${oc.env:EFFBATCH_OPTION}'}]\n", "a/x": "k: 1\n"}, [], {"a": {"k": 1}}, oracle.REFUSED),
    ("a number as a key", {"config": "a: {0: x}\n"}, ["a.0=1"], oracle.REFUSED, {"a": {"0": 1}}),
    ("an unknown tag", {"config": "a: !foo 1\n"}, [], oracle.REFUSED, {"a": "1"}),
    ("an unknown tag on a mapping", {"config": "a: !foo {b: 1}\n"}, [], oracle.REFUSED, {"a": {"b": 1}}),
    ("the value =", {"config": "a: =\n"}, [], oracle.REFUSED, {"a": "="}),
    ("null as a key", {"config": "~: 1\n"}, [], oracle.REFUSED, {"~": 1}),
    ("a list as a key", {"config": "[a]: 1\nb: 2\n"}, [], oracle.REFUSED, {"b": 2}),
    ("a tab after a value", {"config": "a: 1\t\n"}, [], oracle.REFUSED, {"a": 1}),
    ("pairs", {"config": "a: !!omap [x: 1]\n"}, [], {"a": [["x", 1]]}, {"a": [{"x": 1}]}),
    ("bytes", {"config": "a: !!binary aGk=\n"}, [], {"a": b"hi"}, {"a": "aGk="}),
    ("a resolver without a name", {"config": "a: ${:x}\n"}, [], {"a": "${:x}"}, oracle.REFUSED),
    ("sixty-five lists", {"config": "defaults: [c0]\n", **{f"c{n}": f"defaults: [c{n + 1}]\n" for n in range(70)}, "c70": "v: 1\n"}, [], {"v": 1}, oracle.REFUSED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "overrides", "theirs", "ours"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_difference(
    files: dict[str, str], overrides: list[str], theirs: Any, ours: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EFFBATCH_OPTION", "x")
    folder = tmp_path / "project"
    oracle.write(folder, files)
    root = folder / "in" if (folder / "in").exists() else folder
    expected = [answer if answer == oracle.REFUSED else oracle.pairs(answer) for answer in (theirs, ours)]
    assert [oracle.theirs(root, "config", overrides), oracle.ours(root, "config", overrides)] == expected


def test_merge_keys_of_a_list_follow_yaml_and_not_one_release(tmp_path: Path) -> None:
    text = "a: &a {xx: 1}\nb: &b {xx: 2}\nc: {<<: [*a, *b]}\n"
    oracle.write(tmp_path, {"config": text})
    assert compose(Files(str(tmp_path)), [str(tmp_path)], "config").config.integer("c.xx").value == 1
    release = tuple(int(part) for part in yaml.__version__.split(".")[:3])
    assert yaml.safe_load(text)["c"]["xx"] == (2 if release >= (6, 0, 4) else 1)


STORE = """
from dataclasses import dataclass
from hydra.core.config_store import ConfigStore

@dataclass
class Trainer:
    devices: int = 1

ConfigStore.instance().store(name="trainer", node=Trainer)
"""


def test_the_types_of_a_stored_node_convert_nothing(tmp_path: Path) -> None:
    oracle.write(tmp_path, {"config": "defaults: [trainer]\n", "app.py": STORE})
    files = Files(str(tmp_path))
    store = stored(files, [str(tmp_path / "app.py")])
    found = compose(files, [str(tmp_path)], "config", ["devices='8'"], store=store)
    assert found.config.value("devices") == "8"  # Hydra: 8


def test_a_mapping_inside_a_text_is_unknown(tmp_path: Path) -> None:
    oracle.write(tmp_path, {"config": "a: {b: 1}\nc: ${a}x\n"})
    config = compose(Files(str(tmp_path)), [str(tmp_path)], "config").config
    assert config.text("c") is None
    assert OmegaConf.create({"a": {"b": 1}, "c": "${a}x"})["c"] == "{'b': 1}x"


def test_a_tree_of_thousands_of_configs_comes_to_an_end(tmp_path: Path) -> None:
    listed = "".join(f"  - c{number}\n" for number in range(2_001))
    oracle.write(tmp_path, {"config": f"defaults:\n{listed}", **{f"c{number}": "v: 1\n" for number in range(2_001)}})
    with pytest.raises(Unreadable, match="2,000 configs"):
        compose(Files(str(tmp_path)), [str(tmp_path)], "config")


def test_interpolations_nested_deeper_than_the_limit_are_unknown(tmp_path: Path) -> None:
    chain = "".join(f"k{number}: ${{k{number + 1}}}\n" for number in range(60))
    oracle.write(tmp_path, {"config": f"{chain}k60: 1\n"})
    config = compose(Files(str(tmp_path)), [str(tmp_path)], "config").config
    assert config.integer("k20").value == 1
    assert not config.integer("k0").known


def test_a_stated_environment_variable_chooses(tmp_path: Path) -> None:
    oracle.write(tmp_path, {"config": "defaults: [{a: '${oc.env:OPTION}'}]\n", "a/x": "k: 1\n"})
    assert compose(Files(str(tmp_path)), [str(tmp_path)], "config", ["env:OPTION=x"]).config.integer("a.k").value == 1


@pytest.mark.parametrize(
    ("files", "line", "message"),
    [
        (
            {"config": "defaults:\n  - ../project/a/x\n", "a/x": "k: 1\n"},
            2,
            "Hydra 1.4 refuses '..' in a defaults list",
        ),
        (
            {"config": "defaults:\n  - a: x\n  - override a: y\n  - override a: z\n", "a/y": "k: 1\n"},
            4,
            "Hydra 1.3 takes y, the first",
        ),
    ],
)
def test_what_hydra_1_4_would_do_is_a_note(files: dict[str, str], line: int, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    oracle.write(folder, files)
    notes = compose(Files(str(tmp_path)), [str(folder)], "config").notes
    assert [note.span.line for note in notes if note.span is not None] == [line]
    assert message in notes[0].message
