"""Bytes to text, and what is refused before any of it is read."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effbatch_lint import source
from effbatch_lint.files import Files
from effbatch_lint.source import MAX_BYTES, MAX_PARSED, Unreadable, decode, display, inside, read_bytes


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a: 1\n", "a: 1\n"),
        ("é: 日本 😀\n".encode(), "é: 日本 😀\n"),
        (b"\xef\xbb\xbfa: 1\n", "a: 1\n"),
        ("a: é\n".encode("utf-16"), "a: é\n"),
        (b"\xfe\xff" + "a: é\n".encode("utf-16-be"), "a: é\n"),
        (b"a: 1\r\nb: 2\r\n", "a: 1\r\nb: 2\r\n"),
        (b"a: 1\rb: 2\r\r\nc: 3\r", "a: 1\nb: 2\n\r\nc: 3\n"),
        (b"", ""),
    ],
    ids=["ascii", "utf-8", "mark", "utf-16", "utf-16-be", "CRLF", "CR alone", "empty"],
)
def test_text(data: bytes, text: str) -> None:
    assert decode(data, "conf.yaml") == text


@pytest.mark.parametrize(
    ("data", "line", "column", "reason"),
    [
        (b"a: 1\nb: \xff\n", 2, 4, "byte 0xff: the text is not UTF-8"),
        ("é: ".encode() + b"\xe9\n", 1, 4, "byte 0xe9: the text is not UTF-8"),
        (b"\xff\xfea\0\n\0b\0c", 2, 2, "the text is not UTF-16"),
        (b"a: 1\n\nb:\0", 3, 3, "a NUL character: this is no text file"),
        (b"\0", 1, 1, "a NUL character: this is no text file"),
        ("é\0".encode(), 1, 2, "a NUL character: this is no text file"),
        (b"\xed\xa0\xbd", 1, 1, "byte 0xed: the text is not UTF-8"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, line: int, column: int, reason: str) -> None:
    with pytest.raises(Unreadable) as refused:
        decode(data, "conf.yaml")
    assert (refused.value.span.line, refused.value.span.column) == (line, column)
    assert reason in refused.value.reason
    assert refused.value.limit


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_refused_at_a_place(data: bytes) -> None:
    try:
        assert isinstance(decode(data, "x"), str)
    except Unreadable as error:
        found = error
    else:
        return
    assert found.span.line <= data.count(b"\n") + 1


def refused(path: Path, *roots: Path) -> str:
    project = Files(*map(str, roots or ["/"]), base=os.path.abspath(path.parent))
    with pytest.raises(Unreadable) as error:
        project.content(str(path))
    assert error.value.span.path == path.name
    return error.value.reason


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "s.yaml"))
    started = time.monotonic()
    assert refused(tmp_path / "pipe.yaml") == "not a regular file (a pipe, device or socket), and is not read"
    assert refused(tmp_path / "folder.yaml") == "a directory, not a file"
    assert refused(Path("/dev/zero")) == "not a regular file (a pipe, device or socket), and is not read"
    assert "cannot be opened" in refused(tmp_path / "s.yaml")
    assert refused(tmp_path / "missing.yaml") == "the file cannot be opened: No such file or directory"
    assert refused(tmp_path / "x\0y.yaml") == "the file cannot be opened: there is a NUL in its name"
    assert refused(tmp_path / "x\0y.yaml", tmp_path) == "the file cannot be opened: there is a NUL in its name"
    assert time.monotonic() - started < 2
    listening.close()


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    assert refused(tmp_path / "x.yaml") == "the file cannot be opened: Permission denied"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    started = time.process_time()
    assert refused(path) == f"the file is 50,000,000 bytes large, over the limit of {MAX_BYTES:,} bytes"
    assert time.process_time() - started < 0.5


def test_a_link_is_followed_inside_the_project_and_not_out_of_it(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "x.yaml").write_text("a: 1", encoding="utf-8")
    (project / "y.yaml").write_text("b: 1", encoding="utf-8")
    (project / "out.yaml").symlink_to(outside / "x.yaml")
    (project / "in.yaml").symlink_to(project / "y.yaml")
    (project / "folder").symlink_to(outside)
    (project / "loop.yaml").symlink_to(project / "loop.yaml")
    assert Files(str(project)).content(str(project / "in.yaml")) == b"b: 1"
    for name in ("out.yaml", "folder/x.yaml", "../outside/x.yaml"):
        assert refused(project / name, project) == "the file lies outside the project, and is not read"
    assert refused(project / "loop.yaml", project).startswith("the file cannot be opened: ")
    assert Files(str(project), str(outside)).content(str(project / "out.yaml")) == b"a: 1"
    assert read_bytes(str(project / "out.yaml"), shown="out.yaml") == b"a: 1"


def test_a_folder_whose_name_starts_alike_is_not_inside() -> None:
    assert inside("/a/b", ("/a",))
    assert inside("/a", ("/a",))
    assert not inside("/ab", ("/a",))
    assert inside("/a", ("/",))


def test_display() -> None:
    assert display("/p/conf/x.yaml", "/p") == "conf/x.yaml"
    assert display("/q/x.yaml", "/p") == "/q/x.yaml"
    assert display("/p/../p/x.yaml", "/p") == "x.yaml"
    assert display("/x.yaml", "/") == "x.yaml"


def test_lines_of_a_source() -> None:
    text = source.Source("x", "/x", "a\r\nb\n\nc")
    assert [text.line(number) for number in range(6)] == ["", "a", "b", "", "c", ""]


# -- the files of a call -------------------------------------------------------------------------------------------


def test_a_file_is_read_once_and_refused_alike_each_time(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("a: 1\n", encoding="utf-8")
    bad.write_text("a: [\n", encoding="utf-8")
    files = Files(str(tmp_path), base=str(tmp_path))
    assert files.document(str(good)) is files.document(str(good))
    errors = []
    for _ in range(2):
        with pytest.raises(Unreadable) as error:
            files.document(str(bad))
        errors.append(error.value)
    assert errors[0] is errors[1]
    assert files.read == 2
    assert [document.source.path for document in files.documents] == ["good.yaml"]


def test_lines_of_files_for_a_snippet(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_bytes(b"a: 1\rb: 2\r\n")
    (tmp_path / "bad.yaml").write_bytes(b"\xef\xbb\xbfa: [\n")
    (tmp_path / "wide.yaml").write_bytes("a: [\n".encode("utf-16"))
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9 x\n")
    files = Files(str(tmp_path), base=str(tmp_path))
    for name in ("good.yaml", "bad.yaml", "wide.yaml", "latin.yaml"):
        try:
            files.document(str(tmp_path / name))
        except Unreadable:
            continue
    assert [files.line("good.yaml", number) for number in (0, 1, 2, 3)] == ["", "a: 1", "b: 2", ""]
    assert files.line("bad.yaml", 1) == "a: ["
    assert files.line("wide.yaml", 1) == "a: ["
    assert files.line("latin.yaml", 1) == "a: \ufffd x"
    assert files.line("unknown.yaml", 1) == ""


def test_a_file_of_no_known_ending_and_one_too_large_to_parse(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a: 1", encoding="utf-8")
    (tmp_path / "x.yaml").write_text("a: " + "x" * MAX_PARSED, encoding="utf-8")
    files = Files(str(tmp_path))
    with pytest.raises(Unreadable, match="not a YAML, JSON, TOML or shell file"):
        files.document(str(tmp_path / "x.txt"))
    with pytest.raises(Unreadable, match=f"over the limit of {MAX_PARSED:,} bytes for a config"):
        files.document(str(tmp_path / "x.yaml"))


def test_what_was_found_in_a_folder_is_passed_over_quietly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "out.yaml").symlink_to("/etc/hostname")
    files = Files(str(tmp_path))
    assert files.quietly(str(tmp_path / "pipe.yaml")) is None
    assert files.quietly(str(tmp_path / "missing.yaml")) is None
    with pytest.raises(Unreadable, match="outside the project"):
        files.quietly(str(tmp_path / "out.yaml"))
