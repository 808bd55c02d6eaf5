"""Configs that stand on others: what lies on top, where each value came from, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import effbatch_lint
from effbatch_lint.compose.inherit import inherited
from effbatch_lint.compose.named_files import MAX_NAMED, Named
from effbatch_lint.documents.nodes import Entry, Mapping, Scalar, Sequence, entry_at
from effbatch_lint.documents.scalars import resolve
from effbatch_lint.files import Files
from effbatch_lint.source import Unreadable

Write = Callable[[dict[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(texts: dict[str, str]) -> Path:
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return call


def compose(root: Path, name: str) -> tuple[Mapping, Named]:
    files = Files(str(root))
    document = files.document(str(root / name))
    named = Named(files)
    return inherited(named, document.mappings[0], (document,)), named


def plain(node: object) -> Any:
    match node:
        case Mapping():
            return {key: plain(entry.value) for key, entry in node.entries.items()}
        case Sequence():
            return [plain(item) for item in node.items]
        case Scalar():
            return resolve(node, "omegaconf")
    raise AssertionError(node)


def at(root: Mapping, key: str) -> Entry:
    entry = entry_at(root, key)
    assert entry is not None
    return entry


def places(entry: Entry) -> list[str]:
    """Where a value stands, then what it replaced."""
    spans = [each.value.span for each in (entry, *entry.previous)]
    return [span.where.rpartition("/")[2] for span in spans if span is not None]


# -- NeMo-RL -----------------------------------------------------------------------------------------------------------

GRANDPARENT = (
    "policy: {micro: 4, opt: {lr: 1, betas: [1, 2]}, cap: 8}\ndata: {path: a, split: train}\ncluster: {n: 1}\n"
)
PARENT = "defaults: ../base.yaml\npolicy: {micro: 2, opt: {lr: 2}}\n"
OTHER = "policy:\n  cap: ???\n  opt: {betas: [9]}\ncluster: {n: 2}\n"
CHILD = "defaults: [parent.yaml, other.yaml]\npolicy: {opt: {wd: 0}}\ndata:\n  _override_: true\n  path: b\n"


def test_nemo_rl_merges_depth_first_and_later_ones_win(write: Write) -> None:
    root = write({"base.yaml": GRANDPARENT, "r/parent.yaml": PARENT, "r/other.yaml": OTHER, "r/child.yaml": CHILD})
    tree, named = compose(root, "r/child.yaml")

    layers = [OmegaConf.create(text.partition("\n")[2] if "defaults" in text else text) for text in (PARENT, OTHER)]
    expected: Any = OmegaConf.to_container(OmegaConf.merge(OmegaConf.create(GRANDPARENT), *layers))
    expected["policy"]["opt"]["wd"] = 0
    expected["data"] = {"path": "b"}
    assert plain(tree) == expected
    assert [document.source.path.rpartition("/")[2] for document in named.documents] == [
        "parent.yaml",
        "base.yaml",
        "other.yaml",
    ]


def test_a_value_remembers_every_place_that_it_replaced(write: Write) -> None:
    root = write({"base.yaml": GRANDPARENT, "r/parent.yaml": PARENT, "r/child.yaml": "defaults: parent.yaml\nx: 1\n"})
    assert places(at(compose(root, "r/child.yaml")[0], "policy.micro")) == ["parent.yaml:2", "base.yaml:1"]


def test_a_defaults_list_of_groups_is_hydras(write: Write) -> None:
    text = "defaults: [_self_, {model: base}, other.yaml]\ntokens: {micro_batch_size: 1}\n"
    root = write({"child.yaml": text, "other.yaml": "tokens: {micro_batch_size: 2}\n"})
    tree, named = compose(root, "child.yaml")
    assert at(tree, "tokens.micro_batch_size").value.text == "1"  # type: ignore[union-attr] # a scalar
    assert named.documents == []


def test_a_mapping_does_not_go_onto_a_list(write: Write) -> None:
    root = write({"base.yaml": "data: [1, 2]\n", "child.yaml": "defaults: base.yaml\ndata: {path: x}\n"})
    with pytest.raises(Unreadable, match="Cannot merge ListConfig with DictConfig") as raised:
        compose(root, "child.yaml")
    assert raised.value.code == "EB902"


# -- detectron2 --------------------------------------------------------------------------------------------------------


def test_several_bases_and_lists_are_replaced(write: Write) -> None:
    root = write(
        {
            "a.yaml": "SOLVER: {STEPS: [1, 2], IMS_PER_BATCH: 16}\n",
            "b.yaml": "SOLVER: {STEPS: [3]}\n",
            "child.yaml": "_BASE_: [a.yaml, ./b.yaml]\nSOLVER: {MAX_ITER: 5}\n",
        }
    )
    assert plain(compose(root, "child.yaml")[0]) == {"SOLVER": {"STEPS": [3], "IMS_PER_BATCH": 16, "MAX_ITER": 5}}


def test_a_section_does_not_go_onto_a_value(write: Write) -> None:
    root = write({"a.yaml": "MODEL: {FPN: none}\n", "child.yaml": "_BASE_: a.yaml\nMODEL:\n  FPN: {NORM: GN}\n"})
    with pytest.raises(Unreadable, match="Cannot inherit key 'FPN' from base") as raised:
        compose(root, "child.yaml")
    assert (raised.value.code, raised.value.span.line) == ("EB902", 3)


# -- MaxText -----------------------------------------------------------------------------------------------------------


def test_the_folder_of_configs_is_searched_after_the_files_own(write: Write) -> None:
    root = write(
        {
            "configs/base.yml": "per_device_batch_size: 12.0\nsteps: 10\n",
            "configs/gpu/models/a.yml": "base_config: base.yml\nsteps: 20\n",
            "configs/tpu/base.yml": "steps: 30\n",
            "configs/tpu/b.yml": "base_config: base.yml\n",
        }
    )
    assert plain(compose(root, "configs/gpu/models/a.yml")[0]) == {"per_device_batch_size": 12.0, "steps": 20}
    assert plain(compose(root, "configs/tpu/b.yml")[0]) == {"steps": 30}


# -- Levanter ----------------------------------------------------------------------------------------------------------


def test_an_included_file_stands_in_place_of_the_tag(write: Write) -> None:
    root = write(
        {
            "data/source.yaml": "urls: !include urls.yaml\ncache: gs\n",
            "data/urls.yaml": "[a, b]\n",
            "common.yaml": "seed: 0\ntrain_batch_size: 512\n",
            "child.yaml": "data: !include data/source.yaml\ntrainer:\n  <<: !include common.yaml\n  seed: 7\n",
        }
    )
    tree, named = compose(root, "child.yaml")
    assert plain(tree) == {
        "data": {"urls": ["a", "b"], "cache": "gs"},
        "trainer": {"seed": 7, "train_batch_size": 512},
    }
    assert len(named.documents) == 3
    assert places(at(tree, "trainer.seed")) == ["child.yaml:4", "common.yaml:1"]
    assert places(at(tree, "trainer.train_batch_size")) == ["common.yaml:2"]


def test_a_list_cannot_be_merged_in(write: Write) -> None:
    root = write({"list.yaml": "[1]\n", "child.yaml": "trainer:\n  <<: !include list.yaml\n"})
    with pytest.raises(Unreadable, match=r"list\.yaml holds a list, and << merges mappings"):
        compose(root, "child.yaml")


def test_a_part_that_is_missing_makes_only_its_section_unknown(write: Write) -> None:
    nanotron = "parallelism: {dp: 2, tp: 1, pp: 1}\ntokens: {micro_batch_size: 1, batch_accumulation_per_replica: 1}\n"
    root = write({"child.yaml": f"data: !include gone.yaml\n{nanotron}"})
    (recipe,) = effbatch_lint.explain([root / "child.yaml"])
    batch: Any = recipe.as_dict()["batches"]
    assert (batch[0]["effective_batch"], batch[0]["context_parallel"]) == (2, 1)
    root = write({"child.yaml": f"{nanotron}".replace("{dp: 2,", "{<<: !include gone.yaml, dp: 2,")})
    (recipe,) = effbatch_lint.explain([root / "child.yaml"])
    batch = recipe.as_dict()["batches"]
    reason = batch[0]["terms"]["context_parallel"]["reason"]
    assert (
        reason == "parallelism.context_parallel_size is in no file: gone.yaml, which may set it, is not in the project"
    )


# -- what is refused, and what is not read -----------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["_BASE_", "defaults", "base_config"])
def test_a_cycle_is_refused_at_the_name_that_closes_it(write: Write, key: str) -> None:
    root = write({"a.yaml": f"{key}: b.yaml\n", "b.yaml": f"x: 1\n{key}: a.yaml\n"})
    with pytest.raises(Unreadable, match=f"a cycle of {key}: .*a.yaml -> .*b.yaml -> .*a.yaml") as raised:
        compose(root, "a.yaml")
    assert (raised.value.code, raised.value.span.where.rpartition("/")[2]) == ("EB902", "b.yaml:2")


def test_an_include_of_itself_is_refused(write: Write) -> None:
    root = write({"a.yaml": "x: !include a.yaml\n"})
    with pytest.raises(Unreadable, match="a cycle of x"):
        compose(root, "a.yaml")


def test_files_that_name_each_other_many_times_do_not_multiply(write: Write) -> None:
    texts = {f"{n}.yaml": f"defaults: [{n + 1}.yaml, {n + 1}.yaml]\n" for n in range(30)}
    root = write({**texts, "30.yaml": "x: 1\n"})
    with pytest.raises(Unreadable, match=f"names more than {MAX_NAMED} files") as raised:
        compose(root, "0.yaml")
    assert raised.value.code == "EB902"


def test_a_base_without_a_mapping_is_refused(write: Write) -> None:
    root = write({"a.yaml": "_BASE_: b.yaml\n", "b.yaml": "[1]\n"})
    with pytest.raises(Unreadable, match="holds no mapping"):
        compose(root, "a.yaml")


def test_a_broken_base_is_reported_in_its_own_place(write: Write) -> None:
    root = write({"a.yaml": "_BASE_: b.yaml\n", "b.yaml": "x: 1\ny: [\n"})
    with pytest.raises(Unreadable, match="not valid YAML") as raised:
        compose(root, "a.yaml")
    assert raised.value.span.path.endswith("b.yaml")


@pytest.mark.parametrize("name", ["../outside.yaml", "link.yaml", "~/outside.yaml", "{absolute}", "https://x/y.yaml"])
def test_nothing_outside_the_project_is_read(write: Write, name: str) -> None:
    root = write({"outside.yaml": "x: secret\n", "project/keep.yaml": "x: 1\n"})
    (root / "project" / "link.yaml").symlink_to(root / "outside.yaml")
    name = name.format(absolute=root / "outside.yaml")
    write({"project/a.yaml": f"defaults: {name}\ny: 1\n"})
    tree, named = compose(root / "project", "a.yaml")
    assert named.documents == []
    assert named.missing == [("defaults", name)]
    assert "x" not in tree.entries


# -- recipes -----------------------------------------------------------------------------------------------------------

BASE = """\
# effbatch: target=4
parallelism: {dp: 2, tp: 1, pp: 1}
tokens: {micro_batch_size: 1, batch_accumulation_per_replica: 2, sequence_length: 8}
"""


def test_a_child_without_the_frameworks_words_is_a_recipe_and_its_base_stays_one(write: Write) -> None:
    root = write({"base.yaml": BASE, "child.yaml": "defaults: base.yaml\ntokens: {micro_batch_size: 8}\n"})
    recipes = {Path(recipe.path).name: recipe for recipe in effbatch_lint.explain([root])}
    assert sorted(recipes) == ["base.yaml", "child.yaml"]
    assert [Path(path).name for path in recipes["child.yaml"].config.files] == ["child.yaml", "base.yaml"]
    batches: Any = recipes["child.yaml"].as_dict()["batches"]
    assert batches[0]["effective_batch"] == 32
    assert [target.quantity.value for target in recipes["base.yaml"].targets] == [4]
    assert recipes["child.yaml"].targets == ()


def test_a_value_of_the_base_that_refers_to_one_of_the_child(write: Write) -> None:
    base = "_component_: x\nbatch_size: ${size}\nmodel: {_component_: m}\noptimizer: {_component_: o}\n"
    child = "defaults: base.yaml\nsize: 4\ngradient_accumulation_steps: 2\n"
    root = write({"base.yaml": base, "child.yaml": child})
    (recipe,) = effbatch_lint.explain([root / "child.yaml"], world_size=2)
    batch: Any = recipe.as_dict()["batches"]
    assert batch[0]["effective_batch"] == 16
    origins = [(Path(o["path"]).name, o["line"]) for o in batch[0]["terms"]["micro_batch"]["origins"]]
    assert origins == [("base.yaml", 2), ("child.yaml", 2)]
