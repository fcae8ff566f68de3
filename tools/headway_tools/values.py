"""Any value as plain JSON data, any text as text that every saver and server accepts.

Savers refuse ints beyond 64 bits, lone surrogates in keys and unknown types; strict servers refuse
NUL, lone surrogates and NaN. The functions are total, deterministic and idempotent.
"""

import dataclasses
import enum
import math
import numbers
import os
import re
from collections.abc import Mapping, Set
from datetime import date, time
from typing import Any, Final, cast

from pydantic import BaseModel

MAX_DEPTH: Final = 64
"""Nesting kept as structure; servers parse 128 levels, and a message adds some of its own."""

DESCRIPTION_CHARACTERS: Final = 1_000
"""Length of the text that stands for an object without a JSON form."""

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_CUT: Final = "…"

_BAD = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def clean_text(text: str) -> str:
    r"""`text` without NUL and lone surrogates: shown as `\x00` and `\udcff`; halves are joined."""
    return text if sendable(text) else _BAD.sub(_escape, _PAIR.sub(_join, text))


def sendable(text: str) -> bool:
    """Whether `text` is UTF-8 without NUL, which PostgreSQL refuses."""
    if "\x00" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\\x00" if code == 0 else f"\\u{code:04x}"


def _join(match: re.Match[str]) -> str:
    return match[0].encode("utf-16", "surrogatepass").decode("utf-16")


def bounded(text: str, limit: int) -> str:
    """The head of `text` with a note of its length, at most `limit` characters."""
    if len(text) <= limit:
        return text
    note = f"{_CUT} ({len(text)} characters)"
    return (text[: max(limit - len(note), 0)] + note)[:limit]


def line_count(text: str) -> int:
    """Lines of `text`; a line end at its end begins no further one."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def plain(value: object) -> Any:
    """`value` as str, int, float, bool, None, lists and dicts with string keys.

    Too large ints and non-finite floats become text, bytes are decoded, paths, dates, exceptions
    and other objects become their text, cycles and levels below `MAX_DEPTH` become `…`.
    """
    return _plain(value, ())


def is_plain(value: object, depth: int = 0) -> bool:
    """Whether `plain(value)` would change nothing."""
    kind = type(value)
    if kind is str:
        return sendable(cast(str, value))
    if kind is dict and depth < MAX_DEPTH:
        return all(
            type(key) is str and sendable(key) and is_plain(item, depth + 1)
            for key, item in cast(dict[object, object], value).items()
        )
    if kind is list and depth < MAX_DEPTH:
        return all(is_plain(item, depth + 1) for item in cast(list[object], value))
    if kind is float:
        return math.isfinite(cast(float, value))
    if kind is int:
        return _SMALLEST <= cast(int, value) <= _LARGEST
    return value is None or kind is bool


def _plain(value: object, above: tuple[int, ...]) -> Any:
    try:
        if _is_scalar(value):
            return _scalar(value)
        if id(value) in above or len(above) >= MAX_DEPTH:
            return _CUT
        return _container(value, (*above, id(value)))
    except (
        Exception
    ):  # foreign __iter__, __getattr__, model serializers: the value still needs a text
        return _described(value)


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(
        value, str | bool | int | float | enum.Enum | numbers.Integral
    )


def _scalar(value: object) -> Any:
    if isinstance(value, enum.Enum):
        return _plain(value.value, ())
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(str.__str__(value))
    if isinstance(value, numbers.Integral):
        return _integer(int(value))
    return _float(cast(float, value))


def _integer(number: int) -> int | str:
    if _SMALLEST <= number <= _LARGEST:
        return number
    try:
        return str(number)
    except ValueError:  # beyond Python's limit for decimal text
        return bounded(hex(number), DESCRIPTION_CHARACTERS)


def _float(number: float) -> float | str:
    if math.isfinite(number):
        return float(number)
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _container(value: object, above: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return _mapping(value, above)
    if isinstance(value, list | tuple):
        return [_plain(item, above) for item in value]
    if isinstance(value, Set):
        return sorted((_plain(item, above) for item in value), key=repr)
    if isinstance(value, BaseModel):
        return _mapping(dict(value), above)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return _mapping({field.name: getattr(value, field.name) for field in fields}, above)
    return _text(value)


def _mapping(value: Mapping[Any, Any], above: tuple[int, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in value.items():
        name = _key(key)
        while name in result:
            name += "'"
        result[name] = _plain(item, above)
    return result


def _key(key: object) -> str:
    name = _plain(key, ())
    return name if isinstance(name, str) else bounded(str(name), DESCRIPTION_CHARACTERS)


def _text(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return clean_text(bytes(value).decode("utf-8", "backslashreplace"))
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return _text(path) if isinstance(path, bytes) else clean_text(path)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, BaseException):
        return clean_text(f"{type(value).__name__}: {value}")
    return _described(value)


def _described(value: object) -> str:
    """The object's own words without memory addresses, which differ from run to run."""
    try:
        words = repr(value)
    except Exception:
        words = f"<{type(value).__name__}>"
    return bounded(clean_text(_ADDRESS.sub("", words)), DESCRIPTION_CHARACTERS)
