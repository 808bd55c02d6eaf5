"""Folders to files: as git lists them, else by walking; what the settings exclude, and what a run then reads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effbatch_lint import discovery
from effbatch_lint.discovery import excluded, files_below, matches

Run = Callable[..., tuple[int, str, str]]
NANOTRON = "tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 4, sequence_length: 8}\nparallelism: {dp: 8, tp: 1, pp: 1}\n"


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder, check=True, capture_output=True
    )


def write(folder: Path, *names: str, text: str = NANOTRON) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def below(folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path in files_below(str(folder))]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a hook git exports where its repository is; and the test folder is in none."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)


# -- with git ------------------------------------------------------------------------------------------------------


def test_what_git_ignores_is_not_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(
        tmp_path,
        "b.yaml",
        "a.yml",
        "conf/c.json",
        "conf/d.toml",
        "é è.YAML",
        "build/x.yaml",
        "deep/build/y.yaml",
        "keep/x.tmp.yaml",
    )
    write(tmp_path, "notes.md", "train.py", "script.sh", text="x")
    write(tmp_path, ".gitignore", text="build/\n*.tmp.yaml\n")
    write(tmp_path, "keep/.gitignore", text="!x.tmp.yaml\n")
    git(tmp_path, "add", "b.yaml", "conf")
    assert below(tmp_path) == sorted(
        ["a.yml", "b.yaml", "conf/c.json", "conf/d.toml", "keep/x.tmp.yaml", "script.sh", "é è.YAML"]
    )
    assert below(tmp_path / "conf") == ["c.json", "d.toml"]


def test_a_tracked_file_is_read_though_ignored_and_a_deleted_one_is_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "a.yaml", "b.yaml")
    git(tmp_path, "add", ".")
    write(tmp_path, ".gitignore", text="*.yaml\n")
    (tmp_path / "b.yaml").unlink()
    assert below(tmp_path) == ["a.yaml"]


def test_a_conflicted_file_is_listed_once(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, "a.yaml", text="a: 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "1")
    git(tmp_path, "checkout", "-qb", "other")
    write(tmp_path, "a.yaml", text="a: 2\n")
    git(tmp_path, "commit", "-qam", "2")
    git(tmp_path, "checkout", "-q", "main")
    write(tmp_path, "a.yaml", text="a: 3\n")
    git(tmp_path, "commit", "-qam", "3")
    with pytest.raises(subprocess.CalledProcessError):
        git(tmp_path, "merge", "other")
    assert below(tmp_path) == ["a.yaml"]


# -- without -------------------------------------------------------------------------------------------------------

TREE = (
    "b.yaml",
    "a/c.json",
    "a/.hidden.yaml",
    ".venv/x.yaml",
    "venv/x.yaml",
    "a/node_modules/x.json",
    ".github/x.yml",
    "a/site-packages/x.toml",
    "z.txt",
)


def test_a_folder_that_is_no_repository_is_walked(tmp_path: Path) -> None:
    write(tmp_path, *TREE)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert below(tmp_path) == ["a/.hidden.yaml", "a/c.json", "b.yaml"]


def test_without_git_installed_a_folder_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, *TREE)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert below(tmp_path) == ["a/.hidden.yaml", "a/c.json", "b.yaml"]


def test_git_that_fails_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *TREE)
    (tmp_path / ".git").write_text("gitdir: nowhere\n", encoding="utf-8")
    monkeypatch.setattr(discovery, "SKIPPED", frozenset())
    assert "venv/x.yaml" in below(tmp_path)


# -- exclusion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("old.yaml", ["old.yaml", "a/old.yaml", "old.yaml/x.yaml"], ["older.yaml", "a/old.yml"]),
        ("*.yaml", ["x.yaml", "a/b/x.yaml"], ["x.yml", "x.yaml.json"]),
        ("old/*.yaml", ["old/x.yaml", "old/a/x.yaml", "a/old/x.yaml"], ["old/x.json", "bold/x.yaml"]),
        (
            "third_party",
            ["third_party/x.yaml", "third_party/a/x.yaml", "a/third_party/x.yaml"],
            ["third_party2/x.yaml"],
        ),
        ("third_party/", ["third_party/x.yaml"], ["third_party.yaml"]),
        ("third_party/**", ["third_party/x.yaml", "third_party/a/b.json"], ["third_party.yaml"]),
        ("./third_party", ["third_party/x.yaml"], ["x.yaml"]),
        ("/third_party", ["third_party/x.yaml"], ["x.yaml"]),
        ("**/old/*.yaml", ["old/x.yaml", "a/b/old/x.yaml"], ["old.yaml"]),
        ("a/**/b.yaml", ["a/b.yaml", "a/x/b.yaml", "a/x/y/b.yaml"], ["b.yaml"]),
        ("a?.yaml", ["ab.yaml"], ["a.yaml", "abc.yaml"]),
        ("[ab].yaml", ["a.yaml", "x/b.yaml"], ["c.yaml"]),
        ("[", ["["], ["x"]),
        ("*", ["x", "a/x"], []),
    ],
)
def test_patterns(pattern: str, inside: list[str], outside: list[str]) -> None:
    assert [path for path in inside if not matches(path, pattern)] == []
    assert [path for path in outside if matches(path, pattern)] == []


@given(st.text("ab./*?[]", max_size=12), st.text("ab/.", min_size=1, max_size=8))
def test_any_pattern_is_a_pattern(pattern: str, path: str) -> None:
    assert isinstance(matches(path, pattern), bool)


def test_patterns_start_at_the_settings_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert excluded("x.yaml", str(tmp_path), ("a/*.yaml",))
    assert excluded(str(tmp_path / "a" / "x.yaml"), str(tmp_path), ("a",))
    assert not excluded("x.yaml", str(tmp_path), ("b",))


# -- a whole run ---------------------------------------------------------------------------------------------------


def recipes(run: Run, *argv: str, cwd: Path | None = None) -> list[str]:
    _, out, _ = run("explain", "--output-format", "json", *argv, cwd=cwd)
    return [recipe["path"] for recipe in json.loads(out)["recipes"]]


def test_no_path_means_the_project(tmp_path: Path, run: Run) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "b.yaml", "a/c.yaml", "ignored/x.yaml", "third_party/y.yaml")
    write(tmp_path, ".gitignore", text="ignored\n")
    write(tmp_path, "effbatch.toml", text="exclude = ['third_party']\n")
    assert recipes(run, cwd=tmp_path) == ["a/c.yaml", "b.yaml"]
    assert recipes(run, ".") == ["a/c.yaml", "b.yaml"]
    assert recipes(run, "a") == ["a/c.yaml"]
    assert recipes(run, cwd=tmp_path / "a") == ["c.yaml", str(tmp_path / "b.yaml")]


def test_a_path_that_is_named_and_found_is_read_once(tmp_path: Path, run: Run) -> None:
    write(tmp_path, "a/c.yaml", "b.yaml")
    assert recipes(run, "a/c.yaml", "a", "./a/c.yaml", "a/../b.yaml", cwd=tmp_path) == ["a/c.yaml", "b.yaml"]


def test_files_of_several_projects(tmp_path: Path, run: Run) -> None:
    write(tmp_path, "one/a.yaml", "two/b.yaml")
    assert recipes(run, "one/a.yaml", "two/b.yaml", cwd=tmp_path) == ["one/a.yaml", "two/b.yaml"]
    assert recipes(run, str(tmp_path / "two" / "b.yaml"), "a.yaml", cwd=tmp_path / "one") == [
        str(tmp_path / "two" / "b.yaml"),
        "a.yaml",
    ]


def test_a_folder_without_configs(tmp_path: Path, run: Run) -> None:
    write(tmp_path, "a.yaml", "b.json", text="{}")
    status, out, _ = run("check", ".", cwd=tmp_path)
    assert (status, out) == (0, "no training config among 2 files\n")
    assert run("check", ".", "--require-recipes")[0] == 3


def test_names_that_are_no_text(tmp_path: Path, run: Run) -> None:
    name = os.fsdecode(b"caf\xe9.yaml")
    (tmp_path / name).write_text(NANOTRON, encoding="utf-8")
    (tmp_path / "two\nlines.yaml").write_text(NANOTRON, encoding="utf-8")
    for words in (
        ("check", "."),
        ("check", ".", "-v"),
        ("explain", "."),
        ("check", "--target", "3", "--output-format", "concise", "."),
    ):
        status, out, _ = run(*words, cwd=tmp_path)
        assert status in (0, 1)
        assert "two\nlines" not in out
    status, out, _ = run("explain", ".", "--output-format", "json")
    assert out.isascii()
    assert [recipe["path"] for recipe in json.loads(out)["recipes"]] == [name, "two\nlines.yaml"]
    assert run("explain", ".", "--output-format", "json", "--output-file", "out.json")[0] == 0
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == json.loads(out)


@pytest.mark.parametrize("repository", [True, False])
def test_a_folder_named_from_here_gives_paths_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, repository: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "conf/deep/a.yaml", "conf/b.yaml", "c.yaml")
    if repository:
        git(tmp_path, "init", "-q")
    assert files_below("conf") == [os.path.join("conf", "b.yaml"), os.path.join("conf", "deep", "a.yaml")]
