"""What is read from a project's Python files: resolvers that are plain arithmetic, nodes of the ConfigStore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import oracle
import pytest

from effbatch_lint.compose.config_store import stored
from effbatch_lint.compose.hydra import Composition, compose
from effbatch_lint.compose.user_resolvers import registered
from effbatch_lint.compose.values import plain
from effbatch_lint.files import Files
from effbatch_lint.source import Unreadable

RESOLVERS = """
import math
from omegaconf import OmegaConf

def half(x):
    "Half of it."
    return x // 2

def remote(x):
    import requests
    return requests.get(x)

OmegaConf.register_new_resolver("tokens", lambda batch, length: batch * length)
OmegaConf.register_new_resolver(name="up", resolver=lambda x, y: math.ceil(x / y))
OmegaConf.register_new_resolver("half", half, replace=True)
OmegaConf.register_new_resolver("remote", remote)
OmegaConf.register_new_resolver("sum", lambda x, y: x + y + 1)
OmegaConf.register_new_resolver("eval", eval)
OmegaConf.register_new_resolver("calculate", lambda text: eval(text))
OmegaConf.register_new_resolver("min", min)
OmegaConf.register_new_resolver("choose", lambda c, a, b: a if c else b)
OmegaConf.register_new_resolver("many", lambda *xs: xs[0])
OmegaConf.register_new_resolver("all", lambda *args: sum(args))
OmegaConf.register_new_resolver("most", lambda *args: max(args))
OmegaConf.register_new_resolver("least", lambda *args: min(*args))
OmegaConf.register_new_resolver("environment", lambda x: __import__("os").environ[x])
OmegaConf.register_new_resolver(NAME, lambda x: x)
"""


def write(folder: Path, text: str, **files: str) -> Files:
    oracle.write(folder, {"config": text, "app.py": files.pop("app", ""), **files})
    return Files(str(folder), base=str(folder))


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("tokens:8,4096", 32_768), ("up:7,2", 4), ("half:9", 4), ("sum:1,2", 4), ("eval:'2 * 3'", 6), ("calculate:'2 * 3'", 6), ("min:4,2", 2),
        ("min:4,2,1", 1), ("choose:true,1,2", 1), ("multiply:2,3", 6), ("int_div:9,2", 4), ("twice:4", 8),
        ("all:1,2,4", 7), ("all:3", 3), ("most:1,4,2", 4), ("least:4,2", 2),
    ],
)  # fmt: skip
def test_a_resolver_of_the_project(tmp_path: Path, call: str, value: int) -> None:
    files = write(tmp_path, f"a: ${{{call}}}\n", app=RESOLVERS)
    operations = registered(files, [str(tmp_path / "app.py")], {"int_div": "divide_floor", "twice": "lambda x: 2 * x"})
    assert compose(files, [str(tmp_path)], "config", operations=operations).config.integer("a").value == value


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("remote:'http://x'", "the project registers code for it"),
        ("tokens:8", "it takes 2 arguments, and 1 are given"),
        ("tokens:a,b", "TypeError"),
        ("half:x", "TypeError"),
        ("many:1", "its parameters are more than plain names"),
        ("environment:HOME", "more than plain arithmetic"),
        ("twice:1", "registers it twice, differently"),
        ("nobody:1", "known only when the program runs"),
    ],
)
def test_a_resolver_that_is_more_than_arithmetic(tmp_path: Path, call: str, reason: str) -> None:
    other = 'from omegaconf import OmegaConf as O\nO.register_new_resolver("twice", lambda x: 2 * x)\n'
    files = write(
        tmp_path,
        f"a: ${{{call}}}\n",
        app=RESOLVERS,
        **{"b.py": other, "c.py": other.replace("2 *", "x +"), "broken.py": "register_new_resolver("},
    )
    operations = registered(
        files, [str(tmp_path / name) for name in ("app.py", "b.py", "c.py", "broken.py", "absent.py")]
    )
    found = compose(files, [str(tmp_path)], "config", operations=operations).config.integer("a")
    assert found.value is None
    assert reason in (found.reason or "")


def test_the_settings_must_name_an_operation(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither one of"):
        registered(write(tmp_path, ""), [], {"x": "nope"})
    with pytest.raises(ValueError, match="no arithmetic"):
        registered(write(tmp_path, ""), [], {"x": "lambda"})


STORE = """
from dataclasses import dataclass, field
from typing import Any, List
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, II
from elsewhere import Base

DEFAULTS = [{"optim": "adam"}, "_self_"]

@dataclass
class Trainer:
    devices: int = 8
    nodes: int = MISSING
    accumulate: int = field(default=2)
    layers: List[int] = field(default_factory=lambda: [1, -2])
    tags: List[str] = field(default_factory=list)
    seed: int = compute_seed()

@dataclass
class LongTrainer(Trainer):
    accumulate: int = 16

@dataclass
class Config:
    defaults: List[Any] = field(default_factory=lambda: DEFAULTS)
    trainer: Trainer = field(default_factory=Trainer)
    batch: int = II("trainer.devices")
    required: int

@dataclass
class Further(Base):
    lr: float = 0.1

cs = ConfigStore.instance()
cs.store(name="primary", node=Config)
cs.store(group="trainer", name="long", node=LongTrainer)
cs.store(group="trainer", name="wide", node=LongTrainer(devices=64), package="_global_.t")
cs.store(group="optim", name="adam", node={"lr": 0.001, "betas": (0.9, 0.99)})
cs.store("sgd", Further, "optim")
cs.store(group="optim", name="made", node=make())
"""


def composed(folder: Path, primary: str, *overrides: str, text: str = "", app: str = STORE) -> Composition:
    files = write(folder, text, app=app)
    return compose(files, [str(folder)], primary, overrides, store=stored(files, [str(folder / "app.py")]))


def value(found: Composition, key: str) -> Any:
    return found.config.value(key)


def test_a_dataclass_and_its_defaults(tmp_path: Path) -> None:
    found = composed(tmp_path, "primary")
    assert [part.config_path for part in found.parts][-2:] == ["optim/adam", "primary"]
    assert value(found, "trainer.devices") == 8
    assert value(found, "batch") == 8
    assert value(found, "trainer.accumulate") == 2
    assert value(found, "trainer.layers.1") == -2
    assert value(found, "optim.lr") == 0.001
    assert found.config.files == ["app.py"]
    origin = found.config.origin("trainer.devices")
    assert origin is not None
    assert origin.span is not None
    assert origin.span.where == "app.py:12"
    assert (
        found.config.integer("trainer.nodes").reason == "trainer.nodes is ???, and has to be given on the command line"
    )
    assert found.config.integer("required").reason == "required is ???, and has to be given on the command line"
    assert found.config.integer("trainer.seed").reason == "app.py:17 computes it: compute_seed()"


def test_a_choice_of_the_store(tmp_path: Path) -> None:
    found = composed(
        tmp_path, "config", "trainer=long", "+optim=adam", "trainer.nodes=4", text="defaults: [{trainer: wide}]\n"
    )
    assert value(found, "trainer.accumulate") == 16
    assert value(found, "trainer.nodes") == 4
    assert value(composed(tmp_path, "config", text="defaults: [{trainer: wide}]\n"), "t.devices") == 64


def test_a_file_goes_onto_the_node_of_its_name(tmp_path: Path) -> None:
    app = STORE.replace('name="primary"', 'name="config"')
    found = composed(tmp_path, "config", text="defaults: [{optim: adam}]\ntrainer: {devices: 4}\n", app=app)
    assert value(found, "trainer.devices") == 4
    assert value(found, "trainer.accumulate") == 2


def test_what_is_not_seen_is_unknown_and_refuses_nothing(tmp_path: Path) -> None:
    text = "defaults: [{optim: sgd}, _self_]\nsteps: ${oc.select:optim.warmup,7}\n"
    found = composed(tmp_path, "config", "optim.momentum=0.9", text=text)
    assert value(found, "optim.lr") == 0.1
    assert value(found, "optim.momentum") == 0.9
    term = found.config.integer("optim.warmup", default=100)
    assert term.value is None
    assert term.reason == "optim.warmup is in no file: app.py:31: a base of Further is in another file"
    assert found.config.integer("steps").value is None
    made = composed(tmp_path, "config", "optim.x=1", text="defaults: [{optim: made}]\n")
    assert made.config.integer("optim.y", default=1).value is None


def test_names_that_are_computed_may_be_any(tmp_path: Path) -> None:
    app = STORE + "for name in names():\n    cs.store(name=name, node=Config)\n"
    found = composed(tmp_path, "config", "other.k=1", text="defaults: [{other: thing}]\n", app=app)
    assert "under names that are computed" in (found.config.integer("other.z").reason or "")
    with pytest.raises(Unreadable, match="Could not find 'other/thing'"):
        composed(tmp_path, "config", text="defaults: [{other: thing}]\n")


def test_without_a_store_a_missing_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"Could not find 'trainer/nope'. Available options in 'trainer': long, wide"):
        composed(tmp_path, "config", text="defaults: [{trainer: nope}]\n")


REAL = """
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, II

@dataclass
class Engine:
    tp: int = 1
    pp: int = 2
    extra: Dict[str, Any] = field(default_factory=dict)

@dataclass
class Run:
    defaults: List[Any] = field(default_factory=lambda: [{"eb_engine": "small"}, "_self_"])
    batch: int = MISSING
    steps: Optional[int] = None
    ref: int = II("batch")
    engine: Engine = field(default_factory=Engine)
    sizes: List[int] = field(default_factory=lambda: [1, 2])

ConfigStore.instance().store(name="eb_run", node=Run)
ConfigStore.instance().store(group="eb_engine", name="small", node=Engine)
ConfigStore.instance().store(group="eb_engine", name="large", node=Engine(tp=8), package="engine")
ConfigStore.instance().store(group="eb_engine", name="plain", node={"tp": 4, "more": {"a": 1}})
"""


@pytest.mark.parametrize("primary", ["eb_run", "over", "onto"])
@pytest.mark.parametrize(
    "overrides",
    [
        [], ["eb_engine=large"], ["eb_engine=plain"], ["batch=4"], ["engine.tp=2"], ["engine.nope=2"], ["eb_engine=nope"], ["+engine.extra.x=1"], ["~eb_engine"],
        ["sizes=[3]", "steps=5"], ["eb_engine.tp=3", "+new=1"],
    ],
)  # fmt: skip
def test_nodes_as_hydra_composes_them(tmp_path: Path, primary: str, overrides: list[str]) -> None:
    code = compile(REAL, "real.py", "exec", dont_inherit=True)
    exec(code, {"__name__": __name__})  # noqa: S102 - the test's own text: Hydra needs it registered
    files = {
        "over": "defaults: [eb_run, _self_]\nbatch: 8\nengine: {pp: 4}\n",
        "onto": "defaults: [{eb_engine: plain}]\n",
        "eb_engine/plain": "tp: 5\n",
    }
    oracle.write(tmp_path, {**files, "real.py": REAL})
    project = Files(str(tmp_path), base=str(tmp_path))
    try:
        found: Any = oracle.pairs(
            plain(
                compose(
                    project, [str(tmp_path)], primary, overrides, store=stored(project, [str(tmp_path / "real.py")])
                ).root
            )
        )
    except Unreadable:
        found = oracle.REFUSED
    assert found == oracle.theirs(tmp_path, primary, overrides)
