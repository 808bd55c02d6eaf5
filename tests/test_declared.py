"""The node ``effbatch:`` of a config: what it declares, what of it does not read, and how it stands beside pragmas."""

from __future__ import annotations

import pytest
from trees import only, source

from effbatch_lint.compose.config import Config
from effbatch_lint.documents.pragmas import MAX_DECLARED, read_pragmas
from effbatch_lint.documents.yaml import parse
from effbatch_lint.targets.declared import Declared, declared


def found(text: str) -> Declared:
    whole = source(text)
    return declared(Config(only(parse(whole)), "conf"), read_pragmas(whole, "yaml"))


def said(text: str) -> tuple[list[tuple[str, float]], list[int], list[str]]:
    node = found(f"effbatch: {text}\n")
    return (
        [(target.quantity.words, target.tolerance) for target in node.targets],
        [int(term.value or 0) for term in node.world_sizes],
        [each.message for each in node.unknown],
    )


@pytest.mark.parametrize(
    ("text", "targets", "sizes"),
    [
        ("{target_global_batch: 2048, world_size: 64}", [("2048", 0.0)], [64]),
        ("{target_global_batch: 2_048}", [("2048", 0.0)], []),
        ("{target_global_batch: '2,048 sequences'}", [("2,048 sequences", 0.0)], []),
        ("{target_global_batch: 64, unit: prompts}", [("64 prompts", 0.0)], []),
        ("{unit: pair, target_global_batch: 64}", [("64 pairs", 0.0)], []),
        ("{target_tokens: 8M}", [("8M tokens", 0.0)], []),
        ("{target_tokens: 8M, target_global_batch: 64, unit: completions}", [("8M tokens", 0.0), ("64 completions", 0.0)], []),
        ("{target_global_batch: 2048, tolerance: 0.01}", [("2048", 0.01)], []),
        ("{target_global_batch: 2048, tolerance: 1.5%}", [("2048", 0.015)], []),
        ("{world_size: [8, 64]}", [], [8, 64]),
        ("{}", [], []),
    ],
)  # fmt: skip
def test_what_it_declares(text: str, targets: list[tuple[str, float]], sizes: list[int]) -> None:
    assert said(text) == (targets, sizes, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2048", "effbatch: declares nothing"),
        ("", "effbatch: declares nothing"),
        ("[2048]", "effbatch: declares nothing"),
        ("{target: 2048}", "effbatch.target does not exist"),
        ("{target_global_batch: big}", "effbatch.target_global_batch is no number: 2048,"),
        ("{target_global_batch: null}", "effbatch.target_global_batch is no number: 2048,"),
        ("{target_global_batch: [64, 128]}", "effbatch.target_global_batch is no number: 2048,"),
        ("{target_global_batch: '${batch}'}", "effbatch.target_global_batch is no number: 2048,"),
        ("{target_tokens: 8M sequences}", "effbatch.target_tokens is no number of tokens"),
        ("{target_global_batch: 8M tokens, unit: pairs}", "effbatch.target_global_batch is no number of pairs"),
        ("{unit: apples}", "effbatch.unit is not one of sequences,"),
        ("{tolerance: 1}", "effbatch.tolerance is not a share of the target"),
        ("{tolerance: true}", "effbatch.tolerance is not a share of the target"),
        ("{tolerance: 200%}", "effbatch.tolerance is not a share of the target"),
        ("{tolerance: [1]}", "effbatch.tolerance is not a share of the target"),
        ("{world_size: 0}", "effbatch.world_size is 0, no number of devices"),
        ("{world_size: many}", "effbatch.world_size is many, no number of devices"),
        ("{world_size: 12345678901234}", "effbatch.world_size is 12345678901234, no number of devices"),
        ("{world_size: {a: 1}}", "effbatch.world_size is no number of devices"),
        ("{world_size: [8, [9]]}", "effbatch.world_size is no number of devices"),
    ],
)
def test_what_does_not_read(text: str, message: str) -> None:
    node = found(f"# first\neffbatch: {text}\n")
    assert len(node.unknown) == 1
    span, told, _ = node.unknown[0]
    assert told.startswith(message)
    assert span is not None
    assert span.line == 2
    assert len(told) < 200


def test_what_reads_counts_beside_what_does_not() -> None:
    assert said("{target_global_batch: 64, tolerance: much, world_size: [8, x], other: 1}") == (
        [("64", 0.0)],
        [8],
        [
            'effbatch.tolerance is not a share of the target: 0.01 or "1%"',
            "effbatch.world_size is x, no number of devices",
            "effbatch.other does not exist",
        ],
    )


def test_a_pragma_and_a_node_both_declare_and_the_pragmas_devices_hold() -> None:
    both = found("# effbatch: target=64 world-size=8\neffbatch: {target_global_batch: 128, world_size: 16}\n")
    assert [(target.quantity.value, target.kind, target.place) for target in both.targets] == [
        (64, "pragma", "conf:1"),
        (128, "config", "conf:2"),
    ]
    assert [term.value for term in both.world_sizes] == [8]


def test_so_many_declarations_are_none() -> None:
    assert said(f"{{world_size: {list(range(1, MAX_DECLARED + 2))}}}")[1:] == (
        [],
        ["effbatch.world_size: more than 100 numbers of devices"],
    )
    for text in ("# effbatch: target=8\n" * 500, "# effbatch: world-size=1,2\n" * 500):
        pragmas = read_pragmas(source(text), "yaml")
        assert len(pragmas.targets) + sum(len(sizes.values) for sizes in pragmas.world_sizes) == MAX_DECLARED
        assert {unknown.message for unknown in pragmas.unknown} == {
            "more than 100 declarations in one file: no further one is read"
        }
    (refused,) = read_pragmas(source(f"# effbatch: world-size={','.join(['8'] * 500)}\n"), "yaml").unknown
    assert refused.message.startswith("world-size=8,8,8,")
    assert len(refused.message) < 120


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("2048", "write effbatch: {target_global_batch: 2048, world_size: 64}"),
        ("{target_globl_batch: 2048}", "did you mean target_global_batch?"),
        ("{world-size: 8}", "did you mean world_size?"),
        ("{zzz: 8}", "the keys are target_global_batch, target_tokens, unit, world_size, tolerance"),
    ],
)
def test_what_to_write_instead(text: str, help: str) -> None:
    assert [each.help for each in found(f"effbatch: {text}\n").unknown] == [help]


@pytest.mark.parametrize("name", ["efbatch", "eff_batch", "Effbatch", "effbach"])
def test_a_node_whose_name_is_misspelled(name: str) -> None:
    (unknown,) = found(f"{name}: {{target_global_batch: 2048}}\n").unknown
    assert (unknown.message, unknown.help) == (f"{name} is no node of this tool", "did you mean effbatch?")
    assert found(f"{name}: {{size: 2048}}\nbatch: {{target_tokens: 8}}\n").unknown == ()
