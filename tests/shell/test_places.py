"""Every word knows the lines that wrote it; files that a script writes know theirs; what is broken is said once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from effbatch_lint.compose.config import Config
from effbatch_lint.documents.shell import script
from effbatch_lint.documents.shell.text import MAX_CHARACTERS, Text, of_source, written
from effbatch_lint.files import Files
from effbatch_lint.launchers import written as written_files
from effbatch_lint.source import Source

if TYPE_CHECKING:
    import pytest


def read(text: str, folder: Path | None = None, name: str = "run.sh") -> script.Script:
    real = str((folder or Path("/nowhere")) / name)
    return script.read(Source(name, real, text), Files(str(folder)) if folder is not None else None)


def places(word: Text) -> list[tuple[int, int, int]]:
    return [(span.line, span.column, span.end_column) for span in word.spans]


def test_a_number_is_placed_where_it_was_written() -> None:
    found = read('N=8\nDIST="--nproc_per_node $N \\\n  --nnodes 2"\ntorchrun $DIST x$N --k=${M:-4}\n')
    words = found.commands[0].words
    assert [word.display for word in words] == ["torchrun", "--nproc_per_node", "8", "--nnodes", "2", "x8", "--k=4"]
    assert places(words[1]) == [(2, 7, 23)]
    assert places(words[2]) == [(1, 3, 4)]
    assert places(words[4]) == [(3, 12, 13)]
    assert places(words[5]) == [(4, 16, 17), (1, 3, 4)]
    assert places(words[6]) == [(4, 20, 24), (4, 29, 30)]
    assert words[6].note == "the default in ${M:-4}"


def test_a_computed_number_is_placed_at_its_operands() -> None:
    found = read("A=32\nB=3\npython x $((A / B)) $(expr $A / $B)\n")
    computed, by_expr = found.commands[-1].words[2:]
    assert places(computed) == places(by_expr) == [(1, 3, 5), (2, 3, 4)]
    assert computed.note == by_expr.note == "32 / 3 = 10: the remainder 2 is dropped"


def test_wide_characters_count_once() -> None:
    found = read('X="größe ✓" Y=7\npython "$X" $Y\n')
    assert places(found.commands[0].words[2]) == [(1, 15, 16)]


def test_sourced_files_are_followed_and_placed_in_themselves(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "env.sh").write_text("NODES=4\n", encoding="utf-8")
    main = 'DIR="$(cd -- "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nsource "$DIR/conf/env.sh"\n. lost.sh\npython $NODES $X\n'
    found = read(main, tmp_path)
    words = found.commands[-1].words
    assert words[1].display == "4"
    assert words[1].spans[0].path.endswith("env.sh")
    assert "lost.sh, which the script sources, is not in the project" in (words[2].reason or "")


def test_a_written_file_has_its_places_in_the_script() -> None:
    text = (
        'BS=16\ncat <<EOF > "$TMP/ds.json"\n{\n  "train_batch_size": $BS,\n  "micro": ${GONE},\n  "lr": 1e-4\n}\nEOF\n'
    )
    found = read(text)
    (name, content) = next(iter(found.files.items()))
    source = Source("run.sh", "/nowhere/run.sh", text)
    document = written_files.document(content, name, source)
    assert document is not None
    config = Config(document.mappings[0], "run.sh", "json")
    batch = config.integer("train_batch_size")
    assert (batch.value, batch.spans[0].line, batch.spans[0].column) == (16, 1, 4)
    entry = config.entry("train_batch_size")
    assert entry is not None
    assert entry.span is not None
    assert (entry.span.line, entry.span.column) == (4, 3)
    micro = config.integer("micro")
    assert micro.value is None
    assert "the variable GONE is not given" in (micro.reason or "")


def test_a_quoted_here_document_keeps_its_text() -> None:
    found = read("cat > a.yaml <<'EOF'\nx: $Y `z`\nEOF\ntee b.yaml <<-EOF\n\tx: 1\n\tEOF\necho 'y: 2' >> b.yaml\n")
    assert {name: text.display for name, text in found.files.items()} == {
        "a.yaml": "x: $Y `z`\n",
        "b.yaml": "x: 1\ny: 2\n",
    }


def test_local_errors_leave_the_rest_readable() -> None:
    found = read("NODES=2\nif [ x ; then\n  y\nfi\ntorchrun --nnodes $NODES train.py\n")
    assert found.problems == []
    assert found.commands[-1].words[2].display == "2"


def test_a_broken_script_is_one_problem_at_its_line() -> None:
    found = read("X=1\nif true; then\n")
    assert [(problem.code, problem.span.line) for problem in found.problems] == [("EB901", 2)]


def test_hostile_scripts_end() -> None:
    assert read("f() { f; }\nf\npython a.py\n").commands
    assert read("f() { f; g; f; }\ng() { g; f; }\nf\npython a.py\n").commands
    assert "nests calls deeper" in read('X=\'eval "$X"\'\neval "$X"\n').problems[0].reason
    doubling = "X=aaaaaaaaaaaaaaaa\n" + "X=$X$X$X$X\n" * 20 + "python $X\n"
    found = read(doubling)
    assert found.problems or len(found.commands[0].words[1]) <= MAX_CHARACTERS
    assert read("while true; do X=$X.; done\npython $X\n").commands
    assert read("python $((10 ** 10 ** 10)) $((1 << 99)) {1..999999999}\n").commands
    pattern = "X=" + "a" * 5_000 + "\npython ${X//*a*a*a*a*b/} ${X%%*a*a*a*b} $([[ $X =~ (a+)+b ]] && echo y)\n"
    assert read(pattern).commands


def test_text_slices_keep_places() -> None:
    text = of_source(Source("a.sh", "/a.sh", "one two\nthree\n"))
    part = text.slice(4, 11)
    assert part.chars == "two\nthr"
    assert [(span.line, span.column) for span in part.spans] == [(1, 5), (2, 1)]
    assert (part + written("!")).display == "two\nthr!"


def test_a_sourced_file_knows_its_real_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "common.env").write_text('HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\n')
    monkeypatch.chdir(tmp_path)
    source = Source("run.sh", str(tmp_path / "run.sh"), "source lib/common.env\ntorchrun $HERE/a.yaml\n")
    found = script.read(source, Files(str(tmp_path)))
    assert found.commands[-1].words[1].chars == f"{tmp_path}/lib/a.yaml"
