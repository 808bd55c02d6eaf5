"""Interpolations: the values that OmegaConf resolves, or no value where it fails; and where each value came from."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.grammar_parser import parse as omegaconf_parse

from effbatch_lint.compose import references
from effbatch_lint.compose.config import Config, Unresolved
from effbatch_lint.compose.config_file import _is_made_of_simple
from effbatch_lint.compose.interpolation import Interpolations, Unresolvable
from effbatch_lint.compose.view import config_of
from effbatch_lint.documents import yaml
from effbatch_lint.documents.nodes import Mapping, Scalar, Sequence, leaves
from effbatch_lint.source import Source

if TYPE_CHECKING:
    from effbatch_lint.terms import Term

FAILS = "fails"
UNKNOWN = "unknown"

_RESOLVERS: dict[str, Callable[..., Any]] = {
    "multiply": lambda x, y: x * y,
    "divide_ceil": lambda x, y: math.ceil(x / y),
    "divide_floor": lambda x, y: math.floor(x / y),
    "sum": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "add": lambda x, y: x + y,
    "div": lambda x, y: x / y,
    "max": max,
    "div_up": lambda x, y: (x + y - 1) // y,
    "eval": lambda text: eval(text),  # noqa: S307, PLW0108 - what projects register; the texts are this file's own
}
for _name, _function in _RESOLVERS.items():
    OmegaConf.register_new_resolver(_name, _function, replace=True)

TREE = r"""
one: 1
two: 2.5
text: hello
flag: true
none: null
miss: ???
nested: {a: {b: 3, k: one, list: [10, {x: 20}, 30]}, rel: '${.a.b}', up: '${..one}', up2: '${...one}'}
names: {one: uno, key: one, "with space": 9, a/b: 8, x-y: 7}
alias: ${nested.a}
chain: ${alias.b}
chain2: ${chain}
loop: ${loop}
loop1: ${loop2}
loop2: ${loop1}
broken: ${nope}
through: ${text.x}
itself: {a: '${itself}'}
eight: "8"
list: [1, '${one}', '${..two}', '${.0}']
"""

TEXTS = r"""
${one} ${two} ${text} ${flag} ${none} ${miss} ${nope} ${nested.a.b} ${nested.rel} ${nested.up} ${nested.up2} ${nested.a.list[0]} ${nested.a.list.1.x}
${nested[a][b]} ${nested.a[b]} ${nested['a']} ${[nested].a.b} ${nested.a.list[5]} ${nested.a.list.x} ${.one} ${..one} ${...one} ${names.${nested.a.k}} ${names[${nested.a.k}]}
${${nested.a.k}} ${${one}} ${alias.b} ${chain} ${chain2} ${alias.list.1.x} ${loop} ${loop1} ${broken} ${through} ${itself.a.a} ${names.a/b} ${names.x-y} ${eight}
a${one}b ${one}${two} ${one}-${text} x${none}y x${flag}y x${miss} \${one} \\${one} \\\${one} a\b \${one}${one} $one $${one} ${one}$ x\\y ${list.1} ${list.2} ${list.3}
${oc.select:one} ${oc.select:nope} ${oc.select:nope,5} ${oc.select:miss,5} ${oc.select:none,5} ${oc.select:nested.a.nope,${two}} ${oc.select:broken,5} ${oc.select:text.x,5}
${oc.select:nope,${nope}} ${oc.select:one,${nope}} ${oc.select:.one,7} ${oc.select:nope,} ${oc.select:'one'} ${oc.select:${nested.a.k}} ${oc.select:loop,1} ${oc.select:nested.a.list[0],1}
${oc.select:nested.a.list.x,1} ${oc.select:nope,null} ${oc.select:nope,'a,b'} ${oc.select:nope,a:b} ${oc.select:nope,010} ${oc.select:nope,1e3} ${oc.select:nope,-} ${oc.select:1,2}
${oc.decode:'8'} ${oc.decode:'${one}'} ${oc.decode:null} ${oc.decode:'1e3'} ${oc.decode:'true'} ${oc.decode:"'8'"} ${oc.decode:'a b'} ${oc.decode:'['} ${oc.decode:${eight}} ${oc.decode:8} ${oc.decode:' 8'}
${oc.deprecated:one} ${oc.deprecated:nope} ${oc.deprecated:nested.a.b,'gone'}
${multiply:2,3} ${multiply:${one},${two}} ${multiply:${eight},2} ${multiply:2,'4'} ${multiply:a,b} ${multiply:2} ${multiply:2,3,4} ${multiply:${none},2} ${multiply:${nope},2}
${divide_ceil:7,2} ${divide_floor:7,2} ${divide_floor:-7,2} ${divide_ceil:7,0} ${sum:1,2} ${sum:a,b} ${sum:1,a} ${add:1.5,2} ${div:7,2} ${div:8,2} ${div:1,0} ${max:3,${two}} ${div_up:7,2} ${mul:3,4}
${multiply:${divide_floor:9,2},${sum:1,${one}}}
${eval:'1+2*3'} ${eval:'${one} * 8'} ${eval:${one}} ${eval:"7 // 2"} ${eval:'2**10'} ${eval:'7 % 4'} ${eval:'-3'} ${eval:'(1+2)*3'} ${eval:'min(4,2)'} ${eval:'max(4,${two})'} ${eval:'int(3.7)'} ${eval:'1 if 2 > 1 else 0'}
${eval:'8/2'} ${eval:'not 1'} ${eval:'abs(-2)'} ${eval:'round(2.6)'} ${eval:'"8" * 2'} ${eval:'3 == 3.0'} ${eval:'1 +'} ${eval:'1/0'} ${eval:'True + 1'}
"""


def root_of(text: str) -> Mapping:
    root = yaml.parse(Source("tree.yaml", "tree.yaml", text))[0]
    assert isinstance(root, Mapping)
    return root


def ours(tree: str, text: str) -> Any:
    root = root_of(f"{tree}\nasked: {json.dumps(text)}")
    node = root.get("asked")
    assert isinstance(node, Scalar)
    try:
        found = Interpolations(root).scalar(node, ("asked",)).value
    except Unresolvable as error:
        return UNKNOWN if error.unknown else FAILS
    return "container" if isinstance(found, (Mapping, Sequence)) else (type(found).__name__, found)


def theirs(tree: str, text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = OmegaConf.create(f"{tree}\nasked: {json.dumps(text)}").asked
        except Exception:  # noqa: BLE001 - OmegaConf fails with exceptions of several families
            return FAILS
    return "container" if OmegaConf.is_config(found) else (type(found).__name__, found)


ONE_A_WORD = [
    word
    for line in TEXTS.strip().splitlines()
    for word in re.findall(r"(?:\$\{(?:[^{}]|\{[^{}]*\}|\$\{(?:[^{}]|\$\{[^{}]*\})*\})*\}|\S)+", line)
]


@pytest.mark.parametrize("text", ONE_A_WORD)
def test_same_as_omegaconf(text: str) -> None:
    assert ours(TREE, text) == theirs(TREE, text)


PIECES = st.sampled_from([
    "${one}", "${nested.a.b}", "${.one}", "${nope}", "${oc.select:", "${names.", "${", "}", ",", "one", "nested", ".", "[0]", "'", '"', "\\", "a", "1", "null",
    " ", ":", "[", "]", "{", "${multiply:", "${sum:", "2", "${oc.decode:", "${alias", "$",
])  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=9).map("".join))
@example("${oc.select:nope,${oc.decode:'[1'}}")
@example("${names.${names.key}}")
def test_same_as_omegaconf_on_random_texts(text: str) -> None:
    if "${" not in text:
        return
    try:
        omegaconf_parse(text)
        parses = True
    except Exception:  # noqa: BLE001 - whatever antlr raises
        parses = False
    try:
        references.parse(text)
    except ValueError:
        assert not parses
        return
    assert parses
    assert ours(TREE, text) in (UNKNOWN, theirs(TREE, text))


def config(text: str, **options: Any) -> Config:
    return config_of(Interpolations(root_of(text), **options), "tree.yaml", files=["tree.yaml"])


def places(term: Term) -> list[tuple[str | None, int | None]]:
    return [(origin.key, origin.span and origin.span.line) for origin in term.origins]


def test_a_value_has_the_origin_of_the_interpolation_and_of_what_it_resolved_to() -> None:
    term = config("a:\n  b: 8\nc: ${a.b}\nd: ${c}\n").integer("d")
    assert term.value == 8
    assert places(term) == [("d", 4), ("c", 3), ("a.b", 2)]


def test_origins_of_a_resolvers_arguments() -> None:
    term = config("a: 2\nb: 3\nc: ${multiply:${a},${b}}\n").integer("c")
    assert term.value == 6
    assert places(term) == [("c", 3), ("a", 1), ("b", 2)]


def test_a_section_that_is_a_reference_is_seen_through() -> None:
    seen = config("base:\n  lr: 1\n  bs: ${.n}\n  n: 4\nother: ${base}\nlist: [{m: '${other}'}]\nall: ${list}\n")
    term = seen.integer("other.bs")
    assert term.value == 4
    assert places(term) == [("other.bs", 3), ("other", 5), ("base.n", 4)]
    assert seen.integer("list.0.m.lr").value == 1
    assert seen.integer("all.0.m.bs").value == 4
    section = seen.section("other")
    assert section is not None
    assert places(section.integer("bs")) == [("other.bs", 3), ("other", 5), ("base.n", 4)]


def test_sections_that_refer_to_each_other_come_to_an_end() -> None:
    seen = config("a: {x: '${b}', y: '${b}'}\nb: {z: '${a}', w: '${a}'}\n")
    assert seen.node("a.x.z.y.w") is not None
    assert sum(1 for _ in zip(range(50_000), leaves(seen.root), strict=False)) > 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: ${oc.env:GPUS}", "a is ${oc.env:GPUS}: oc.env: the environment variable GPUS is known only when the program runs"),
        ("a: ${oc.env:GPUS,8}", "the environment variable GPUS"),
        ("a: ${now:%Y}", "the resolver now is known only when the program runs"),
        ("a: ${hydra:job.num}", "the resolver hydra is known only when the program runs"),
        ("a: ${my_own:1}", "the resolver my_own"),
        ("a: ???", "a is ???, and has to be given on the command line"),
        ("a: ${b}\nb: ???", "a is ${b}: b is ???, to be given on the command line"),
        ("a: ${nope.x}", "a is ${nope.x}: there is no key nope"),
        ("a: ${a}", "in a circle"),
        ("a: ${b}\nb: {c: 1}", "a is no number"),
        ("a: ${eval:'__import__(\"os\").getpid()'}", "more than plain arithmetic"),
        ("a: ${eval:'9**9**9**9'}", "bits"),
        ("a: ${eval:'\"x\" * 99999999'}", "characters"),
        ("a: ${multiply:xxxxxxxxxx,1000000}", "characters"),
        ("a: ${eval:'%s'}" % ("(" * 300), "no arithmetic"),
        ("a: ${eval:'%s1'}" % ("-" * 900), "nested deeper"),
        ("\n".join(["a: ${b0}${b0}", *(f"b{i}: ${{b{i + 1}}}${{b{i + 1}}}" for i in range(30)), "b30: x"]), "too many times"),
    ],
)  # fmt: skip
def test_what_is_not_known_and_why(text: str, reason: str) -> None:
    term = config(text).integer("a")
    assert term.value is None
    assert reason in (term.reason or "")


def test_the_environment_is_what_the_caller_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUS", "16")
    assert isinstance(config("a: ${oc.env:GPUS}").value("a"), Unresolved)
    stated = config(
        "a: ${oc.env:GPUS}\nb: ${multiply:${oc.env:GPUS},2}\nc: ${oc.decode:${oc.env:GPUS}}", environment={"GPUS": "8"}
    )
    assert stated.value("a") == "8"
    assert stated.value("b") == "88"
    assert stated.value("c") == 8
    assert stated.integer("a").origins[1].note == "env:GPUS=8"


def test_a_default_is_used_where_the_key_is_known_to_be_absent() -> None:
    term = config("a: ${oc.select:x,${b}}\nb: 4\n").integer("a")
    assert (term.value, places(term)) == (4, [("a", 1), ("b", 2)])
    assert config("a: ${oc.select:b,${oc.env:N}}\nb: 4\n").integer("a").value == 4


@pytest.mark.parametrize(
    "text",
    ["${mul:${a},${b}}", "${a.${b}}", "${${a}b}", "${mul:${a}b,c}", "${.${a}}", "${${a}.b}", "${a[${b}]}", "${a:}", "${${a}",
     "${mul:${a} ${b}}", "${mul:${a}}b}", "${${a}:b}", "${.a.${..b}.c}", "x${mul:${mul:${a},1},2}y"],
)  # fmt: skip
def test_what_is_passed_without_a_walk_is_what_omegaconf_accepts(text: str) -> None:
    if _is_made_of_simple(text):
        OmegaConf.create({"x": text})  # raises what it refuses
