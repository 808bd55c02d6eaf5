"""The Python interface: explain, check, and verify in a training script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import effbatch_lint
from effbatch_lint import BatchMismatch
from effbatch_lint.call import UsageError

NANOTRON: dict[str, Any] = {
    "tokens": {"micro_batch_size": 2, "batch_accumulation_per_replica": 4, "sequence_length": 1024},
    "parallelism": {"dp": 8, "tp": 2, "pp": 1},
}
TEXT = """\
# effbatch: target=64
tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 4, sequence_length: 1024}
parallelism: {dp: 8, tp: 2, pp: 1}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.yaml").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_public() -> None:
    assert effbatch_lint.__all__ == ["BatchMismatch", "check", "explain", "verify"]
    assert issubclass(BatchMismatch, ValueError)


# -- explain -------------------------------------------------------------------------------------------------------


def test_explain() -> None:
    (recipe,) = effbatch_lint.explain(["a.yaml"], world_size=16)
    assert (recipe.path, recipe.framework and recipe.framework.name) == ("a.yaml", "nanotron")
    (batch,) = recipe.batches
    assert (batch.effective.value, batch.tokens_per_step and batch.tokens_per_step.value) == (64, 65_536)
    assert batch.micro.spans[0].where == "a.yaml:2"
    form = recipe.as_dict()
    assert json.loads(json.dumps(form)) == form
    assert set(form) == {"path", "files", "name", "framework", "profile", "overrides", "launch", "batches"}
    assert form["launch"] is None


@pytest.mark.parametrize(
    "paths", [["a.yaml"], ("a.yaml",), "a.yaml", Path("a.yaml"), [Path("a.yaml")], iter(["a.yaml"]), "."]
)
def test_ways_to_give_paths(paths: Any) -> None:
    assert [recipe.path for recipe in effbatch_lint.explain(paths)] == ["a.yaml"]


def test_explain_with_overrides_and_a_framework() -> None:
    (recipe,) = effbatch_lint.explain(["a.yaml"], overrides=["parallelism.dp=4", "env:X=1"], framework="nanotron")
    assert recipe.batches[0].effective.value == 32
    assert recipe.batches[0].layout.replicas.origins[0].note == "--override parallelism.dp=4"
    assert recipe.batches[0].layout.replicas.origins[0].previous[0].span is not None


@pytest.mark.parametrize("word", ["parallelism.dp", "=4", "", "+=3", ".".join("a" * 300) + "=1"])
def test_an_override_that_is_none(word: str) -> None:
    with pytest.raises(ValueError, match=r"is no KEY=VALUE|over the limit"):
        effbatch_lint.explain(["a.yaml"], overrides=[word])


@pytest.mark.parametrize("size", [0, -8, True, "8", 8.0])
def test_a_world_size_that_is_none(size: Any) -> None:
    for call in (
        lambda: effbatch_lint.explain(["a.yaml"], world_size=size),
        lambda: effbatch_lint.check(["a.yaml"], world_size=size),
        lambda: effbatch_lint.verify(NANOTRON, world_size=size),
    ):
        with pytest.raises(UsageError, match="world_size"):
            call()


def test_an_unknown_framework() -> None:
    for call in (
        lambda: effbatch_lint.explain(["a.yaml"], framework="nonesuch"),
        lambda: effbatch_lint.verify(NANOTRON, framework="nonesuch"),
    ):
        with pytest.raises(UsageError, match="no framework is called 'nonesuch'"):
            call()


def test_files_that_are_no_recipe(project: Path) -> None:
    (project / "b.yaml").write_text("name: ci\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="cannot be opened") as said:
        assert effbatch_lint.explain(["b.yaml", "missing.yaml", "x\0y.yaml"]) == []
    assert [str(warning.message).split(":")[0] for warning in said] == ["missing.yaml", "x\0y.yaml"]


# -- check ---------------------------------------------------------------------------------------------------------


def test_check() -> None:
    assert effbatch_lint.check(["a.yaml"]).findings == []
    report = effbatch_lint.check(["a.yaml"], target=128, world_size=16)
    assert [finding.code for finding in report.findings] == ["EB106", "EB102"]
    form = report.as_dict()
    assert json.loads(json.dumps(form)) == form
    assert set(form) == {"version", "tool", "findings", "summary", "unread"}
    (first, _) = report.findings
    assert set(first.as_dict()) >= {
        "code",
        "name",
        "severity",
        "message",
        "help",
        "fix",
        "primary",
        "related",
        "recipe",
        "url",
    }
    assert set(first.primary.as_dict()) == {"path", "line", "column", "end_line", "end_column", "label"}


@pytest.mark.parametrize(
    ("target", "codes"),
    [(64, []), ("64", []), ("64 sequences", []), ("64k tokens", []), ("65,536 tokens", []), ("64 prompts", []), (65, ["EB106", "EB101"])],
)  # fmt: skip
def test_ways_to_give_a_target(target: Any, codes: list[str]) -> None:
    assert [finding.code for finding in effbatch_lint.check(["a.yaml"], target=target).findings] == codes


@pytest.mark.parametrize("target", ["", "many", 0, -1, "64 apples", True])
def test_a_target_that_is_none(target: Any) -> None:
    with pytest.raises(UsageError, match="no number with a unit"):
        effbatch_lint.check(["a.yaml"], target=target)


def test_a_file_that_cannot_be_read_is_a_finding() -> None:
    report = effbatch_lint.check(["missing.yaml", "a.yaml"])
    assert [(finding.code, finding.primary.span.path) for finding in report.findings] == [("EB901", "missing.yaml")]
    assert [recipe.path for recipe in report.recipes] == ["a.yaml"]


# -- verify --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"world_size": 16},
        {"target": 64},
        {"target": "64 sequences", "world_size": 16},
        {"target": "64k tokens"},
        {"target": 64, "framework": "nanotron"},
    ],
)
def test_verify_is_silent_where_all_is_well(options: dict[str, Any]) -> None:
    effbatch_lint.verify(NANOTRON, **options)
    effbatch_lint.verify(OmegaConf.create(NANOTRON), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 65}, "65 sequences per optimizer step declared, 64 computed"),
        ({"target": 128}, "128 sequences per optimizer step declared, 64 computed: the tensor-parallel degree (parallelism.tp) was counted as replicas"),
        ({"target": "1M tokens"}, "1M tokens per optimizer step declared, 65,536 computed"),
        ({"target": 64, "world_size": 8}, "nanotron refuses this config: 8 replicas of 2 devices need 16 devices, and the job has 8"),
    ],
)  # fmt: skip
def test_verify_raises_what_is_wrong(options: dict[str, Any], message: str) -> None:
    for config in (NANOTRON, OmegaConf.create(NANOTRON)):
        with pytest.raises(BatchMismatch) as mismatch:
            effbatch_lint.verify(config, **options)
        assert str(mismatch.value).startswith(
            message.split(": the tensor", maxsplit=1)[0].split(", and", maxsplit=1)[0]
        )


@pytest.mark.parametrize(
    ("framework", "arguments", "target"),
    [
        ("open_clip", {"batch_size": 256, "accum_freq": 2, "train_data": "a.csv", "model": "ViT-B-32"}, 2048),
        ("timm", {"batch_size": 256, "grad_accum_steps": 2, "model": "resnet50", "train_img_sizes": None}, 2048),
        ("slime", {"rollout_batch_size": 32, "n_samples_per_prompt": 8, "num_steps_per_rollout": 2}, 128),
    ],
)
def test_verify_takes_the_arguments_that_a_program_has_parsed(
    framework: str, arguments: dict[str, Any], target: int
) -> None:
    effbatch_lint.verify(arguments, framework=framework, world_size=4, target=target)
    with pytest.raises(BatchMismatch):
        effbatch_lint.verify(arguments, framework=framework, world_size=4, target=target + 1)


def test_verify_resolves_the_interpolations_of_a_dictconfig() -> None:
    config = OmegaConf.create({**NANOTRON, "tokens": {**NANOTRON["tokens"], "micro_batch_size": "${bs}"}, "bs": 2})
    effbatch_lint.verify(config, target=64)
    with pytest.raises(BatchMismatch):
        effbatch_lint.verify(config, target=65)


def test_verify_says_what_is_not_known() -> None:
    unset = {**NANOTRON, "tokens": {**NANOTRON["tokens"], "micro_batch_size": "auto"}}
    for target in (None, 64):
        with pytest.raises(
            BatchMismatch, match=r"not known: tokens\.micro_batch_size is 'auto', which is no whole number"
        ):
            effbatch_lint.verify(unset, target=target)
    missing = OmegaConf.create({**NANOTRON, "tokens": {**NANOTRON["tokens"], "micro_batch_size": "???"}})
    with pytest.raises(BatchMismatch, match="not known"):
        effbatch_lint.verify(missing, target=64)


def test_verify_takes_what_the_config_itself_declares() -> None:
    effbatch_lint.verify({**NANOTRON, "effbatch": {"target_global_batch": 64, "world_size": 16}})
    with pytest.raises(BatchMismatch, match="65 sequences per optimizer step declared"):
        effbatch_lint.verify({**NANOTRON, "effbatch": {"target_global_batch": 65}})


@pytest.mark.parametrize("config", [None, 8, "a.yaml", [NANOTRON], OmegaConf.create([1])])
def test_verify_takes_mappings_only(config: Any) -> None:
    with pytest.raises(TypeError, match="takes a mapping or a DictConfig"):
        effbatch_lint.verify(config, target=64)


def test_verify_of_no_known_framework() -> None:
    with pytest.raises(UsageError, match="of no framework that is recognised"):
        effbatch_lint.verify({"a": 1}, target=64)


def deep(levels: int) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for _ in range(levels):
        config = {"a": config}
    return config


def test_verify_of_hostile_values() -> None:
    with pytest.raises(BatchMismatch):
        effbatch_lint.verify({**NANOTRON, "tokens": {**NANOTRON["tokens"], "micro_batch_size": 10**90}}, target=64)
    endless: dict[str, Any] = dict(NANOTRON)
    endless["itself"] = endless
    for config in ({**NANOTRON, "x": 10**5_000}, {**NANOTRON, "x": deep(5_000)}, endless):
        with pytest.raises(UsageError, match=r"over the limit|nested deeper"):
            effbatch_lint.verify(config, target=64)


class Odd:
    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize(
    "value", [None, 1.5, float("inf"), float("nan"), True, b"2", Odd(), [2], {"a": 2}, (), "", 2 + 0j]
)
def test_verify_of_odd_values(value: Any) -> None:
    with pytest.raises(BatchMismatch, match="not known"):
        effbatch_lint.verify({**NANOTRON, "tokens": {**NANOTRON["tokens"], "micro_batch_size": value}}, target=64)


def test_keys_that_are_no_text() -> None:
    config: dict[Any, Any] = {**NANOTRON, 1: 2, None: {("a", "b"): 3}}
    effbatch_lint.verify(config, target=64)
