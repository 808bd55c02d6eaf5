"""The way of the data has one direction: each module imports from earlier stages, and only the command line speaks."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT

from effbatch_lint.frameworks import table

PACKAGE = ROOT / "effbatch_lint"

# From the first to the last; a name with a dot is one module, any other a module or a whole folder. A module imports from
# earlier stages and from its own folder, not from its neighbours in the stage. Imports for types only are free.
STAGES = (
    ("source", "terms", "findings", "call", "nearest", "targets.quantity"),
    ("batch", "launch", "recipe", "diagnosis", "expression", "suppress", "targets.target", "starters"),
    ("documents",),
    ("files", "discovery"),
    ("compose",),
    ("companions", "launch_checks", "project", "project.roots", "project.naming"),
    ("launchers", "frameworks"),
    ("targets", "project.launched"),
    ("project.candidates",),
    ("project.one_run", "project.hydra_runs", "project.dependents", "project.recipes", "project.primary"),
    ("project.scripts", "project.trees"),
    ("project.reading",),
    ("project.parts", "project.described"),
    ("project.assembly",),
    ("rules",),
    ("settings", "report"),
    ("engine",),
    ("arguments", "calculator"),
    ("verification",),
    ("cli",),
    ("__main__",),
)


class Import(NamedTuple):
    module: str
    line: int
    names: str
    for_types: bool


def modules() -> dict[str, Path]:
    """Every module by its dotted name within the package."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


MODULES = modules()
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imports(name: str) -> Iterator[Import]:
    """What a module imports, wherever in it the import stands."""

    def walk(node: ast.AST, *, for_types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            types = for_types or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child.lineno, alias.name, types) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                for alias in child.names:
                    full = f"{base}.{alias.name}"
                    inner = full.removeprefix("effbatch_lint.") in MODULES
                    yield Import(full if inner else base, child.lineno, alias.name, types)
            yield from walk(child, for_types=types)

    yield from walk(TREES[name], for_types=False)


IMPORTS = {name: list(imports(name)) for name in MODULES}


def own(module: str) -> str | None:
    """The name within the package; the empty one is the package itself."""
    if module == "effbatch_lint":
        return ""
    return module.removeprefix("effbatch_lint.") if module.startswith("effbatch_lint.") else None


def stage_of(name: str) -> tuple[int, str]:
    """The number of a module's stage and the folder or module that the stage names."""
    parts = name.split(".")
    for candidate in (name, ".".join(parts[:2]), parts[0]):
        for number, members in enumerate(STAGES):
            if candidate in members:
                return number, candidate
    raise AssertionError(f"effbatch_lint/{name.replace('.', '/')}.py: put it in its stage, in this test")


def test_imports_point_to_earlier_stages() -> None:
    wrong = []
    for name in MODULES:
        if name in ("", "__init__"):
            continue
        number, member = stage_of(name)
        for found in IMPORTS[name]:
            target = own(found.module)
            if target is None or found.for_types or (target, found.names) == ("", "__version__"):
                continue
            there, other = stage_of(target) if target else (len(STAGES), "the public API")
            if there >= number and other != member:
                wrong.append(f"{name}:{found.line} imports {target or other}, which comes later")
    assert wrong == []


def test_every_stage_has_its_modules() -> None:
    named = {stage_of(name)[1] for name in MODULES if name not in ("", "__init__")}
    assert {member for members in STAGES for member in members} == named


def test_frameworks_do_not_import_each_other() -> None:
    """What two of them share is a module of its own, in frameworks/parts/."""
    wrong = [
        f"{name}:{found.line} imports {target}"
        for name in MODULES
        if name.startswith("frameworks.") and name != "frameworks.table"
        for found in IMPORTS[name]
        for target in (own(found.module) or "",)
        if target.startswith("frameworks.") and not found.for_types
        if not target.startswith(("frameworks.parts", "frameworks.framework"))
    ]
    assert wrong == []
    assert {f"frameworks.{module}" for module, _ in table.TABLE} <= set(MODULES)


# -- only the command line speaks ----------------------------------------------------------------------------------


def names_used(name: str) -> set[str]:
    """Every name and dotted name in a module: ``print``, ``os.environ``, ``sys.exit``."""
    found = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.{node.attr}")
    return found


USED = {name: names_used(name) for name in MODULES}
SPEAKING = {"print", "input", "breakpoint", "exit", "quit", "sys.stdout", "sys.stderr", "sys.stdin", "sys.exit", "sys.argv", "os._exit", "os.abort",
            "os.environ", "os.getenv", "os.putenv", "logging", "warnings.warn"}  # fmt: skip
RUNNING = {"eval", "exec", "compile", "os.system", "os.popen", "os.execv", "os.spawnv", "yaml.load", "yaml.safe_load", "yaml.unsafe_load",
           "yaml.full_load", "pickle.load", "pickle.loads", "marshal.loads", "sys.path"}  # fmt: skip
REACHING_OUT = {"socket", "ssl", "http", "urllib", "ftplib", "requests", "pickle", "marshal", "ctypes", "multiprocessing", "asyncio", "hydra", "torch",
                "transformers", "shelve"}  # fmt: skip


def test_only_the_command_line_prints_exits_or_reads_the_environment() -> None:
    wrong = {name: used & SPEAKING for name, used in USED.items() if name not in ("cli", "__main__")}
    wrong["__init__"] -= {
        "warnings.warn"
    }  # explain() gives a list, and has no other place for a file that is in no recipe
    assert {name: used for name, used in wrong.items() if used} == {}


def test_nothing_of_a_project_runs() -> None:
    assert {name: used & RUNNING for name, used in USED.items() if used & RUNNING} == {}
    imported = {name: {found.module.split(".")[0] for found in IMPORTS[name]} for name in MODULES}
    assert {name: found & REACHING_OUT for name, found in imported.items() if found & REACHING_OUT} == {}
    # git, which lists the files of a folder
    assert [name for name, found in imported.items() if "subprocess" in found] == ["discovery"]


# -- start-up is the product ---------------------------------------------------------------------------------------

CONFIGS = {
    "x.yaml": "# effbatch: target=64 world-size=8\ntokens: {micro_batch_size: 2, batch_accumulation_per_replica: 4, sequence_length: 1024}\n"
    "parallelism: {dp: 8, tp: 1, pp: 1}\n",
    "x.json": '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 1}}\n',
    "x.toml": '[model]\nflavor = "8B"\n[training]\nlocal_batch_size = 2\nseq_len = 1024\n[parallelism]\ntensor_parallel_degree = 1\n',
}
HEAVY = {"asyncio", "ctypes", "dataclasses", "difflib", "email", "fractions", "hydra", "inspect", "logging", "multiprocessing", "omegaconf", "pathlib",
         "socket", "subprocess", "tempfile", "threading", "tree_sitter", "typing_extensions", "unittest", "urllib"}  # fmt: skip


RUN = """\
import sys
before = set(sys.modules)
from effbatch_lint.cli import main
status = main(sys.argv[1:])
print(status, *sorted(set(sys.modules) - before), file=sys.stderr)
"""


def imported_by(folder: Path, *words: str) -> set[str]:
    """The modules that a run of the tool imports, beyond those that the interpreter has at its start."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    status, *names = done.stderr.split()
    assert status == "0", done.stdout
    return set(names)


# A file that may be a part of a recipe elsewhere in the project: git lists where to look.
GIT = {"subprocess", "threading"}


@pytest.mark.parametrize(
    ("name", "none_of"),
    [
        ("x.yaml", HEAVY | {"json", "tomllib", "effbatch_lint.documents.json", "effbatch_lint.documents.toml"}),
        ("x.json", (HEAVY - GIT) | {"json", "tomllib", "yaml"}),
        ("x.toml", HEAVY | {"json", "yaml"}),
    ],
)
def test_what_a_run_on_one_file_does_not_import(tmp_path: Path, name: str, none_of: set[str]) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(CONFIGS[name], encoding="utf-8")
    found = imported_by(tmp_path, "check", name)
    assert found & none_of == set()
    frameworks = {module for module, _ in table.TABLE}
    loaded = {
        module.rpartition(".")[2] for module in found if module.startswith("effbatch_lint.frameworks.")
    } & frameworks
    assert 1 <= len(loaded) <= 4, "only frameworks whose words stand in the file are imported"


def test_what_a_run_on_one_script_does_not_import(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text(
        "torchrun --nproc_per_node 8 train.py --config x.yaml --gradient_accumulation_steps 4\n", encoding="utf-8"
    )
    (tmp_path / "x.yaml").write_text("{output_dir: o, per_device_train_batch_size: 2}\n", encoding="utf-8")
    found = imported_by(tmp_path, "check", "run.sh")
    assert "tree_sitter" in found
    # tree_sitter_bash imports importlib.resources, and with it half the standard library: only its extension is loaded.
    assert (
        found & ((HEAVY - {"tree_sitter"}) | {"tree_sitter_bash", "importlib.resources", "shutil", "tomllib"}) == set()
    )
    own = {name.removeprefix("effbatch_lint.") for name in found}
    assert own & {"hydra_runs", "launchers.manifest", "naming", "dependents", "targets.remarks.words"} == set()


def test_what_a_run_that_finds_nothing_does_not_import(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "x.yaml").write_text("name: ci\n", encoding="utf-8")
    found = imported_by(tmp_path, "check", "x.yaml")
    assert found & ((HEAVY - GIT) | {"json", "tomllib"}) == set()
    assert {module for module in found if module.startswith("effbatch_lint.rules.eb")} == set()


def test_the_package_alone_imports_nothing_of_its_own() -> None:
    code = "import sys, effbatch_lint; print(*(name for name in sys.modules if name.startswith('effbatch_lint')))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["effbatch_lint"]
