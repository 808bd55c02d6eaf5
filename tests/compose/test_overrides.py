"""Our override grammar against Hydra's own parser: the same value, or both refuse."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hydra.core.override_parser import types
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effbatch_lint.compose import overrides, sweeps

THEIRS = OverridesParser.create()
ACTIONS = {
    types.OverrideType.CHANGE: "change",
    types.OverrideType.ADD: "add",
    types.OverrideType.FORCE_ADD: "force-add",
    types.OverrideType.DEL: "delete",
}

LINES = r"""
a=8 a=1_000 a=+5 a=-20 a=010 a=0x10 a=1:30 a=on a=yes a=None a=~ a= a=4*2 a=1e-3 a=.5 a=1. a=inf a=-inf a=nan a=NaN
a=true a=FALSE a=tRuE a=null a=NULL a=nulls a=trueish a=infinity a=1.foo a=1_ a=_1 a=01.5 a=1.5e a=1e5e a=+ a=- a=1-1
a='8' a="8" a='' a="" a='a"b' a="a'b" a='a\'b' a="a\"b" a='a\\' a='a\\\'b' a='\\' a='\n' a='a'b a='unclosed a="x""y"
a=a\,b a=a\:b a=\\ a=a\=b a=a\(b\) a=\[1\] a=\{\} a=x\y a=\' a=a\\b
a=[] a=[1] a=[1,2] a=[1,a,'b',null,true,1.5] a=[[1],[2,3]] a=[1,] a=[,1] a=[1 a=1] a=[a:b] a=[{a:1}]
a={} a={a:1} a={a:1,b:[2]} a={a:{b:c}} a={a:b:c} a={1:2} a={'a':1} a={a:1,a:2} a={a} a={a:} a={:1} a={a:1,} a={true:1}
a={null:1} a={a\:b:1} a={$x:1} a={${x}:1} a={1.5:x}
a=${b} a=${b.c} a=x${b}y a=${oc.env:X,y} a=${eval:${b}*2} a='${eval:"${b}*2"}' a=${} a=$ a=$x a=${a b} a=[${a},${b}]
a=1,2 a=1,2,3 a=a,[1],{b:2} a=1, a=,1 a=1,,2 a='a','b' a=null,1 a=true,false
a=choice(1,2) a=choice(a) a=choice() a=choice(null) a=choice(choice(1,2)) a=choice(1,choice(2)) a=choice([1],{a:1})
a=choice('a','b') a=choice(x=1) a=range(3) a=range(1,4) a=range(1,4,2) a=range(0,1,0.25) a=range(start=1,stop=3)
a=range(stop=3) a=range(a) a=range(1,2,3,4) a=range(4,1,-1) a=range(1.5) a=range(true) a=range(null) a=range(1,null)
a=interval(1,2) a=interval(1.5,2) a=interval(1) a=interval(a,b) a=interval(start=1,end=3) a=interval(1,2,3)
a=glob(*) a=glob([a*,b*],exclude=c) a=glob(1) a=glob() a=glob('*',c) a=glob(include=x,exclude=[y,z])
a=tag(x,choice(1,2)) a=tag(choice(1,2)) a=tag() a=tag(x) a=tag(1,choice(1)) a=tag(x,sweep=choice(1,2)) a=tag(x,y,range(1,3))
a=sort(3,1,2) a=sort([3,1,2]) a=sort(3,1,2,reverse=true) a=sort(choice(b,a)) a=sort(range(5,1,-1)) a=sort(range(1,5),reverse=true)
a=sort() a=sort(1,a) a=sort(3) a=sort([1,a]) a=sort(list=[2,1]) a=sort(sweep=choice(2,1)) a=sort(reverse=1,3,2) a=sort(null)
a=sort(1,[2]) a=sort(interval(1,2)) a=shuffle(choice(1)) a=shuffle(range(1,2)) a=shuffle([1]) a=shuffle(1) a=shuffle(1,1)
a=shuffle(sweep=choice(1)) a=shuffle(list=[1]) a=shuffle(null) a=shuffle()
a=int(3.7) a=int('8') a=int(x) a=int([1.5,2]) a=int({a:1.5}) a=int(true) a=int(1.5,2.5) a=int(choice(1.5,2)) a=int(range(1.5,4))
a=int(interval(1,2)) a=int() a=int(null) a=int(inf) a=int(value=3) a=int(value=3,4) a=int(4,value=3) a=int(glob(*)) a=int(1_0)
a=float(3) a=float('x') a=float(range(1,3)) a=str(3) a=str(true) a=str([1,a]) a=str(range(1,2)) a=str(choice(1,2)) a=str(null)
a=bool(1) a=bool(0) a=bool('true') a=bool(x) a=bool(0.0) a=bool(interval(1,2)) a=bool([1,0]) a=foo(1) a=int(int(1.5)) a=x(1)y
a=choice(int(1.5),2) a=int(choice(1)) a=choice(sort(2,1)) a=choice(int(1,2)) a=int(1,choice(2)) a=int(1,null)
+a=1 ++a=1 +++a=1 ~a ~a=1 ~a= +a -a=1 a =1 a.b=1 a.0=1 a.b.0.c=1 a.0b=1 a.01=1 a..b=1 .a=1 a.=1 0=1 0.a=1 $a=1 a$b=1 a-b=1 -a-=1
a/b=c a/b/c=d a/b.c=1 a.b/c=1 /a=1 a/=1 a//b=1 a@b=c a@b.c=d a/b@c=d a@=c a@b@c=d @a=b a@b/c=d a@$b=c a@0=c a@b:c=d a:b=c ~a@b ~a/b
=1 = a==1 a=b=c a a[0]=1 a(b)=1 é=1 a=é a='é' a=#x a=a#b a=a(b a=a)b a=a!b a=a&b a=a;b a=<x> a=`x`
"""
SPACED = [
    "a= 1", "a=1 ", "a= 1 2 ", "a= ", "a=  x  ", "a=[ 1 , 2 ]", "a={ a : 1 , b : 2 }", "a=a b", "a=a , b", "a=choice( 1 , 2 )",
    "a=choice (1)", "a=int ( 1.5 )", "a='x' ", "a= 'x'", "a=[ 'x' , \"y\" ]", "a=\t1", "a=1\t", "a=a : b", "a=\\ ", "a=\\ x\\ ",
    "a=[1, 2 3]", "a={a b: c d}", "a={ }", "a=[ ]", "a={a: b , c: d}", "a=x\ny", "a='x\ny'", "a=[a b ]", "a= ,b", "a=choice(a b, c)",
    "a={ a:1}", "a={a :1}", "a={\\ a:1}", "a=tag( x , choice(1) )", "a= ${b} ", "a=${b} x", "a b=1", " a=1", "~ a", "a= [1]", "a=[1] ",
    "a=  ", "a=: ", "a= : x", "a=x\\", "a='\\\\\\\\'", "a='x\\\\\\\\\\'y'", 'a="\\\\"', 'a="\\\\", "b"', "a='a' , 'b'",
]  # fmt: skip


def ours(text: str) -> object:
    try:
        found = overrides.parse(text)
    except ValueError:
        return "refused"
    return (found.action, found.key, found.package, _ours(found.value), found.sweeps)


def theirs(text: str) -> object:
    try:
        found = THEIRS.parse_overrides([text])[0]
    except Exception:  # noqa: BLE001 - Hydra refuses with exceptions of several families
        return "refused"
    value = found._value
    return (ACTIONS[found.type], found.key_or_group, found.package, _theirs(value), found.is_sweep_override())


def _ours(value: Any) -> object:
    match value:
        case sweeps.Choices():
            return ("choice", [_ours(item) for item in value.values], value.simple, value.shuffled)
        case sweeps.Steps():
            return ("range", _ours(value.start), _ours(value.stop), _ours(value.step), value.shuffled)
        case sweeps.Interval():
            return ("interval", _ours(value.start), _ours(value.end))
        case sweeps.Glob():
            return ("glob", list(value.include), list(value.exclude))
        case list():
            return [_ours(item) for item in value]
        case dict():
            return [(_ours(key), _ours(item)) for key, item in value.items()]
        case sweeps.Quoted():
            return ("quoted", str(value), value.mark)
    return _typed(value)


def _theirs(value: Any) -> object:
    match value:
        case types.ChoiceSweep():
            return ("choice", [_theirs(item) for item in value.list], value.simple_form, value.shuffle)
        case types.RangeSweep():
            return ("range", _theirs(value.start), _theirs(value.stop), _theirs(value.step), value.shuffle)
        case types.IntervalSweep():
            return ("interval", _theirs(value.start), _theirs(value.end))
        case types.Glob():
            return ("glob", [str(shape) for shape in value.include], [str(shape) for shape in value.exclude])
        case list():
            return [_theirs(item) for item in value]
        case dict():
            return [(_theirs(key), _theirs(item)) for key, item in value.items()]
        case types.QuotedString():
            return ("quoted", value.text, "'" if value.quote is types.Quote.single else '"')
    return _typed(value)


def _typed(value: Any) -> object:
    return (type(value).__name__, "nan" if isinstance(value, float) and math.isnan(value) else value)


@pytest.mark.parametrize("text", [*LINES.split(), *SPACED])
def test_same_as_hydra(text: str) -> None:
    assert ours(text) == theirs(text)


ALPHABET = st.sampled_from(
    [
        *"abnx019_-+.,:=()[]{}'\"\\$%*@?|/~ \t",
        "true",
        "null",
        "inf",
        "1e3",
        "choice(",
        "int(",
        "${x}",
        "range(",
        "\\,",
        "', '",
        "{a:",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(ALPHABET, max_size=9).map("".join))
@example('"\\" , "x"')
@example("'a\\\\', 'b'")
def test_same_as_hydra_on_random_values(text: str) -> None:
    assert ours(f"a={text}") == theirs(f"a={text}")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*"abx01_-.$/@:+~ ", "a.b", "=1"]), max_size=7).map("".join))
def test_same_as_hydra_on_random_keys(text: str) -> None:
    assert ours(f"{text}=1") == theirs(f"{text}=1")


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-999, 999)
    | st.text("ab ,:=\\()[]{}\t", min_size=1, max_size=5).filter(str.strip),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_a_value_survives_being_written_and_parsed(value: Any) -> None:
    assert overrides.parse(f"a={sweeps.text_of(value)}").value == value


@given(st.text("ab\\'\" ", max_size=6), st.sampled_from("'\""))
def test_quoted_text_survives_as_quoted(text: str, mark: str) -> None:
    again = overrides.parse(f"a={sweeps.text_of(sweeps.Quoted(text, mark))}").value
    assert isinstance(again, sweeps.Quoted)
    assert again == text


@pytest.mark.parametrize(("text", "numbers"), [("range(0,1,0.25)", [0, 0.25, 0.5, 0.75]), ("range(4,1,-1)", [4, 3, 2])])
def test_numbers_of_a_range(text: str, numbers: list[float]) -> None:
    steps = overrides.parse(f"a={text}").value
    assert isinstance(steps, sweeps.Steps)
    assert list(steps.numbers()) == numbers


@pytest.mark.parametrize("text", ["a=" + "[" * 200 + "]" * 200, "a=" + "x, " * 9_000 + "x", "a=" + "1" * 5_000])
def test_limits(text: str) -> None:
    with pytest.raises(ValueError, match="no override"):
        overrides.parse(text)
