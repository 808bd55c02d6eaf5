"""The functions of Hydra's override grammar: casts (``int(3.7)``) and sweeps (``choice``, ``range``, ``sort``, ...).

Source: hydra/_internal/grammar/grammar_functions.py (1.3). Nothing else can be called.
"""

from __future__ import annotations

from collections.abc import Callable

from effbatch_lint.compose.sweeps import SWEEPS, Choices, Element, Glob, Interval, Quoted, Steps

_ATOMS = (bool, int, float, str)


def call(name: str, positional: list[Element], named: dict[str, Element]) -> Element:
    """The value of ``name(positional, named)``.

    Raises:
        ValueError: a function that does not exist, or arguments that it refuses.
    """
    function = _FUNCTIONS.get(name)
    if function is None:
        raise ValueError(f"Unknown function '{name}'; available: {', '.join(sorted(_FUNCTIONS))}")
    plain = [_unquoted(value) for value in positional]
    try:
        return function(plain, {key: _unquoted(value) for key, value in named.items()})
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name}(...): {error}") from None


def _unquoted(value: Element) -> Element:
    return str(value) if isinstance(value, Quoted) else value


def _only(named: dict[str, Element], *allowed: str) -> None:
    for key in named:
        if key not in allowed:
            raise TypeError(f"an unexpected argument '{key}'")


# -- casts -----------------------------------------------------------------------------------------------------------


def _cast(convert: Callable[[Element], Element]) -> Callable[[list[Element], dict[str, Element]], Element]:
    def function(positional: list[Element], named: dict[str, Element]) -> Element:
        _only(named, "value")
        given = named.get("value")
        if given is not None:
            if positional:
                raise TypeError("cannot use both position and named arguments")
            return apply(given)
        if not positional:
            raise TypeError("no argument")
        if any(isinstance(value, Glob) for value in positional):
            raise TypeError("a glob cannot be cast")
        if len(positional) > 1:
            if any(isinstance(value, SWEEPS) for value in positional):
                raise TypeError("several arguments, and one of them is a sweep")
            return apply(Choices(list(positional), simple=True))
        return apply(positional[0])

    def apply(value: Element) -> Element:
        match value:
            case dict():
                return {key: apply(item) for key, item in value.items()}
            case list():
                return [apply(item) for item in value]
            case Choices():
                return Choices([_single(apply(item)) for item in value.values], simple=value.simple)
            case Steps() if convert in (_to_int, _to_float):
                return Steps(_number(convert(value.start)), _number(convert(value.stop)), _number(convert(value.step)))
            case Interval() if convert in (_to_int, _to_float):
                return Interval(_number(convert(value.start)), _number(convert(value.end)))
            case bool() | int() | float() | str():
                return convert(value)
        raise TypeError(f"{type(value).__name__} cannot be cast so")

    return function


def _single(value: Element) -> Element:
    if value is None or isinstance(value, SWEEPS):
        raise TypeError("a choice must be a value")
    return value


def _to_int(value: Element) -> Element:
    if isinstance(value, str) and len(value) > 1_000:  # noqa: PLR2004 - Python itself stops at 4,300 digits
        raise ValueError("too many digits")
    return int(value)  # type: ignore[arg-type] # an atom, by the caller


def _to_float(value: Element) -> Element:
    return float(value)  # type: ignore[arg-type] # an atom, by the caller


def _to_str(value: Element) -> Element:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _to_bool(value: Element) -> Element:
    if not isinstance(value, str):
        return bool(value)
    if value.lower() not in ("true", "false"):
        raise ValueError(f"'{value}' is no truth value")
    return value.lower() == "true"


# -- sweeps ----------------------------------------------------------------------------------------------------------


def _choice(positional: list[Element], named: dict[str, Element]) -> Element:
    _only(named)
    if not positional:
        raise ValueError("an empty choice is not legal")
    first = positional[0]
    if len(positional) == 1 and isinstance(first, Choices):
        if not first.simple:
            raise ValueError("nesting choices is not supported")
        return first._replace(simple=False)
    for value in positional:
        if value is None or isinstance(value, (Steps, Interval, Glob)):
            raise TypeError("a choice must be a value")
    return Choices(list(positional))


def _range(positional: list[Element], named: dict[str, Element]) -> Element:
    given = _bound(("start", "stop", "step"), positional, named)
    start = _number(given.get("start"))
    stop = given.get("stop")
    step = _number(given.get("step", 1))
    return Steps(0, start, step) if stop is None else Steps(start, _number(stop), step)


def _interval(positional: list[Element], named: dict[str, Element]) -> Element:
    given = _bound(("start", "end"), positional, named)
    return Interval(float(_number(given.get("start"))), float(_number(given.get("end"))))


def _glob(positional: list[Element], named: dict[str, Element]) -> Element:
    given = _bound(("include", "exclude"), positional, named)
    exclude = given.get("exclude")
    return Glob(_shapes(given.get("include")), () if exclude is None else _shapes(exclude))


def _shapes(value: Element) -> tuple[str, ...]:
    if isinstance(value, str):
        return (str(value),)
    if not isinstance(value, list):
        raise TypeError("a name or a list of names is needed")
    return tuple(str(shape) for shape in value)


def _tag(positional: list[Element], named: dict[str, Element]) -> Element:
    _only(named, "sweep")
    if not positional:
        raise ValueError("not enough arguments, at least a sweep is needed")
    *tags, sweep = [*positional, named["sweep"]] if named.get("sweep") is not None else positional
    if not isinstance(sweep, (Choices, Steps, Interval)) or not all(isinstance(tag, str) for tag in tags):
        raise TypeError("words and then a choice(), range() or interval() are needed")
    return sweep


def _shuffle(positional: list[Element], named: dict[str, Element]) -> Element:
    """The order is random at run time; the values are what matters here, and they stay as written."""
    _only(named, "sweep", "list")
    arguments = _instead(positional, named)
    _no_null(arguments)
    if len(arguments) != 1:
        return Choices(_unswept(arguments), simple=True, shuffled=True)
    value = arguments[0]
    if isinstance(value, (Choices, Steps)):
        return value._replace(shuffled=True)
    return value if isinstance(value, list) else [value]


def _sort(positional: list[Element], named: dict[str, Element]) -> Element:
    _only(named, "sweep", "list", "reverse")
    reverse = named.get("reverse", False)
    if not isinstance(reverse, bool):
        raise TypeError("reverse must be true or false")
    arguments = _instead(positional, named)
    _no_null(arguments)
    if not arguments:
        raise ValueError("empty sort input")
    if len(arguments) > 1:
        if not all(isinstance(value, _ATOMS) for value in arguments):
            raise TypeError("only values can be sorted")
        return Choices(_sorted(arguments, reverse=reverse), simple=True)
    value = arguments[0]
    if isinstance(value, Choices):
        return value._replace(values=_sorted(value.values, reverse=reverse))
    if isinstance(value, Steps):
        return _turned(value, reverse=reverse)
    return _sorted(value, reverse=reverse) if isinstance(value, list) else value


def _turned(steps: Steps, *, reverse: bool) -> Steps:
    """A range that runs the other way, over the same numbers when the step divides it."""
    size = abs(steps.step)
    if not reverse and steps.start > steps.stop:
        return steps._replace(start=steps.stop + size, stop=steps.start + size, step=-steps.step)
    if reverse and steps.start < steps.stop:
        return steps._replace(start=steps.stop - size, stop=steps.start - size, step=-steps.step)
    return steps


def _sorted(values: list[Element], *, reverse: bool) -> list[Element]:
    return sorted(values, reverse=reverse)  # type: ignore[type-var] # what cannot be compared raises TypeError, as in Hydra


def _instead(positional: list[Element], named: dict[str, Element]) -> list[Element]:
    """``list=[...]`` and ``sweep=...`` stand for the one argument."""
    values = named.get("list")
    if values is not None:
        if not isinstance(values, list):
            raise TypeError("list must be a list")
        return [values]
    sweep = named.get("sweep")
    if sweep is not None:
        if not isinstance(sweep, (Choices, Steps)):
            raise TypeError("sweep must be a choice() or range()")
        return [sweep]
    return positional


def _no_null(arguments: list[Element]) -> None:
    if any(value is None or isinstance(value, (Interval, Glob)) for value in arguments):
        raise TypeError("null, intervals and globs have no order")


def _unswept(arguments: list[Element]) -> list[Element]:
    if any(isinstance(value, SWEEPS) for value in arguments):
        raise TypeError("several arguments, and one of them is a sweep")
    return list(arguments)


def _bound(names: tuple[str, ...], positional: list[Element], named: dict[str, Element]) -> dict[str, Element]:
    _only(named, *names)
    given = dict(zip(names, positional, strict=False))
    if len(positional) > len(names) or given.keys() & named.keys():
        raise TypeError("too many arguments")
    return {**given, **named}


def _number(value: Element) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError("a number is needed")
    return value


_FUNCTIONS: dict[str, Callable[[list[Element], dict[str, Element]], Element]] = {
    "int": _cast(_to_int),
    "float": _cast(_to_float),
    "str": _cast(_to_str),
    "bool": _cast(_to_bool),
    "choice": _choice,
    "range": _range,
    "interval": _interval,
    "glob": _glob,
    "tag": _tag,
    "sort": _sort,
    "shuffle": _shuffle,
}
