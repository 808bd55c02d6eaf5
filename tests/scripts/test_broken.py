"""Scripts that somebody broke: one EB901 at its line at most, never an exception; and every script of the corpus is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import corpus
from hypothesis import given, settings
from hypothesis import strategies as st

import effbatch_lint

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
# effbatch: target=64
GPUS=${GPUS:-8}
ARGS=(
  --output_dir out
  --per_device_train_batch_size $((4 / 2))
)
if [ "$1" = long ]; then
  ARGS+=(--gradient_accumulation_steps "$(expr 2 \\* 2)")
fi
cat <<EOF > ds.json
{"train_batch_size": "auto", "zero_optimization": {"stage": $STAGE}}
EOF
for size in 1 2; do
  srun torchrun --nnodes "$SLURM_NNODES" --nproc_per_node=$GPUS train.py "${ARGS[@]}" --deepspeed ds.json
done
"""
PIECES = (
    "${", "$((", "$(", "((", "(", ")", "}", "{", "))", "`", '"', "'", "\\", "<<EOF\n", "<<", ">", "|", "||", "&&", "&",
    ";", ";;", "if ", "then\n", "fi\n", "do\n", "done\n", "case x in\n", "esac\n", "f() {\n", "[[", "]]", "#", "\n", "\0",
    "\x85", "\ufeff", "$1", "$@", "${ARGS[@]}", "${X:?no}", "${!X}", "export ", "source run.sh\n", "bash run.sh\n", "eval ",
    "torchrun ", "1e9", "$((1/0))", "{1..9}", "*", "~",
)  # fmt: skip
EDITS = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 40), st.sampled_from(PIECES)), min_size=1, max_size=4)


@settings(max_examples=120)
@given(EDITS)
def test_a_script_with_a_few_changes(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int, str]]
) -> None:
    text = SCRIPT
    for at, length, junk in edits:
        start = at % (len(text) + 1)
        text = text[:start] + junk + text[start + length :]
    folder = tmp_path_factory.mktemp("broken")
    (folder / ".git").mkdir()
    script = folder / "run.sh"
    script.write_text(text, encoding="utf-8", newline="")
    lines = len(text.splitlines()) + 1
    broken = [found for found in effbatch_lint.check([script]).findings if found.code == "EB901"]
    assert len(broken) <= 1
    assert all(1 <= found.primary.span.line <= lines for found in broken)


@pytest.mark.parametrize("length", range(0, len(SCRIPT), 61))
def test_a_script_that_ends_too_early(length: int, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text(SCRIPT[:length], encoding="utf-8")
    assert sum(found.code == "EB901" for found in effbatch_lint.check([tmp_path / "run.sh"]).findings) <= 1


def test_every_script_of_the_corpus_is_read() -> None:
    scripts = [path for path in sorted(corpus().rglob("*")) if path.suffix in (".sh", ".bash", ".slurm", ".sbatch")]
    assert scripts
    unreadable = [
        f"{found.primary.span.where}: {found.message}"
        for script in scripts
        for found in effbatch_lint.check([script]).findings
        if found.code == "EB901"
    ]
    assert unreadable == []


def test_a_script_of_another_shell_need_not_be_valid_bash(tmp_path: Path) -> None:
    text = "for name path in ${(kv)tasks}; do\n  torchrun --nproc_per_node 8 train.py $path\ndone\n"
    (tmp_path / "a.sh").write_text(f"#!/usr/bin/env zsh\n{text}", encoding="utf-8")
    (tmp_path / "b.sh").write_text(f"#!/bin/bash\n{text}", encoding="utf-8")
    assert not effbatch_lint.check([tmp_path / "a.sh"]).findings
    assert [each.code for each in effbatch_lint.check([tmp_path / "b.sh"]).findings] == ["EB901"]
