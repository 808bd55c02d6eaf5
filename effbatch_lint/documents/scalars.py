"""What a scalar's text means, dialect by dialect.

``1e-5`` is a string for PyYAML and a float for OmegaConf; ``010`` is 8 in YAML 1.1 and 10 in YAML 1.2; ``on`` is true
in the one and text in the other. The dialect belongs to whoever loads the file (each framework's record names it).

Sources: PyYAML lib/yaml/resolver.py; OmegaConf omegaconf/_utils.py (get_yaml_loader); jsonargparse loaders_dumpers.py
(the same float rule as OmegaConf); YAML 1.2.2 section 10.3 (core schema); RFC 8259; Hydra's override grammar
(hydra/grammar/OverrideLexer.g4).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from effbatch_lint.source import Span, Unreadable

if TYPE_CHECKING:
    from effbatch_lint.documents.nodes import Scalar

Dialect: TypeAlias = Literal["pyyaml", "omegaconf", "yaml12", "json", "hydra"]
Value: TypeAlias = bool | int | float | str | None

# No batch has more than a dozen; Python itself refuses to convert more than 4,300.
MAX_DIGITS = 100

# Patterns are compiled when a scalar first needs one: a config of plain numbers and words needs none.
_INT_11 = r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)"
_FLOAT_11 = (
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# OmegaConf and jsonargparse add a float rule of their own: an exponent needs neither a dot nor a sign.
_FLOAT_OMEGACONF = (
    rf"{_FLOAT_11}|[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+(?:_[0-9]+)*[eE][-+]?[0-9]+"
    r"|\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?"
)
_INT_12 = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT_12 = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_NUMBER_JSON = r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?"
_INT_HYDRA = r"[-+]?(?:0|[1-9](?:_?[0-9])*)"
_FLOAT_HYDRA = (
    r"[-+]?(?:(?:(?:0|[1-9](?:_?[0-9])*)\.(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)(?:[eE][-+]?[0-9](?:_?[0-9])*)?"
    r"|(?:0|[1-9](?:_?[0-9])*)[eE][-+]?[0-9](?:_?[0-9])*|[Ii][Nn][Ff]|[Nn][Aa][Nn])"
)

_TRUE_11 = frozenset(word for stem in ("yes", "true", "on") for word in (stem, stem.title(), stem.upper()))
_FALSE_11 = frozenset(word for stem in ("no", "false", "off") for word in (stem, stem.title(), stem.upper()))
_NULL_11 = frozenset(("~", "null", "Null", "NULL", ""))


def resolve(scalar: Scalar, dialect: Dialect) -> Value:
    """The value that the dialect's loader gives this scalar.

    Raises:
        Unreadable: an integer of absurd length.
    """
    if scalar.value is not ...:
        return scalar.value  # type: ignore[return-value] # the format typed it: TOML and Python values are of Value's types
    if scalar.tag is not None:
        return _tagged(scalar, dialect)
    if not scalar.plain:
        return scalar.text
    return plain(scalar.text, dialect, scalar.span)


def plain(text: str, dialect: Dialect, span: Span | None = None) -> Value:
    """The value of unquoted text."""
    if len(text) > MAX_DIGITS:
        if text.strip("+-0123456789_:.") == "" and text.strip("+-_:.") != "":
            raise Unreadable(
                span or Span("<text>", 1, 1, 1, 1),
                f"a number of {len(text):,} characters, over the limit of {MAX_DIGITS:,}",
            )
        return text
    # Nearly every number of a batch: no dialect differs, and no pattern needs to be compiled for it.
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return int(text)
    match dialect:
        case "pyyaml":
            return _yaml_11(text, _FLOAT_11)
        case "omegaconf":
            return _yaml_11(text, _FLOAT_OMEGACONF)
        case "yaml12":
            return _yaml_12(text)
        case "json":
            return _json(text)
        case "hydra":
            return _hydra(text)


def _yaml_11(text: str, float_rule: str) -> Value:
    if text in _NULL_11:
        return None
    first = text[0]
    if first in "-+.0123456789":
        # PyYAML tries the float rule before the integer rule, the order of registration.
        if re.fullmatch(float_rule, text):
            return _float_11(text)
        if re.fullmatch(_INT_11, text):
            return _int_11(text)
        return text
    if text in _TRUE_11:
        return True
    if text in _FALSE_11:
        return False
    return text


def _int_11(text: str) -> int | str:
    digits = text.replace("_", "")
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    try:
        if digits.startswith("0b"):
            return sign * int(digits, 0)
        if digits.startswith("0x"):
            return sign * int(digits, 0)
        if ":" in digits:
            total = 0
            for part in digits.split(":"):
                total = total * 60 + int(part)
            return sign * total
        if digits[0] == "0" and len(digits) > 1:
            return sign * int(digits, 8)
        return sign * int(digits)
    except ValueError:  # "0_", "0x_": the rule matches and the loader fails
        return text


def _float_11(text: str) -> float | str:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.lstrip("+-")
    if digits in (".inf", ".nan"):
        return sign * float(digits[1:])
    try:
        if ":" in digits:
            total = 0.0
            for power, part in enumerate(reversed(digits.split(":"))):
                total += float(part) * 60**power
            return sign * total
        return sign * float(digits)
    except (ValueError, OverflowError):  # "._" matches OmegaConf's rule, and its loader fails
        return text


def _yaml_12(text: str) -> Value:
    if text in _NULL_11:
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if re.fullmatch(_INT_12, text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if re.fullmatch(_FLOAT_12, text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _json(text: str) -> Value:
    constants: dict[str, Value] = {
        "true": True, "false": False, "null": None,
        # No JSON, but read and written by Python's json module.
        "NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"),
    }  # fmt: skip
    if text in constants:
        return constants[text]
    number = re.fullmatch(_NUMBER_JSON, text)
    if number is None:
        return text
    return int(text) if number[1] is None and number[2] is None else float(text)


def _hydra(text: str) -> Value:
    lower = text.lower()
    if lower == "null":
        return None
    if lower in ("true", "false"):
        return lower == "true"
    if re.fullmatch(_INT_HYDRA, text):
        return int(text)
    if re.fullmatch(_FLOAT_HYDRA, text):
        return float(text)
    return text


def _tagged(scalar: Scalar, dialect: Dialect) -> Value:
    kind = (scalar.tag or "").removeprefix("tag:yaml.org,2002:").removeprefix("!!")
    if kind == "str":
        return scalar.text
    if kind == "null":
        return None
    if kind == "float":
        # A written tag needs no text that the float rule would recognise: !!float 1e5 is one for PyYAML too.
        return _float_11(scalar.text)
    if kind in ("int", "bool"):
        return plain(scalar.text, dialect, scalar.span)
    return scalar.text
