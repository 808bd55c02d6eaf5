"""Whatever a file holds, the command line answers: a status, one line per finding, valid JSON; never an exception."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effbatch_lint import cli

CONFIGS: dict[str, str] = {
    "nanotron.yaml": """\
# effbatch: target=64 world-size=8 tokens=64k  # effbatch: ignore[EB305] old
tokens: &t
  micro_batch_size: 2
  batch_accumulation_per_replica: 4
  sequence_length: 1024
parallelism: {dp: 8, tp: 1, pp: 1}
effbatch: {target_global_batch: 64, world_size: [8, 16], unit: sequences}
other: *t
""",
    "trainer.yaml": """\
model_name_or_path: x
output_dir: out  # effective batch size = 64 on 8 GPUs
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
deepspeed: ds.json
max_seq_length: 1024
""",
    "ds.json": """\
{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, // per device
 "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 3, "x": "\\ud83d\\ude00"}}
""",
    "titan.toml": """\
# effbatch: target=64
[training]
local_batch_size = 2
global_batch_size = 64
seq_len = 1_024
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
[model]
flavor = "8B"
""",
}
PIECES = ["0", "-1", "1", "1e5", "010", "0x10", "1:30", ".inf", ".nan", "9999999999999999999999", "null", "~", "true", "'x'", '"8"', "''", "[]", "{}", "[1]", "${a.b}", "???", "*t", "&t", "!!int", "!x", "<<", ":", "-", "#", "//", "/*", "*/", ",", "\\", '"', "'", "[", "]", "{", "}", "=", "==", "[[", "]]", '"""', "'''", "é", "日本", "\u202e", "\x1b[31m", "\x07", "\u2028", "\ufeff", "effbatch:", "target=", "world-size=", "ignore[EB101]", "ignore-file[]", "unit=x", "micro_batch_size:", "parallelism:", "tokens:", "tp:", "deepspeed:", "train.yaml", "ds.json", "global_batch_size", "=", "tensor_parallel_degree", "=", "train_batch_size"]  # fmt: skip
JUNK = st.sampled_from([*PIECES, "\n", "\n  ", "  ", "\t", "\r\n", "\r", "\0", "---\n"]) | st.text(max_size=6)
EDITS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 30), JUNK), min_size=1, max_size=4)
COMMANDS = [
    ("check", "-v"),
    ("check", "--output-format", "concise", "--world-size", "8,16", "--target", "64", "--fail-on", "info"),
    ("check", "--output-format", "json", "--override", "tokens.micro_batch_size=[1,{a: '2"),
    ("explain",),
    ("explain", "--output-format", "json", "--world-size", "64"),
]


@pytest.fixture(autouse=True, scope="module")
def _project() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path(".git").mkdir()
        yield
        os.chdir(before)


def answers(name: str, content: bytes, command: tuple[str, ...]) -> None:
    for config, text in CONFIGS.items():
        Path(config).write_text(text, encoding="utf-8")
    Path(name).write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main((*command, name, "trainer.yaml"))
    assert status in (0, 1, 2)
    assert all(char.isprintable() or char == "\n" for char in out.getvalue() + err.getvalue())
    if "json" in command:
        assert json.loads(out.getvalue())["version"] == 1
    if "concise" in command:
        assert all(line.count("[EB") >= 1 for line in out.getvalue().splitlines())


@settings(max_examples=80)
@given(st.sampled_from(sorted(CONFIGS)), EDITS, st.sampled_from(COMMANDS))
def test_a_config_with_a_few_changes(name: str, edits: list[tuple[int, int, str]], command: tuple[str, ...]) -> None:
    text = CONFIGS[name]
    for at, length, junk in edits:
        start = at % (len(text) + 1)
        text = text[:start] + junk + text[start + length :]
    answers(name, text.encode("utf-8", "replace"), command)


@settings(max_examples=50)
@given(st.sampled_from(sorted(CONFIGS)), st.data(), st.sampled_from(COMMANDS))
def test_a_config_with_another_value(name: str, data: st.DataObject, command: tuple[str, ...]) -> None:
    """The keys stay: what a framework reads is of any kind."""
    lines = CONFIGS[name].split("\n")
    at = data.draw(st.sampled_from([n for n, line in enumerate(lines) if ": " in line or " = " in line]))
    separator = ": " if ": " in lines[at] else " = "
    head, _, tail = lines[at].rpartition(separator)
    value = data.draw(st.sampled_from(PIECES[:24]) | st.integers(-(10**6), 10**6).map(str))
    lines[at] = f"{head}{separator}{value}" + tail[len(tail.rstrip("},")) :]
    answers(name, "\n".join(lines).encode(), command)


@settings(max_examples=50)
@given(
    st.sampled_from(sorted(CONFIGS)),
    st.binary(max_size=40),
    st.integers(0, 400),
    st.sampled_from(COMMANDS),
)
def test_random_bytes_in_a_config(name: str, junk: bytes, at: int, command: tuple[str, ...]) -> None:
    content = CONFIGS[name].encode()
    answers(name, content[:at] + junk + content[at:], command)
    answers(name, junk, command)


@settings(max_examples=30)
@given(st.lists(JUNK, max_size=12).map("".join))
def test_random_settings(text: str) -> None:
    if "\0" in text:
        return
    Path("effbatch.toml").write_text(text, encoding="utf-8", errors="replace")
    try:
        answers("nanotron.yaml", CONFIGS["nanotron.yaml"].encode(), ("check",))
    finally:
        Path("effbatch.toml").unlink()
