"""HF Trainer started by accelerate: the launch file's processes, degrees and DeepSpeed numbers count."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from effbatch_lint.compose.config import from_mapping
from effbatch_lint.frameworks import hf_trainer
from effbatch_lint.launch import Launch
from effbatch_lint.terms import Term

ARGUMENTS = "{output_dir: out, per_device_train_batch_size: 2, gradient_accumulation_steps: 4}"


def answer(arguments: str, launch_file: str, world: int | None = None) -> dict[str, Any]:
    launch = Launch.nothing()._replace(accelerate=from_mapping(yaml.safe_load(launch_file)))
    if world is not None:
        launch = launch._replace(world_size=Term(world, "declared", key="--world-size"))
    (batch,) = hf_trainer.read(from_mapping(yaml.safe_load(arguments)), launch)
    return batch.as_dict()


@pytest.mark.parametrize(
    ("launch_file", "expected"),
    [
        ("{distributed_type: MULTI_GPU, num_processes: 8}", {"data_parallel": 8, "effective_batch": 64}),
        ("{distributed_type: 'NO', num_processes: 1}", {"data_parallel": 1, "effective_batch": 8}),
        (
            "{distributed_type: MULTI_GPU, num_processes: 2, parallelism_config: {parallelism_config_tp_size: 2}}",
            {"data_parallel": 1, "tensor_parallel": 2, "effective_batch": 8},
        ),
        (
            "{distributed_type: DEEPSPEED, num_processes: 8, deepspeed_config: {zero_stage: 3}}",
            {"data_parallel": 8, "effective_batch": 64},
        ),
        ("{distributed_type: FSDP, num_processes: -1}", {"data_parallel": None, "effective_batch": None}),
    ],
)
def test_processes_and_degrees_of_the_launch_file(launch_file: str, expected: dict[str, int | None]) -> None:
    found = answer(ARGUMENTS, launch_file)
    assert {key: found[key] for key in expected} == expected
    assert found["problems"] == []


def test_a_world_size_beside_the_launch_file_wins() -> None:
    assert answer(ARGUMENTS, "{distributed_type: MULTI_GPU, num_processes: 8}", world=4)["effective_batch"] == 32


def test_processes_that_the_file_states_in_vain_are_reported_unless_the_command_line_states_others() -> None:
    launch_file = "{distributed_type: 'NO', num_processes: 8}"
    assert [problem["code"] for problem in answer(ARGUMENTS, launch_file)["problems"]] == ["EB305"]
    assert answer(ARGUMENTS, launch_file, world=4)["problems"] == []


def test_the_accumulation_that_deepspeed_is_told_must_be_the_argument() -> None:
    found = answer(
        ARGUMENTS, "{distributed_type: DEEPSPEED, num_processes: 8, deepspeed_config: {gradient_accumulation_steps: 1}}"
    )
    assert found["effective_batch"] is None
    assert found["refused"] == "gradient_accumulation_steps is 4, and accelerate tells DeepSpeed 1"


def test_a_json_without_the_key_tells_deepspeed_1() -> None:
    file = "{zero_optimization: {stage: 2}, train_micro_batch_size_per_gpu: auto}"
    launch_file = (
        f"{{distributed_type: DEEPSPEED, num_processes: 8, deepspeed_config: {{deepspeed_config_file: {file}}}}}"
    )
    assert [problem["code"] for problem in answer(ARGUMENTS, launch_file)["problems"]] == ["EB301"]


def test_a_json_of_the_arguments_is_not_completed_so() -> None:
    arguments = ARGUMENTS[:-1] + ", deepspeed: {train_micro_batch_size_per_gpu: auto}}"
    found = answer(arguments, "{distributed_type: DEEPSPEED, num_processes: 8, deepspeed_config: {zero_stage: 2}}")
    assert (found["effective_batch"], found["problems"]) == (64, [])


def test_a_json_of_the_launch_file_is_compared() -> None:
    file = "{train_batch_size: 128, gradient_accumulation_steps: 4}"
    launch_file = (
        f"{{distributed_type: DEEPSPEED, num_processes: 8, deepspeed_config: {{deepspeed_config_file: {file}}}}}"
    )
    found = answer(ARGUMENTS, launch_file)
    assert "2 x 4 x 8 processes make 64" in found["refused"]


def test_auto_find_batch_size_with_zero_3_of_the_launch_file() -> None:
    found = answer(
        ARGUMENTS[:-1] + ", auto_find_batch_size: true}",
        "{distributed_type: DEEPSPEED, num_processes: 8, deepspeed_config: {zero_stage: 3}}",
    )
    assert [problem["code"] for problem in found["problems"]] == ["EB304"]


def test_split_batches_under_accelerate() -> None:
    arguments = "{output_dir: out, per_device_train_batch_size: 8, accelerator_config: {split_batches: true}}"
    found = answer(arguments, "{distributed_type: MULTI_GPU, num_processes: 3}")
    assert (found["micro_batch"], found["accumulation"], found["data_parallel"]) == (None, 1, 3)
    assert "among 3 replicas" in found["refused"]
