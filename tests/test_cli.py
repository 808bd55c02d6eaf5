"""The command line: each command, its statuses and streams, what it writes where, in which colours."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT

from effbatch_lint import __version__, arguments, cli

Run = Callable[..., tuple[int, str, str]]

GOOD = """\
# effbatch: target=64
tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 4, sequence_length: 1024}
parallelism: {dp: 8, tp: 2, pp: 1}
"""
WRONG = GOOD.replace("target=64", "target=65")
WARNING = GOOD + "parallelism: {dp: 8, tp: 2, pp: 1}\n"  # EB307: the section stands twice
OURS = "train: {bs: 4}\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in (("good.yaml", GOOD), ("wrong.yaml", WRONG), ("ours.yaml", OURS), ("ci.yaml", "name: ci\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tool(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The tool in a process of its own."""
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **options}
    return subprocess.run(
        [sys.executable, "-m", "effbatch_lint", *words],
        env={name: str(value) for name, value in environment.items()},
        capture_output=True,
        text=True,
        check=False,
    )


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell, for what only a shell can do to a process."""
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    return subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, check=False)


# -- check: statuses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("good.yaml",), 0),
        (("wrong.yaml",), 1),
        (("good.yaml", "wrong.yaml"), 1),
        (("ci.yaml",), 0),
        (("ci.yaml", "--require-recipes"), 3),
        (("good.yaml", "--require-recipes"), 0),
        (("wrong.yaml", "--require-recipes"), 1),
        (("missing.yaml",), 2),
        (("missing.yaml", "wrong.yaml"), 2),
        ((".",), 1),
        ((), 1),
        (("good.yaml", "--target", "65"), 1),
        (("good.yaml", "--world-size", "16"), 0),
        (("good.yaml", "--world-size", "16,8"), 1),
    ],
)
def test_status(run: Run, words: tuple[str, ...], status: int) -> None:
    assert run("check", *words)[0] == status
    assert run("check", *words, "--output-format", "json")[0] == status
    assert run("check", *words, "--output-format", "concise", "-q")[0] == status


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("chekc",), "invalid choice: 'chekc'"),
        (("check", "--nonesuch"), "unrecognized arguments: --nonesuch"),
        (("check", "--output-format", "xml"), "invalid choice: 'xml'"),
        (("check", "--world-size", "0"), "--world-size: '0' is no whole number above zero"),
        (("check", "--world-size", "-8"), "--world-size: '-8' is no whole number above zero"),
        (("check", "--world-size=-8"), "--world-size: '-8' is no whole number above zero"),
        (("check", "--world-size", "8,"), "--world-size: '' is no whole number above zero"),
        (("check", "--world-size", "8x8"), "--world-size: '8x8' is no whole number above zero"),
        (("check", "--world-size", "9" * 30), "is no whole number above zero"),
        (("check", "--target", "many"), "--target many: no number with a unit, such as 2048,"),
        (("check", "--target", "0"), "--target 0: no number with a unit"),
        (("check", "--target", "64 apples"), "--target 64 apples: no number with a unit"),
        (("check", "--override", "x"), "'x' is no KEY=VALUE"),
        (("check", "--override", "=3"), "'=3' is no KEY=VALUE"),
        (("check", "--override", "+=3"), "'+=3' is no KEY=VALUE"),
        (("check", "--override", ".".join("a" * 500) + "=3"), "a key of 500 parts, over the limit of 100"),
        (("check", "--set", "NAME"), "'NAME' is no KEY=VALUE"),
        (("check", "--framework", "nonesuch"), "no framework is called 'nonesuch': see `effbatch-lint frameworks`"),
        (("check", "--framework", "../x"), "no framework is called '../x'"),
        (("check", "--config", "missing.toml"), "--config missing.toml: no such file"),
        (("check", "--config", "."), "--config .: no such file"),
        (("check", "good.yaml", "--output-file", "missing/x.txt"), "missing/x.txt cannot be written: No such file or directory"),
        (("rule", "EB999"), "no rule is called 'EB999': see `effbatch-lint rule`"),
        (("frameworks", "nonesuch"), "no framework is called 'nonesuch': see `effbatch-lint frameworks`"),
        (("calc",), "the following arguments are required: --micro-batch"),
        (("calc", "--micro-batch", "8"), "calc needs --replicas, or --world-size"),
        (("calc", "--micro-batch", "x", "--replicas", "8"), "argument --micro-batch: 'x' is no whole number above zero"),
        (("calc", "--micro-batch", "8", "--world-size", "64", "--tensor-parallel", "6"), "64 devices cannot be divided"),
        (("calc", "--micro-batch", "8", "--world-size", "64", "--replicas", "8"), "8 replicas of 1 device"),
    ],
)  # fmt: skip
def test_a_call_that_is_wrong_ends_with_status_2(run: Run, words: tuple[str, ...], message: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith(("effbatch-lint: ", "usage: effbatch-lint"))
    assert err.count("\n") < 20


# -- check: what is printed ----------------------------------------------------------------------------------------


def test_a_run_that_passes_prints_nothing(run: Run) -> None:
    assert run("check", "good.yaml") == (0, "", "")
    assert run("check", "good.yaml", "ci.yaml", "--output-format", "concise") == (0, "", "")
    assert run("check", "ci.yaml") == (0, "", "")


def test_text(run: Run) -> None:
    status, out, err = run("check", "wrong.yaml")
    assert (status, err) == (1, "")
    assert out.startswith("wrong.yaml:1:13: error[EB101] 65 sequences per optimizer step declared, 64 computed\n")
    assert out.splitlines()[-1].startswith("1 error in 1 recipe (1 recipe checked, 1 file read) in ")


def test_quiet_leaves_the_closing_line_out(run: Run) -> None:
    loud, quiet = run("check", "wrong.yaml")[1], run("check", "wrong.yaml", "-q")[1]
    assert loud.startswith(quiet)
    assert "in 1 recipe" not in quiet
    assert run("check", ".", "-q", "--target", "64")[1].endswith("page: effbatch-lint rule EB106\n")


def test_verbose_tells_what_was_read_as_what(run: Run, project: Path) -> None:
    (project / "ds.json").write_text(
        '{"train_batch_size": 8, // all\n "train_micro_batch_size_per_gpu": 1}\n', encoding="utf-8"
    )
    _, out, _ = run("check", "good.yaml", "ci.yaml", "ds.json", "-v")
    assert "good.yaml: read as nanotron\n" in out
    assert "ci.yaml: not a training config: none of the frameworks' keys\n" in out
    assert "ds.json: read as deepspeed\n" in out
    assert "ds.json: holds comments, which strict JSON forbids\n" in out
    assert "no findings (2 recipes checked, " in out


def test_concise_is_one_line_for_each_finding(run: Run) -> None:
    _, out, _ = run("check", "wrong.yaml", "missing.yaml", "--output-format", "concise")
    assert out.splitlines() == [
        "missing.yaml:1:1: error[EB901] the file cannot be opened: No such file or directory",
        "wrong.yaml:1:13: error[EB101] 65 sequences per optimizer step declared, 64 computed",
    ]


def test_json(run: Run) -> None:
    _, out, _ = run("check", "wrong.yaml", "ci.yaml", "--output-format", "json")
    found = json.loads(out)
    assert (found["version"], found["tool"]) == (1, f"effbatch-lint {__version__}")
    assert [(f["code"], f["severity"], f["primary"]["line"], f["primary"]["column"]) for f in found["findings"]] == [
        ("EB101", "error", 1, 13)
    ]
    assert (found["summary"]["errors"], found["summary"]["warnings"], found["summary"]["recipes"]) == (1, 0, 1)
    assert [unread["path"] for unread in found["unread"]] == ["ci.yaml"]


def test_a_folder_says_what_it_did(run: Run, project: Path) -> None:
    (project / "wrong.yaml").unlink()
    _, out, _ = run("check", ".")
    assert out.startswith("no findings (1 recipe checked, ")
    (project / "good.yaml").unlink()
    assert run("check", ".")[1] == "no training config among 2 files\n"


def test_notes_are_shown_when_they_are_asked_for(run: Run, project: Path) -> None:
    (project / "x.yaml").write_text(GOOD.replace("micro_batch_size: 2", "micro_batch_size: '${bs}'"), encoding="utf-8")
    assert "EB903" not in run("check", "x.yaml")[1]
    assert "info[EB903]" in run("check", "x.yaml", "-v")[1]
    status, out, _ = run("check", "x.yaml", "--fail-on", "info", "--output-format", "concise")
    assert status == 1
    assert "info[EB903]" in out


@pytest.mark.parametrize(("fail_on", "status"), [("error", 0), ("warning", 1), ("info", 1)])
def test_the_least_severity_that_fails(run: Run, project: Path, fail_on: str, status: int) -> None:
    (project / "x.yaml").write_text(
        GOOD.replace("{micro_batch_size: 2,", "{micro_batch_size: 1, micro_batch_size: 2,"), encoding="utf-8"
    )
    assert run("check", "x.yaml", "--fail-on", fail_on)[0] == status
    assert "warning[EB307]" in run("check", "x.yaml")[1]


@pytest.mark.parametrize(
    ("target", "codes"),
    [
        ("64", []), ("64 sequences", []), ("64 sequence", []), ("64k tokens", []), ("65,536 tokens", []), ("65_536 tokens", []), ("0.066M tokens", []),
        ("65", ["EB106", "EB101"]), ("128", ["EB106", "EB102"]), ("1M tokens", ["EB103"]), ("64 tokens", ["EB105"]), ("65536", ["EB106", "EB105"]),
        ("64 seconds", ["EB104"]),
    ],
)  # fmt: skip
def test_ways_to_give_a_target(run: Run, target: str, codes: list[str]) -> None:
    _, out, _ = run("check", "good.yaml", "--target", target, "--output-format", "json")
    assert [finding["code"] for finding in json.loads(out)["findings"]] == codes


# -- explain -------------------------------------------------------------------------------------------------------


def test_explain(run: Run) -> None:
    status, out, err = run("explain", "good.yaml")
    assert (status, err) == (0, "")
    assert [line.split()[:3] for line in out.splitlines() if line.startswith(("=", "x", "  micro"))] == [
        ["micro", "batch", "2"],
        ["x", "accumulation", "4"],
        ["x", "replicas", "8"],
        ["=", "effective", "batch"],
        ["x", "sequence", "length"],
        ["=", "tokens", "per"],
    ]
    assert "65,536" in out
    assert "good.yaml:2" in out


def test_explain_at_several_sizes(run: Run, project: Path) -> None:
    (project / "effbatch.toml").write_text("[custom]\nmicro-batch = 'train.bs'\n", encoding="utf-8")
    _, out, _ = run("explain", "ours.yaml", "--world-size", "8, 64", "--output-format", "json")
    found = json.loads(out)["recipes"]
    assert [(recipe["name"], recipe["batches"][0]["effective_batch"]) for recipe in found] == [
        ("ours.yaml @ 8", 32),
        ("ours.yaml @ 64", 256),
    ]
    _, out, _ = run("explain", "ours.yaml")
    assert "give --world-size N, or write  # effbatch: world-size=N" in out
    assert [line.split() for line in out.splitlines() if line.startswith("=")] == [
        ["=", "per", "replica", "4", "sequences", "per", "optimizer", "step"]
    ]


def test_explain_of_what_is_no_recipe_says_so_and_fails_on_what_cannot_be_read(run: Run, project: Path) -> None:
    status, out, err = run("explain", "ci.yaml")
    assert (status, out) == (0, "")
    assert err == "effbatch-lint: ci.yaml: not a training config: none of the frameworks' keys\n"
    (project / "broken.yaml").write_text(GOOD + "x: [\n", encoding="utf-8")
    status, out, err = run("explain", "broken.yaml", "good.yaml")
    assert status == 2
    assert "good.yaml" in out
    assert err.startswith("effbatch-lint: broken.yaml:5:1: not valid YAML")


def test_overrides_and_environment(run: Run) -> None:
    _, out, _ = run(
        "explain",
        "good.yaml",
        "--override",
        "parallelism.dp=4",
        "--override",
        "tokens.micro_batch_size=3",
        "--output-format",
        "json",
    )
    (recipe,) = json.loads(out)["recipes"]
    assert recipe["overrides"] == ["parallelism.dp=4", "tokens.micro_batch_size=3"]
    assert recipe["batches"][0]["effective_batch"] == 4 * 3 * 4
    _, out, _ = run("explain", "good.yaml", "--override", "parallelism.dp=4")
    assert "--override parallelism.dp=4, overrides good.yaml:3" in out


# -- calc, rule, frameworks, help ----------------------------------------------------------------------------------


def test_calc(run: Run) -> None:
    status, out, err = run(
        "calc", "--micro-batch", "8", "--replicas", "64", "--accumulation", "4", "--sequence-length", "4096"
    )
    assert (status, err) == (0, "")
    assert "= effective batch      2,048   sequences per optimizer step\n" in out
    assert "= tokens per step  8,388,608\n" in out
    _, out, _ = run("calc", "--micro-batch", "8", "--replicas", "64", "--accumulation", "8")
    assert "4,096   sequences per optimizer step" in out
    _, out, _ = run(
        "calc",
        "--micro-batch",
        "1_0",
        "--world-size",
        "6,400",
        "--tensor-parallel",
        "4",
        "--pipeline-parallel",
        "2",
        "--context-parallel",
        "2",
    )
    assert "6,400 devices / 4 tensor / 2 pipeline / 2 context" in out
    assert "4,000   sequences per optimizer step" in out


def test_rule(run: Run) -> None:
    _, out, _ = run("rule")
    assert [line.split()[0] for line in out.splitlines()] == sorted(line.split()[0] for line in out.splitlines())
    assert "EB308  follows-machine          off" in out
    for name in ("EB102", "eb102", "model-parallel-counted"):
        assert run("rule", name)[1].startswith(
            "EB102 model-parallel-counted (error)\n\nModel-parallel devices were counted as replicas.\n"
        )


def test_frameworks(run: Run) -> None:
    _, out, _ = run("frameworks")
    assert any(line.startswith("nanotron ") for line in out.splitlines())
    _, out, _ = run("frameworks", "nanotron")
    assert out.startswith("nanotron\n")
    assert "recognised by   batch_accumulation_per_replica\n" in out
    assert run("frameworks", "megatron-lm")[0] == 0


@pytest.mark.parametrize("command", ["check", "explain", "calc", "rule", "frameworks"])
def test_help(run: Run, command: str) -> None:
    status, out, err = run(command, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: effbatch-lint {command} ")


def test_the_whole_help_and_the_version(run: Run) -> None:
    status, out, _ = run("--help")
    assert status == 0
    assert all(f"\n    {name}" in out for name in arguments.COMMANDS)
    assert "exit status of check" in out
    assert run("--version") == (0, f"effbatch-lint {__version__}\n", "")
    assert set(arguments.COMMANDS) == set(cli.COMMANDS)


# -- where it is written, in which colours -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [("check", "wrong.yaml", "-q"), ("check", "wrong.yaml", "--output-format", "concise"), ("explain", "good.yaml"), ("explain", "good.yaml", "--output-format", "json")]
)  # fmt: skip
def test_an_output_file_holds_what_would_be_printed(run: Run, project: Path, words: tuple[str, ...]) -> None:
    status, printed, _ = run(*words)
    assert run(*words, "--output-file", "out.txt") == (status, "", "")
    assert (project / "out.txt").read_text(encoding="utf-8") == printed
    assert "\x1b" not in (project / "out.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("choice", "environment", "coloured"),
    [
        (None, {}, False),
        ("always", {}, True),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        (None, {"FORCE_COLOR": "1"}, True),
        (None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (None, {"FORCE_COLOR": ""}, False),
        (None, {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
)
def test_colours(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    choice: str | None,
    environment: dict[str, str],
    coloured: bool,  # noqa: FBT001
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    words = () if choice is None else ("--color", choice)
    for command in (
        ("check", "wrong.yaml"),
        ("check", "wrong.yaml", "--output-format", "concise"),
        ("explain", "good.yaml"),
    ):
        assert ("\x1b[" in run(*command, *words)[1]) == coloured
    assert "\x1b" not in run("check", "wrong.yaml", "--output-format", "json", *words)[1]


def test_the_words_are_the_same_with_colours_and_without(run: Run) -> None:
    plain, coloured = run("check", "wrong.yaml", "-q")[1], run("check", "wrong.yaml", "-q", "--color", "always")[1]
    for sequence in ("\x1b[1m", "\x1b[0m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1;32m"):
        coloured = coloured.replace(sequence, "")
    assert coloured == plain


@pytest.mark.parametrize(("terminal", "coloured"), [("xterm", True), ("dumb", False)])
def test_a_terminal_is_coloured(terminal: str, coloured: bool) -> None:  # noqa: FBT001
    ours, theirs = pty.openpty()
    process = subprocess.run(
        [sys.executable, "-m", "effbatch_lint", "check", "wrong.yaml"],
        env={"PYTHONPATH": str(ROOT), "TERM": terminal},
        stdout=theirs,
        check=False,
    )
    os.close(theirs)
    out = os.read(ours, 100_000).decode()
    os.close(ours)
    assert process.returncode == 1
    assert ("\x1b[" in out) == coloured


# -- as a process --------------------------------------------------------------------------------------------------


def test_the_module_is_the_command() -> None:
    done = tool("check", "wrong.yaml", "--output-format", "concise")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("wrong.yaml:1:13: error[EB101] ")


def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    for number in range(400):
        (project / f"w{number}.yaml").write_text(WRONG, encoding="utf-8")
    done = shell(f"{sys.executable} -m effbatch_lint check . | head -n 1")
    assert done.stderr == ""
    assert done.stdout.startswith("w0.yaml:1:13: error[EB101] ")


@pytest.mark.parametrize(("name", "status"), [("wrong.yaml", 1), ("good.yaml", 0), ("missing.yaml", 2)])
def test_what_was_found_stands_though_nobody_reads_it(name: str, status: int) -> None:
    pipe, ours = os.pipe()
    os.close(pipe)  # as `| head -0` may have, before a word is written
    process = subprocess.run(
        [sys.executable, "-m", "effbatch_lint", "check", name],
        env={"PYTHONPATH": str(ROOT)},
        stdout=ours,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(ours)
    assert (process.returncode, process.stderr) == (status, b"")


def test_a_file_of_several_spellings_is_checked_once(project: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (project / "link.yaml").symlink_to(project / "wrong.yaml")
    (project / "b").mkdir()
    for names in (
        ("./wrong.yaml", "wrong.yaml"),
        ("wrong.yaml", "link.yaml"),
        ("b/../wrong.yaml", str(project / "wrong.yaml")),
        ("link.yaml", "."),
    ):
        status, out, _ = run("check", "--output-format", "concise", *names)
        assert (status, out.count("error[EB101]")) == (1, 1)
    assert run("check", "--output-format", "concise", "link.yaml")[1].startswith("link.yaml:1:13: ")


def test_a_terminal_that_has_no_unicode(project: Path) -> None:
    (project / "é.yaml").write_text(WRONG + "# é 日本\n", encoding="utf-8")
    done = tool("check", "é.yaml", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "error[EB101]" in done.stdout


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = shell(f"cd {gone} && rmdir {gone} && {sys.executable} -m effbatch_lint check {tmp_path / 'good.yaml'}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_file_that_looks_like_two_frameworks(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "output_dir: o\nper_device_train_batch_size: 2\nbase_model: x\nmicro_batch_size: 2\ndatasets: [a]\n"
    )
    _, out, _ = run("check", "-v", "two.yaml", cwd=tmp_path)
    assert out.startswith(
        "two.yaml: read as axolotl, of which it holds more keys than of hf-trainer (--framework hf-trainer reads it so)\n"
    )
