"""Configs of other programs that look like a framework's and are none."""

from __future__ import annotations

from pathlib import Path

import pytest

import effbatch_lint

TEXTS = {
    "optimizer-by-name.json": '{"train_batch_size": 64, "gradient_accumulation_steps": 4, "optimizer": "adamw", "lr": 0.1}',
    "half-precision-switch.json": '{"train_batch_size": 64, "fp16": true, "gradient_clipping": 1.0}',
    "other-trainer.yaml": "trainer: {_target_: my.lib.Trainer, devices: 8, max_epochs: 3}\ndata: {batch_size: 4}\n",
    "vocabulary.json": '{"model": 288, "b": 65, "aa": 7252, "opt": 1413, "sched": 9000, "step": 12, "lr": 99}',
    "composer-trainer.yaml": "trainer: {_target_: composer.Trainer, max_epochs: 3, devices: 8}\ndata: {batch_size: 4}\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_no_recipe(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(TEXTS[name], encoding="utf-8")
    assert effbatch_lint.explain([tmp_path / name]) == []
    assert effbatch_lint.check([tmp_path / name]).findings == []


SCRIPTS = {
    "text generation takes the sizes and trains nothing": (
        "torchrun --nproc_per_node 8 tools/run_text_generation_server.py --tensor-model-parallel-size 8 "
        "--micro-batch-size 1 --seq-length 1024 --num-layers 24 --out-seq-length 1024 --temperature 1.0\n"
    ),
    "MegatronMIMO cuts the micro batch over replicas": (
        "torchrun --nproc_per_node 8 train_llava.py --micro-batch-size 4 --global-batch-size 96 --train-iters 100 "
        "--freeze-llm true\n"
    ),
    "a project that borrows Megatron's names, and accumulates by a flag": (
        "torchrun --nproc_per_node 8 ./pipeline/train.py --seq-length 2048 --micro-batch-size 4 --train-epochs 3 "
        "--gradient-accumulation-steps 8 --lr 2e-5 --bf16\n"
    ),
    "an evaluation by the composer launcher": "composer -n 8 eval/eval.py parameters.yaml precision=amp_bf16\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_training(name: str, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(SCRIPTS[name], encoding="utf-8")
    assert [recipe.framework for recipe in effbatch_lint.explain([tmp_path / "run.sh"])] == [None]
    assert effbatch_lint.check([tmp_path / "run.sh"]).findings == []


def test_the_switches_of_another_program_are_no_deepspeed_file(tmp_path: Path) -> None:
    """--zero_optimization without a value configures that program: which JSON it hands over stands elsewhere."""
    script = tmp_path / "run.sh"
    script.write_text(
        "deepspeed --num_gpus 4 pretrain.py --model-parallel-size 2 --num-layers 24 --batch-size 8 --fp16 --zero_optimization $EXTRA\n",
        encoding="utf-8",
    )
    assert [recipe.batches for recipe in effbatch_lint.explain([script])] == [()]
    assert effbatch_lint.check([script]).findings == []
