"""Megatron's flags from a launch line, and beside a file."""

from __future__ import annotations

import pytest

from effbatch_lint.compose.config import Config, from_mapping
from effbatch_lint.frameworks import megatron_deepspeed, megatron_lm
from effbatch_lint.frameworks.parts.megatron.flags import flags, values, written
from effbatch_lint.launch import Launch
from effbatch_lint.terms import Term

EIGHT = Term(8, "declared", key="--world-size")


def test_a_launch_line_alone() -> None:
    launch = Launch(
        EIGHT,
        program="pretrain_gpt.py",
        overrides={"micro-batch-size": "4", "global_batch_size": "64", "seq-length": "2048", "bf16": True},
    )
    batch = next(megatron_lm.read(from_mapping({}), launch))
    assert batch.as_dict()["effective_batch"] == 64
    assert batch.accumulation.value == 2
    assert [origin.note for origin in batch.micro.origins] == ["launch line of pretrain_gpt.py"]


def test_flags_of_a_launch_line_are_recognised() -> None:
    given = {"micro-batch-size": "4", "tensor-model-parallel-size": "2", "seq-length": "128"}
    assert megatron_lm.recognise(from_mapping(given)) == 3
    assert megatron_lm.recognise(from_mapping({**given, "deepspeed_config": "ds.json"})) == 0
    assert megatron_lm.recognise(from_mapping({**given, "zero-stage": "1"})) == 0


@pytest.mark.parametrize(
    "other",
    [
        {"micro_batch_size": 4, "sequence_len": 4096, "gradient_accumulation_steps": 2},
        {"micro_batch_size": 4, "global_batch_size": 8, "tensor_model_parallel_size": 2, "seq_length": 64},
        {"model": {"micro_batch_size": 4, "tensor_model_parallel_size": 2}, "trainer": {"devices": 8}},
        {"model_parallel": {"context_parallel_size": 8}, "dataloader": {"batch_size": 1}},
        {"MODE": "inference", "MODEL_ARGS": {"--micro-batch-size": 1, "--seq-length": 4}},
        {"MODEL_ARGS": {"trainer.max_steps": 2}},
    ],
    ids=["axolotl", "ms-swift", "nemo", "hydra", "inference", "nemo-test"],
)
def test_other_files_are_not(other: dict[str, object]) -> None:
    assert megatron_lm.recognise(from_mapping(other)) == 0


def test_a_file_counts_over_the_launch_line() -> None:
    launch = Launch(EIGHT, overrides={"micro-batch-size": "4", "global-batch-size": "64"})
    args = flags(from_mapping({"MODEL_ARGS": {}, "micro_batch_size": 2}), launch=launch)
    assert (args.integer("micro-batch-size").value, args.integer("global-batch-size").value) == (2, 64)


@pytest.mark.parametrize("given", [[2, "4"], "[2 4]", "2 4", "2,4"], ids=repr)
def test_several_values(given: object) -> None:
    assert values(from_mapping({"sizes": given}), "sizes") == ["2", "4"]


@pytest.mark.parametrize("given", [None, {}, ""], ids=repr)
def test_no_value(given: object) -> None:
    config: Config = from_mapping({"sizes": given} if given is not None else {})
    assert (values(config, "sizes"), written(config, "sizes")) == ([], "")


def test_a_ramp_of_many_steps_keeps_its_ends() -> None:
    config = from_mapping({
        "model_parallel": {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "context_parallel_size": 1},
        "micro_batch_size": 1,
        "global_batch_size": 10_000_000,
        "rampup_batch_size": [8, 8, 10],
        "seq_length": 8,
    })  # fmt: skip
    batch = next(megatron_lm.read(config, Launch(EIGHT)))
    assert [stage.effective_batch.value for stage in batch.schedule] == [8, 10_000_000]


OLD = {
    "tensor-model-parallel-size": "4",
    "pipeline-model-parallel-size": "4",
    "micro-batch-size": "2",
    "seq-length": "64",
}


@pytest.mark.parametrize("flag", ["DDP-impl", "data-impl", "checkpoint-activations", "activations-checkpoint-method"])
def test_a_flag_of_old_releases_brings_their_cut_of_degrees(flag: str) -> None:
    # Cut since August 2020 (7abd3e90d0), refused since August 2024 (8af3dae72a).
    overrides = {**OLD, "global-batch-size": "16", "train-samples": "900", flag: "local"}
    batch = next(megatron_lm.read(from_mapping({}), Launch(EIGHT, overrides=overrides)))
    assert (batch.layout.pipeline.value, batch.layout.replicas.value, batch.accumulation.value) == (2, 1, 8)
    assert batch.refused is None
    batch = next(megatron_lm.read(from_mapping({}), Launch(EIGHT, overrides={**OLD, "global-batch-size": "16"})))
    assert (batch.layout.pipeline.value, batch.layout.replicas.value) == (4, None)
    assert (batch.refused or "").startswith("8 devices cannot be divided into replicas of 16")


def test_a_flag_of_old_releases_brings_their_ramp() -> None:
    overrides = {**OLD, "global-batch-size": "16", "train-samples": "900", "rampup-batch-size": "4 4 90"}
    now = next(megatron_lm.read(from_mapping({}), Launch(EIGHT, overrides=overrides)))
    old = next(megatron_lm.read(from_mapping({}), Launch(EIGHT, overrides={**overrides, "data-impl": "mmap"})))
    assert now.schedule == ()
    assert [stage.effective_batch.value for stage in old.schedule] == [4, 8, 12, 16]


def test_old_releases_do_not_check_the_batch_of_evaluation() -> None:
    overrides = {"micro-batch-size": "8", "eval-micro-batch-size": "16", "seq-length": "64", "epochs": "2"}
    now = next(megatron_lm.read(from_mapping({}), Launch(EIGHT, overrides=overrides)))
    old = next(megatron_lm.read(from_mapping({}), Launch(EIGHT, overrides={**overrides, "DDP-impl": "torch"})))
    assert now.refused is not None
    assert (old.refused, old.effective.value) == (None, 64)


@pytest.mark.parametrize(
    ("program", "flag"),
    [
        ("tools/run_hybrid_text_generation_server.py", {}),
        ("examples.inference.launch_inference_server", {}),
        ("tools/hf2megads_weight_converter.py", {}),
        ("tools/retro/main.py", {}),
        ("tasks/main.py", {"task": "RETRIEVER-EVAL"}),
        ("tasks/msdp/main.py", {"task": "MSDP-EVAL-F1"}),
    ],
)
def test_programs_that_train_nothing(program: str, flag: dict[str, str]) -> None:
    assert list(megatron_lm.read(from_mapping({}), Launch(EIGHT, program=program, overrides={**OLD, **flag}))) == []
    overrides: dict[str, str | bool] = {**OLD, **flag, "deepspeed": True, "lr": "1e-4"}
    assert list(megatron_deepspeed.read(from_mapping({}), Launch(EIGHT, program=program, overrides=overrides))) == []


@pytest.mark.parametrize(
    "program", ["pretrain_gpt.py", "inference/train.py", "medieval_train.py", "tasks/main.py", None]
)
def test_programs_that_train(program: str | None) -> None:
    launch = Launch(EIGHT, program=program, overrides={**OLD, "task": "MNLI"})
    assert len(list(megatron_lm.read(from_mapping({}), launch))) == 1
