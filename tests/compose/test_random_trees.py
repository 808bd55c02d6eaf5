"""Random trees: whatever Hydra makes of them, effbatch-lint makes the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import oracle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GROUPS = ["a", "b", "a/c"]
VALUES = [
    "1", "hi", "null", "???", "true", "1e-3", "010", "[]", "[1, 2]", "{}", "{p: 1}", "{p: {q: 2}}", "${k1}", "${k2.p}", "${.k1}", "${..k2}",
    "'${a.k1}'", "'${k3}${k1}'", "['${k1}']", "\\${z}", "${oc.select:k2.p,3}",
]  # fmt: skip


def rarely(usual: list[str], *rare: str) -> st.SearchStrategy[str]:
    """One of the usual texts nine times out of ten."""
    return st.sampled_from([*usual * (9 * len(rare) // len(usual)), *rare])


SECTION = st.fixed_dictionaries({}, optional={key: st.sampled_from(VALUES) for key in ("k1", "k2", "k3", "a", "b")})
NESTED = st.fixed_dictionaries(
    {},
    optional={
        key: st.dictionaries(st.sampled_from(["k1", "k2"]), st.sampled_from(VALUES), min_size=1) for key in ("k2", "a")
    },
)
PACKAGE = st.sampled_from(
    ["", "", "", "", "@_global_", "@_here_", "@p", "@p.q", "@_group_", "@_global_.z", "@_group_.w"]
)
OPTION = rarely(["x", "y"], "null", "???", "[x, y]", "[y]", "nope", "${a}", "${a}_${b}")
CHOICE = st.builds(
    "{}{}{}{}: {}".format,
    rarely([""], "optional ", "override "),
    rarely([""], "/"),
    st.sampled_from(GROUPS),
    PACKAGE,
    OPTION,
)
BY_PATH = st.builds("{}{}".format, rarely(["/base", "/a/x", "/b/y", "/a/c/x"], "x", "nope"), PACKAGE)
ITEM = st.one_of(CHOICE, CHOICE, CHOICE, BY_PATH, st.just("_self_"), st.just("override /hydra/job_logging: none"))
HEADER = st.sampled_from(
    ["", "", "", "# @package _global_\n", "# @package p\n", "# @package _group_\n", "# @package p.q\n"]
)


@st.composite
def files(draw: st.DrawFn, *, items: int) -> str:
    """A config: a header, a defaults list with overrides last as a rule, and values."""
    listed = draw(st.lists(ITEM, max_size=items, unique=True))
    listed.sort(key=lambda item: item.startswith("override"))
    lines = ["defaults:", *(f"  - {item}" for item in listed)] if listed else []
    flat, nested = draw(SECTION), draw(NESTED)
    lines += [f"{key}: {value}" for key, value in flat.items() if key not in nested]
    for key, section in nested.items():
        lines += [f"{key}:", *(f"  {below}: {value}" for below, value in section.items())]
    return (draw(HEADER) if items < 4 else "") + "\n".join(lines) + "\n"


TREES = st.fixed_dictionaries(
    {
        "config": files(items=4),
        **{name: files(items=1) for name in ("base", "a/x", "a/y", "b/x", "b/y", "a/c/x", "a/c/y")},
    },
    optional={"a/x_y": files(items=0), "b/x_y": files(items=0)},
)
OVERRIDES = st.lists(
    st.sampled_from([
        "a=x", "b=y", "a/c=y", "+a=y", "+a/c=x", "+b@p=x", "~a", "~b", "a=[x,y]", "a@p=y", "k1=5", "+k1=6", "++k1=7", "~k1", "++k2.z.w=3", "+k9=1",
        "++a.k1=9", "a.k1=2", "++k2={p:4}", "k3=[1,2]", "++k3=[3]", "k1=${k3}", "k1=null", "++p.k1=1", "hydra.run.dir=x",
    ]),
    max_size=2,
)  # fmt: skip


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(TREES, OVERRIDES)
def test_same_as_hydra(tree: dict[str, str], overrides: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        oracle.write(folder, tree)
        expected = oracle.theirs(folder, "config", overrides)
        why = oracle.reason(folder, "config", overrides)
        assert oracle.ours(folder, "config", overrides) == expected, why
        assert "not valid YAML" not in why
