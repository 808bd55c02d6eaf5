"""Hostile files through the command line: one clear finding or a clean answer, and the other files are still checked."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from effbatch_lint.companions import Companions
from effbatch_lint.files import Files
from effbatch_lint.source import Unreadable

Run = Callable[..., tuple[int, str, str]]

GOOD = "tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 4, sequence_length: 1024}\nparallelism: {dp: 8, tp: 1, pp: 1}\n"
WRONG = "# effbatch: target=65\n" + GOOD
DEEPSPEED = '{{"train_micro_batch_size_per_gpu": {}, "gradient_accumulation_steps": 1, "zero_optimization": {{"stage": 1}}}}'.format


def nanotron(micro_batch: str) -> str:
    return GOOD.replace("micro_batch_size: 2", f"micro_batch_size: {micro_batch}")


def bomb(levels: int = 9, width: int = 9) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


# Name of the file: its content, the code of its one finding (None: a clean answer), and a part of the message.
TEXTS: dict[str, tuple[str | bytes, str | None, str]] = {
    "bomb.yaml": (GOOD + bomb(), "EB901", "aliases expand to more than the limit of 100,000 nodes"),
    "bomb-of-no-framework.yaml": (bomb(), "EB901", "aliases expand to more than the limit of 100,000 nodes"),
    "merge-bomb.yaml": (GOOD + "".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9) if n else ''}], k{n}: 1}}\n" for n in range(9)), "EB901", "alias bomb"),
    "deep-flow.yaml": (GOOD + "x: " + "[" * 10_000 + "]" * 10_000, "EB901", "nested deeper than the limit of 100 levels"),
    "deep-lists.yaml": (GOOD + "x:\n" + "- " * 10_000 + "a", "EB901", "nested deeper than the limit of 100 levels"),
    "deep-block.yaml": (GOOD + "".join(" " * n + "a:\n" for n in range(1_500)), "EB901", "nested deeper than the limit of 100 levels"),
    "deep-of-no-framework.yaml": ("[" * 10_000, "EB901", "nested deeper than the limit of 100 levels"),
    "deep.json": (DEEPSPEED("1")[:-1] + ', "x": ' + "[" * 10_000 + "]" * 10_000 + "}", "EB901", "nested deeper than the limit of 100 levels"),
    "deep-objects.json": ('{"a":' * 10_000, "EB901", "nested deeper than the limit of 100 levels"),
    "deep.toml": ("# batch_accumulation_per_replica\na = " + "[" * 10_000 + "]" * 10_000, "EB901", "nested deeper than the limit of 100 levels"),
    "deep-key.toml": ("# effbatch\n" + ".".join("a" * 200_000) + " = 1", "EB901", "nested deeper than the limit of 100 levels"),
    "deep-header.toml": ("[" + ".".join("a" * 200_000) + "]", "EB901", "nested deeper than the limit of 100 levels"),
    "digits.yaml": (nanotron("9" * 5_000), "EB901", "a number of 5,000 characters, over the limit of 100"),
    "digits.json": (DEEPSPEED("9" * 5_000), "EB901", "a number of 5,000 characters, over the limit of 100"),
    "digits.toml": (f"# effbatch: ignore-file[EB301]\nx = {'9' * 5_000}\n", "EB901", "a number of 5,000 characters, over the limit of 100"),
    "digits-elsewhere.yaml": (GOOD + f"seed: {'9' * 5_000}\n", None, ""),
    "digits-quoted.yaml": (nanotron("'" + "9" * 5_000 + "'"), None, ""),
    "digits-within.yaml": (nanotron("9" * 90), None, ""),
    "digits-hexadecimal.yaml": (nanotron("0x" + "f" * 90), None, ""),
    "digits-all.yaml": (GOOD.replace("1024", "7" * 90).replace(": 2", ": " + "9" * 90).replace(": 4", ": " + "8" * 90), None, ""),
    "base-60.yaml": (nanotron("1" + ":59" * 400), "EB901", "a number of 1,201 characters"),
    "base-60-within.yaml": (nanotron("1" + ":59" * 30), None, ""),
    "base-60-float.yaml": (nanotron("1" + ":59" * 30 + ".5"), None, ""),
    "infinite.yaml": (nanotron(".inf"), None, ""),
    "no-number.yaml": (nanotron(".nan"), None, ""),
    "latin-1.yaml": (GOOD.encode() + b"# caf\xe9\n", "EB901", "byte 0xe9: the text is not UTF-8"),
    "latin-1-of-no-framework.yaml": (b"name: caf\xe9\n", "EB901", "byte 0xe9: the text is not UTF-8"),
    "utf-16-cut.yaml": (b"\xff\xfe" + GOOD.encode("utf-16-le")[:-1], "EB901", "the text is not UTF-16"),
    "nul.yaml": (GOOD + "x: \0\n", "EB901", "a NUL character: this is no text file"),
    "nul.toml": ("x = 1 # effbatch \0\n", "EB901", "a NUL character: this is no text file"),
    "binary.json": (b"\x89PNG\r\n\x1a\n\0" + bytes(range(256)), "EB901", "byte 0x89: the text is not UTF-8"),
    "itself.yaml": (GOOD + "x: &x [*x]\n", "EB901", "an alias that contains itself"),
    "itself-merged.yaml": (GOOD + "x: &x\n  <<: *x\n", "EB901", "an alias that contains itself"),
    "large.yaml": (GOOD + "x: " + "y" * 2_000_000, "EB901", "over the limit of 2,000,000 bytes for a config"),
    "large-of-no-framework.json": ('{"vocab": "' + "y" * 3_000_000 + '"}', None, ""),
    "broken.yaml": (GOOD + "x: [\n", "EB901", "not valid YAML"),
    "broken.json": (DEEPSPEED("1")[:-2], "EB901", "not valid JSON"),
    "broken.toml": ("# batch_accumulation_per_replica\nx = \n", "EB901", "not valid TOML"),
    "broken-of-no-framework.yaml": ("{% if x %}\na: [\n", None, ""),
    "empty.yaml": ("", None, ""),
    "comment.yaml": ("# batch_accumulation_per_replica\n", None, ""),
    "text.yaml": ("batch_accumulation_per_replica", None, ""),
    "list.yaml": ("[batch_accumulation_per_replica]", None, ""),
    "one-line.yaml": ("{" + ", ".join(f"k{n}: {n}" for n in range(20_000)) + ", " + GOOD.replace("\n", ", ")[:-2] + "}", None, ""),
    "long-value.yaml": (nanotron("x" * 500_000), None, ""),
    "long-interpolation.yaml": (nanotron('"${' + "x" * 500_000 + '}"'), None, ""),
    "long-key.json": (DEEPSPEED("1")[:-1] + f', "{"k" * 500_000}": 1}}', None, ""),
    "documents.yaml": ("---\n" * 20_000 + GOOD, None, ""),
    "tags.yaml": (GOOD + "x: !!python/object/apply:os.system ['touch /tmp/effbatch-was-here']\n", None, ""),
    "wrong-kinds.yaml": ("tokens: {micro_batch_size: [1], batch_accumulation_per_replica: {a: 1}, sequence_length: null}\nparallelism: 3\n", None, ""),
    "lists-for-sections.yaml": ("tokens: [{micro_batch_size: 1}]\nbatch_accumulation_per_replica: 1\n", None, ""),
}  # fmt: skip


def write(folder: Path, name: str, content: str | bytes) -> None:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git project with a good config and a wrong one, entered."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    write(folder, "good.yaml", GOOD)
    write(folder, "wrong.yaml", WRONG)
    monkeypatch.chdir(folder)
    return folder


def checked(run: Run, name: str, code: str | None, message: str) -> None:
    """Every command and format: the hostile file gives its one finding or none, the wrong config beside it its own."""
    started = time.process_time()
    status, out, err = run("check", "--output-format", "json", "good.yaml", name, "wrong.yaml")
    found = json.loads(out)["findings"]
    mine = [finding for finding in found if finding["primary"]["path"] == name]
    assert [finding["code"] for finding in mine if finding["severity"] == "error"] == ([] if code is None else [code])
    assert all(message in finding["message"] for finding in mine if finding["code"] == code)
    assert [finding["code"] for finding in found if finding["primary"]["path"] == "wrong.yaml"] == ["EB101"]
    assert status in ((1,) if os.path.lexists(name) else (2,))
    assert not err
    for style in ("concise", "text"):
        status, out, err = run("check", "--output-format", style, name, "wrong.yaml")
        assert status in (1, 2)
        assert not err
        assert ("EB901" in out or "EB902" in out) == (code is not None)
        assert "wrong.yaml:1:13: error[EB101]" in out
        assert max(map(len, out.split("\n"))) < 500
    assert run("check", name)[0] == (0 if code is None else 1 if os.path.lexists(name) else 2)
    for style in ("text", "json"):
        status, out, err = run("explain", "--output-format", style, name, "good.yaml")
        assert status == (0 if code is None else 2)
        assert "good.yaml" in out
        assert ("effbatch-lint: " in err) == (code is not None)
        assert message in err or code is None
        if style == "json" and code is not None:
            assert [unread["path"] for unread in json.loads(out)["unread"]] == [name]
        assert max(map(len, out.split("\n"))) < 500 or style == "json"
    assert time.process_time() - started < 8


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text(project: Path, run: Run, name: str) -> None:
    content, code, message = TEXTS[name]
    write(project, name, content)
    checked(run, name, code, message)
    assert not Path("/tmp/effbatch-was-here").exists()  # noqa: S108 - what a hostile tag would touch


# -- what is no regular file ---------------------------------------------------------------------------------------


def _socket(path: Path) -> None:
    os.chdir(path.parent)
    socket.socket(socket.AF_UNIX).bind(path.name)


OTHERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder.yaml": (Path.mkdir, "a directory, not a file"),
    "pipe.yaml": (os.mkfifo, "not a regular file (a pipe, device or socket), and is not read"),
    "socket.yaml": (_socket, "the file cannot be opened"),
    "device.yaml": (lambda path: path.symlink_to("/dev/zero"), "the file lies outside the project, and is not read"),
    "link.yaml": (lambda path: path.symlink_to("/etc/hostname"), "the file lies outside the project, and is not read"),
    "dangling.yaml": (lambda path: path.symlink_to(path.parent / "gone.yaml"), "the file cannot be opened: No such file"),
    "loop.yaml": (lambda path: path.symlink_to(path), "the file cannot be opened: "),
    "missing.yaml": (lambda path: path, "the file cannot be opened: No such file or directory"),
    "fifty-megabytes.yaml": (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 50_000_000), "the file is 50,000,000 bytes large"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_regular_file(project: Path, run: Run, name: str) -> None:
    make, message = OTHERS[name]
    make(project / name)
    checked(run, name, "EB901", message)


def test_a_device_by_its_own_name(project: Path, run: Run) -> None:
    assert project.is_dir()
    checked(run, "/dev/zero", "EB901", "not a regular file (a pipe, device or socket), and is not read")


def test_a_file_in_a_folder_that_leads_out_of_the_project(project: Path, run: Run) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    write(outside, "x.yaml", GOOD)
    (project / "conf").symlink_to(outside)
    checked(run, "conf/x.yaml", "EB901", "the file lies outside the project, and is not read")


def test_a_file_that_may_not_be_read(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "secret.yaml", GOOD)
    opened = os.open

    def denied(path: Any, *further: Any, **options: Any) -> int:
        if str(path).endswith("secret.yaml"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *further, **options)

    monkeypatch.setattr(os, "open", denied)
    checked(run, "secret.yaml", "EB901", "the file cannot be opened: Permission denied")


def test_hostile_files_in_a_folder_that_is_checked_as_a_whole(project: Path, run: Run) -> None:
    for name in ("bomb.yaml", "deep.json", "latin-1.yaml", "digits.yaml", "broken.yaml"):
        write(project, name, TEXTS[name][0])
    for name in ("folder.yaml", "pipe.yaml", "dangling.yaml", "loop.yaml", "fifty-megabytes.yaml"):
        OTHERS[name][0](project / name)
    (project / ".git").rmdir()
    status, out, _ = run("check", "--output-format", "json", ".")
    found = [(finding["primary"]["path"], finding["code"]) for finding in json.loads(out)["findings"]]
    assert status == 1
    assert found == [
        ("bomb.yaml", "EB901"),
        ("broken.yaml", "EB901"),
        ("deep.json", "EB901"),
        ("digits.yaml", "EB901"),
        ("latin-1.yaml", "EB901"),
        ("wrong.yaml", "EB101"),
    ]


# -- files that name each other ------------------------------------------------------------------------------------

TRAINER = "per_device_train_batch_size: 1\ngradient_accumulation_steps: 1\noutput_dir: out\nlearning_rate: 0.1\ndeepspeed: {}\n".format


def follow(folder: Path, path: str, name: str) -> tuple[list[str], list[tuple[str, str]]]:
    read: list[str] = []
    companions = Companions(Files(str(folder)), str(folder / path), read)
    companions("deepspeed", name)
    return read, companions.missing


@pytest.mark.parametrize(
    ("files", "trail"),
    [
        ({"a.yaml": "a.yaml"}, "a.yaml -> a.yaml"),
        ({"a.yaml": "b.yaml", "b.yaml": "a.yaml"}, "a.yaml -> b.yaml -> a.yaml"),
        ({"a.yaml": "./sub/../b.yaml", "b.yaml": "c.yaml", "c.yaml": "b.yaml"}, "a.yaml -> b.yaml -> c.yaml -> b.yaml"),
    ],
)
def test_a_cycle_of_references(project: Path, run: Run, files: dict[str, str], trail: str) -> None:
    (project / "sub").mkdir()
    for name, named in files.items():
        write(project, name, TRAINER(named))
    with pytest.raises(Unreadable) as refused:
        follow(project, "a.yaml", files["a.yaml"])
    assert refused.value.code == "EB902"
    assert refused.value.reason == f"the files that deepspeed names form a cycle: {trail}"
    checked(run, "a.yaml", "EB902", f"the files that deepspeed names form a cycle: {trail}")


@pytest.mark.parametrize(
    "name",
    ["../outside.json", "/etc/hostname", "/dev/zero", "..", ".", "", "/", "~", "a\0b", "x" * 2_000, "a/../../outside.json", "${x}", "a\nb", "\x1b[2J", "link.json", "pipe.json"],
)  # fmt: skip
def test_a_file_that_leads_nowhere_is_named_as_missing(project: Path, name: str) -> None:
    write(project.parent, "outside.json", "{}")
    (project / "link.json").symlink_to(project.parent / "outside.json")
    os.mkfifo(project / "pipe.json")
    assert follow(project, "a.yaml", name) == ([], [("deepspeed", name)])


def test_a_companion_that_is_hostile(project: Path, run: Run) -> None:
    for name in ("deep.json", "broken.json", "latin-1.yaml"):
        write(project, name, TEXTS[name][0])
        write(project, "run.yaml", TRAINER(name))
        _, out, _ = run("check", "--output-format", "json", "run.yaml", "wrong.yaml")
        found = [(finding["primary"]["path"], finding["code"]) for finding in json.loads(out)["findings"]]
        assert found == [(name, "EB901"), ("wrong.yaml", "EB101")]


# -- what is printed -----------------------------------------------------------------------------------------------

ESCAPES = "\x1b[31m \x1b]0;x\x07 \x9b2J \u202e \u2028 \r \x00".replace("\x00", "\x7f")
QUOTED = json.dumps(ESCAPES)


@pytest.mark.parametrize(
    "text",
    [
        nanotron(QUOTED),
        nanotron(json.dumps("${" + ESCAPES + "}")),
        f"effbatch: {{{QUOTED}: 1, world_size: {QUOTED}, unit: {QUOTED}}}\n" + GOOD,
        f"# effbatch: target={ESCAPES.replace(chr(13), '')} x\x1b[2J\n" + GOOD,
        GOOD + f"? {QUOTED}\n: [\n",
        f"{QUOTED}: " + GOOD.replace("\n", ""),
        GOOD + 'tokens: {"micro_batch_size": "a\\nfoo.yaml:1:1: error[EB101] forged"}\n',
        TRAINER(QUOTED),
        TRAINER('"ds\\nfoo.yaml:1:1: error[EB101] forged.json"'),
    ],
)
def test_a_files_content_does_not_drive_the_terminal(project: Path, run: Run, text: str) -> None:
    write(project, "x.yaml", text.replace("\x7f", "").replace("\x9b", ""))
    for words in (
        ("check", "x.yaml", "-v"), ("check", "x.yaml", "--output-format", "concise", "--fail-on", "info"), ("check", "x.yaml", "--output-format", "json"),
        ("check", "x.yaml", "--target", "3"), ("explain", "x.yaml"), ("explain", "x.yaml", "--output-format", "json"),
    ):  # fmt: skip
        status, out, err = run(*words)
        assert status in (0, 1, 2)
        assert all(char.isprintable() or char == "\n" for char in out + err)
        assert "\nfoo.yaml:1:1" not in out + err


def test_a_file_name_does_not_drive_the_terminal(project: Path, run: Run) -> None:
    name = "\x1b[31m\u202e\nfoo.yaml"
    for text in (WRONG, "x: [\n# batch_accumulation_per_replica", "a: 1"):
        write(project, name, text)
        for words in (
            ("check", "-v"),
            ("check", "--output-format", "concise"),
            ("check", "--output-format", "json"),
            ("explain",),
        ):
            _, out, err = run(*words, name)
            assert all(char.isprintable() or char == "\n" for char in out + err)


def test_a_snippet_of_one_huge_line_is_cut_around_its_caret(project: Path, run: Run) -> None:
    line = "{" + ", ".join(f"k{n}: {n}" for n in range(20_000)) + ", " + GOOD.replace("\n", ", ")[:-2] + "}"
    write(project, "x.yaml", line)
    status, out, _ = run("check", "x.yaml", "--target", "65")
    assert status == 1
    assert "| ... " in out
    assert "tokens: {micro_batch_size: 2" in out
    assert max(map(len, out.split("\n"))) < 300


LAUNCH = "torchrun --nproc_per_node 2 train.py --output_dir o --per_device_train_batch_size 4\n"
STRING = '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 1}, "x": '
# Name of the file: what stands before many pieces, a piece, what stands behind them.
LONG = {
    "triple.json": (STRING + "'''", '"\\"', "'''} // effbatch: world-size=2\n"),
    "open.json": (STRING + '"', '\\"', " // effbatch: world-size=2\n"),
    "ignored.json": (STRING + "1}\n", "// effbatch: ignore[EB301] x\n", ""),
    "ignored.yaml": (GOOD, "# effbatch: ignore[EB301] x\n", ""),
    "trailing.yaml": (GOOD + "z:\n", "- 1 # effbatch: ignore[EB301] x\n", ""),
    "groups.sh": (
        LAUNCH + "x=",
        "aa",
        "\n[[ $x == +(a)+(a)+(a)b ]]\necho ${x//+(a)+(a)b/} ${x%%*a*a*a*b} ${x##*(a|aa)b}\n",
    ),
    "braces.sh": (LAUNCH + "echo ", "{a,b}", "\n"),
    "substituted.sh": (LAUNCH + "# effbatch: world-size=2\nx=$(", "\n,", ",)\n"),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_file_costs_no_more_than_its_length(project: Path, run: Run, name: str) -> None:
    before, piece, behind = LONG[name]
    write(project, name, before + piece * (12_000 if name.endswith((".yaml", ".json")) else 4_000) + behind)
    started = time.process_time()
    _, _, err = run("check", "--output-format", "concise", name)
    assert not err
    assert time.process_time() - started < 8


@pytest.mark.parametrize(("old", "new", "key"), [("size: 2", "size: -2", "micro_batch_size"), ("tp: 1", "tp: 0", "tp")])
def test_a_number_that_makes_no_batch_is_one_finding(project: Path, run: Run, old: str, new: str, key: str) -> None:
    write(project, "zero.yaml", GOOD.replace(old, new))
    status, out, err = run("check", "--output-format", "concise", "zero.yaml")
    assert (status, err) == (1, "")
    assert "EB304" in out
    assert key in out
    assert out.count("\n") == 1
