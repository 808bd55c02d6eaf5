"""A hostile tree is reported; nothing of it runs, and nothing outside the project is opened.

Each case is composed in a process of its own, in the project's folder and with it on the import path, under an audit
hook that writes down every file that is opened and every module that is imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import oracle
import pytest

MARK = "open({mark!r}, 'w').close()\n"

COMPOSE = """
import json, sys
opened, imported, ran = [], [], []
def watch(event, arguments):
    if event == "open":
        opened.append(str(arguments[0]))
    elif event == "import":
        imported.append(str(arguments[0]))
    elif event == "exec":
        ran.append(arguments[0].co_filename)
    elif event in ("os.system", "subprocess.Popen", "socket.connect"):
        ran.append("<" + event + ">")
from effbatch_lint.compose.config import Unresolved
from effbatch_lint.compose.config_store import stored
from effbatch_lint.compose.hydra import compose
from effbatch_lint.compose.user_resolvers import registered
from effbatch_lint.compose.values import plain
from effbatch_lint.files import Files
from effbatch_lint.source import Unreadable
import ast, fnmatch, warnings
from effbatch_lint.compose import arithmetic
from effbatch_lint.documents import yaml
sys.addaudithook(watch)
files = Files(".")
python = ["app.py", "evil.py"]
try:
    found = compose(files, ["conf"], *json.loads(sys.argv[1]), operations=registered(files, python), store=stored(files, python))
    value = found.config.value("value")
except Unreadable as error:
    out = {"code": error.code, "reason": str(error)}
else:
    out = {
        "value": None if isinstance(value, Unresolved) else value,
        "reason": value.reason if isinstance(value, Unresolved) else None,
        "notes": [note.message for note in found.notes],
    }
print(json.dumps({**out, "opened": opened, "imported": imported, "ran": ran}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with traps, and a secret beside it."""
    project = tmp_path / "project"
    mark = MARK.format(mark=str(tmp_path / "mark"))
    outside = tmp_path / "outside"
    oracle.write(outside, {"secret": "value: SECRET\n", "group/secret": "value: SECRET\n"})
    oracle.write(
        project,
        {
            "evil.py": mark,
            "app.py": f"{mark}from omegaconf import OmegaConf\nOmegaConf.register_new_resolver('run', lambda x: exec(x))\n",
            "hydra_plugins/trap/__init__.py": mark,
            "hydra_plugins/trap/plugin.py": mark,
            "conf/__init__.py": mark,
            "sitecustomize.py": mark,
            "conf/plain": "value: 1\n",
            "conf/structured": "hydra: {searchpath: ['structured://evil']}\nvalue: 1\n",
            "conf/package": "hydra: {searchpath: ['pkg://evil', 'pkg://conf']}\nvalue: 1\n",
            "conf/file": f"hydra: {{searchpath: ['file://{outside}', '{outside}', '../outside']}}\nvalue: 1\n",
            "conf/hidden": "hydra: {searchpath: ['pkg://evil']}\ndefaults: [{model: tiny}, _self_]\nvalue: ${model.size}\n",
            "conf/environment": "value: ${oc.env:EFFBATCH_TEST_SECRET}\n",
            "conf/environment-default": "value: ${oc.env:EFFBATCH_TEST_SECRET,3}\n",
            "conf/environment-list": "defaults: ['${oc.env:EFFBATCH_TEST_SECRET}']\nvalue: 1\n",
            "conf/eval": f"value: ${{eval:'{mark.strip().replace(chr(39), chr(34))}'}}\n",
            "conf/eval-import": "value: ${eval:'__import__(\"evil\")'}\n",
            "conf/own": "value: ${run:'import evil'}\n",
            "conf/target": "value: {_target_: evil.main}\n",
            "conf/absolute": f"defaults: ['/{outside}/secret']\n",
            "conf/above": "defaults: [../../outside/secret]\n",
            "conf/above-group": "defaults: [{group: ../../../outside/group/secret}]\n",
            "conf/optional-above": "defaults: [{optional ../../outside/group: secret}]\n",
            "conf/linked": "defaults: [link]\n",
            "conf/linked-folder": "defaults: [{away: secret}]\n",
            "conf/pipe": "defaults: [fifo]\n",
            "conf/tag": "value: !!python/object/apply:os.system ['touch mark']\n",
            "conf/bomb": "a: &a [x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"b{i}: &b{i} [{', '.join([f'*{chr(98) + str(i - 1) if i else chr(97)}'] * 9)}]\n" for i in range(9)),
            "conf/deep": "value: " + "[" * 5_000 + "]" * 5_000 + "\n",
            "conf/circle": "defaults: [circle]\n",
            "conf/wide": "defaults: [{w: a}]\n",
            **{f"conf/w/{name}": "defaults: [" + ", ".join(f"{below}@p{n}" for n in range(20) for below in after) + "]\n"
               for name, after in (("a", ["b"]), ("b", ["c"]), ("c", ["d"]), ("d", ["e"]))},
            "conf/w/e": "k: 1\n",
            "conf/digits": f"value: {'9' * 5_000}\n",
            "conf/sixty": f"value: 1{':59' * 100_000}\n",
            "conf/copies": "defaults: [" + ", ".join(["c0", *["c1", "c2", "c3", "c4"] * 20]) + "]\n",
            "conf/c0": "a: {x: 1}\nb: {y: 1}\n",
            "conf/c1": "a: {l: '${b}', r: '${b}'}\n",
            "conf/c2": "a: {l: {}, r: {}}\n",
            "conf/c3": "b: {l: '${a}', r: '${a}'}\n",
            "conf/c4": "b: {l: {}, r: {}}\n",
        },
    )  # fmt: skip
    (project / "conf" / "link.yaml").symlink_to(outside / "secret.yaml")
    (project / "conf" / "away").symlink_to(outside / "group")
    os.mkfifo(project / "conf" / "fifo.yaml")
    return project


def run(project: Path, primary: str, overrides: list[str]) -> dict[str, object]:
    environment = {
        **os.environ, "EFFBATCH_TEST_SECRET": "SECRET", "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(project / "conf")]),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", COMPOSE, json.dumps([primary, overrides])],
        cwd=project, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "SECRET" not in done.stdout.replace("EFFBATCH_TEST_SECRET", "")
    assert "Traceback" not in done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


CASES = [
    ("structured", [], "structured://evil is not a folder of the project, and is not read"),
    ("package", [], "pkg://evil is not a folder of the project, and is not read"),
    ("file", [], "is not a folder of the project, and is not read"),
    ("plain", ["hydra.searchpath=['structured://evil']"], "structured://evil is not a folder of the project"),
    ("hidden", [], "there is no file model/tiny.yaml; it may come from pkg://evil, which is not read"),
    ("environment", [], "EFFBATCH_TEST_SECRET is known only when the program runs"),
    ("environment-default", [], "EFFBATCH_TEST_SECRET is known only when the program runs"),
    ("environment-list", [], "EFFBATCH_TEST_SECRET is known only when the program runs"),
    ("eval", [], "more than plain arithmetic"),
    ("eval-import", [], "more than plain arithmetic"),
    ("own", [], "the resolver run gives no value"),
    ("plain", ["value='${eval:\"open(0)\"}'"], "more than plain arithmetic"),
    ("absolute", [], "lies outside the project, and is not read"),
    ("above", [], "lies outside the project, and is not read"),
    ("above-group", [], "lies outside the project, and is not read"),
    ("optional-above", [], "lies outside the project, and is not read"),
    ("linked", [], "lies outside the project, and is not read"),
    ("linked-folder", [], "lies outside the project, and is not read"),
    ("plain", ["+away=secret"], "lies outside the project, and is not read"),
    ("../../outside/secret", [], "lies outside the project, and is not read"),
    ("pipe", [], "Could not load 'fifo'"),
    ("bomb", [], "alias bomb"),
    ("deep", [], "nested deeper"),
    ("circle", [], "a cycle in the defaults lists: circle -> circle"),
    ("wide", [], "the defaults lists name more than 2,000 configs"),
    ("digits", [], "over the limit of 100"),
    ("sixty", [], "over the limit of 100"),
    ("copies", [], "references copy more than 100,000 values"),
    ("tag", [], None),
    ("target", [], None),
    ("plain", [], None),
]


@pytest.mark.parametrize(("primary", "overrides", "says"), CASES)
def test_nothing_runs_and_nothing_outside_is_opened(
    project: Path, primary: str, overrides: list[str], says: str | None
) -> None:
    found = run(project, primary, overrides)
    told = " ".join([str(found.get("reason") or ""), *map(str, found.get("notes") or [])])  # type: ignore[call-overload] # a list of texts
    assert says is None or says in told
    assert not (project.parent / "mark").exists()
    assert not (project / "mark").exists()
    opened = [os.path.realpath(project / str(path)) for path in found["opened"]]  # type: ignore[attr-defined] # a list of texts
    theirs = [path for path in opened if path.startswith(str(project.parent))]
    assert all(path.startswith(str(project / "conf")) or path.endswith(("app.py", "evil.py")) for path in theirs)
    assert not {"evil", "app", "conf", "hydra_plugins", "hydra", "omegaconf"} & set(found["imported"])  # type: ignore[call-overload] # a list of texts
    ran = [str(name) for name in found["ran"]]  # type: ignore[attr-defined] # a list of texts
    assert all(
        name.endswith(".py") and not name.startswith(str(project.parent)) for name in ran
    )  # the library's modules


def test_the_traps_are_armed(project: Path) -> None:
    """What the others would have done: Hydra itself runs the plug-in of the tree and imports its search path."""
    script = "import hydra\nwith hydra.initialize_config_dir(sys.argv[1], version_base='1.3'):\n    hydra.compose('structured')\n"
    subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path.insert(0, '.')\n{script}", str(project / "conf")],
        cwd=project, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (project.parent / "mark").exists()
