"""Whatever a script holds, reading it ends, and ends without a traceback."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from effbatch_lint.launchers import script
from effbatch_lint.source import Source

FRAGMENTS = (
    "torchrun ", "--nnodes=", "$X", "${X:-8}", "${X%%,*}", "${A[@]}", "$(echo ", "$((", "))", ")", "`", '"', "'", "\\", "\n",
    " ", "X=", "A=(", "A+=", "if ", "[ -z ", "[[ ", " ]]", " ]", "; then", "fi\n", "else ", "for x in ", "; do ", "done\n",
    "while ", "case $X in", " a|b) ", ";;", "esac\n", "f() { ", "}", "{", "<<EOF\n", "EOF\n", "> f ", "< f ", "| ", "&& ", "|| ",
    "& ", "# ", "#SBATCH --nodes=2\n", "srun ", "bash -c ", "eval ", "source f\n", "python train.py ", "8", "{1..3}", "é", "\uf8fe",
    "export ", "local ", "read -r X ", "shift ", "$1 ", "$@", "exit 1\n", "mpirun -np 2 ", "accelerate launch ", "deepspeed ",
)  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read(fragments: list[str]) -> None:
    started = script.launches(Source("run.sh", "/nowhere/run.sh", "".join(fragments)))
    for launch in started.launches:
        assert launch.world_size.value is not None or launch.world_size.reason
