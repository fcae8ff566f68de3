"""Canonical calls, masked results, stripped echoes: when two spellings mean the same.

Masked is what changes by itself (times, ids, durations, temporary paths); percentages and counts
stay, because they are progress. All functions are pure and bounded by `WINDOW`.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

WINDOW = 1200
"""Characters at each end of a long result in which every kind of noise is masked."""

_NOISE: tuple[tuple[tuple[str, ...], str, str], ...] = (
    # (what must be there, in lower case, for the pattern to match; pattern; placeholder)
    (("\x1b",), r"\x1b\[[0-9;?]*[A-Za-z]", ""),
    (
        ("-",),
        r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?\b",
        "<time>",
    ),
    (
        ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
        r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? ([A-Z][a-z]{2} +\d{1,2}|\d{1,2} [A-Z][a-z]{2})\b",
        "<time>",
    ),
    (
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +(\d\d:\d\d|\d{4})\b",
        "<time>",
    ),
    ((":",), r"(?<![\d:])\d{1,2}:\d\d:\d\d([.,]\d+)?( ?(AM|PM))?(?![\d:])", "<time>"),
    (("1",), r"\b1[0-9]{9}([0-9]{3}|\.\d+)?\b", "<time>"),
    (("-",), r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
    (("0x",), r"\b0x[0-9a-fA-F]{4,}\b", "<address>"),
    (
        ("/tmp/", "/var/", "/dev/shm/"),
        r"(/private)?(/var/folders|/var/tmp|/tmp|/dev/shm)(/[\w.+-]+)+",
        "<tmp>",
    ),
    (("pytest-of-",), r"(?i)\bpytest-of-\w+/pytest-\d+", "<tmp>"),
    (
        ("pid", "process", "thread", "port", "tid"),
        r"(?i)\b(pid|process|thread|port|tid)([ =:#]+)\d+\b",
        r"\1\2<id>",
    ),
    (
        ("id",),
        r"(?i)\b((?:request|trace|span|session|run|correlation|message|event|container)"
        r"[-_ ]?id)([\"' ]*[=: ]+[\"']?)[\w.-]*\d[\w.-]*",
        r"\1\2<id>",
    ),
    (("]:",), r"(?<=[A-Za-z])\[\d{2,}\]:", "[<id>]:"),
    (
        ("s", "m"),
        r"(?i)(?<![\w.])\d+(?:\.\d+)? ?"
        r"(?:ns|us|µs|ms|s|secs?|seconds?|milliseconds?|m ?\d+(?:\.\d+)?s|mins?|minutes?"
        r"|[KMGT]?i?B/s)(?!\w)",
        "<duration>",
    ),
    (
        ("elapsed", "duration", "seconds", "took", "latency", "time"),
        r"(?i)\b((?:elapsed|duration|seconds|took|latency|timestamp|time)(?:_m?s)?\"?[:= ]+)"
        r"\d+(?:\.\d+)?(?![\w.])",
        r"\1<duration>",
    ),
)
_COMPILED = tuple((needles, re.compile(pattern), put) for needles, pattern, put in _NOISE)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NO_DIGITS = str.maketrans("", "", "0123456789")
_PLACEHOLDER_RUN = re.compile(r"<(time|duration)>([ ,T]*<\1>)+")


@lru_cache(maxsize=64)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def mask_noise(text: str, extra: tuple[tuple[str, str], ...] = ()) -> str:
    """`text` without what changes by itself; masking twice is masking once.

    `extra`: (regular expression, placeholder) of the caller.
    """
    low = text.lower()
    for needles, pattern, put in _COMPILED:
        if any(needle in low for needle in needles):
            text = pattern.sub(put, text)
    for own, put in extra:
        text = _compile(own).sub(put, text)
    return _PLACEHOLDER_RUN.sub(r"<\1>", text) if "> <" in text or "><" in text else text


def fingerprint(text: str, args: Mapping[str, Any], extra: tuple[tuple[str, str], ...]) -> str:
    """What two results are compared by: noise masked, echoes of `args` stripped.

    Between the ends of a long text only digits and addresses are masked.
    """
    ends, middle = text, ""
    if len(text) > 2 * WINDOW:
        ends, middle = text[:WINDOW] + "\n" + text[-WINDOW:], text[WINDOW:-WINDOW]
    if "0x" in middle:
        middle = _ADDRESS.sub("", middle)
    masked = mask_noise(strip_echo(ends, args), extra)
    return digest(" ".join(masked.split()) + middle.translate(_NO_DIGITS))


def digest(text: str) -> str:
    """Four characters that stand for `text` (24 bits: enough for a memory of some dozens)."""
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).digest()
    return base64.b64encode(raw, b"-_").decode("ascii")


def mark(word: str) -> str:
    """Two characters that stand for a word (12 bits: enough to compare two short texts)."""
    number = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return _ALPHABET[number & 63] + _ALPHABET[number >> 6 & 63]


_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_QUOTES = re.compile(r"[\"'`]")
_AROUND_SIGNS = re.compile(r" ?([^\w ]) ?")
_DOT_SLASH = re.compile(r"(?:(?<=\s)|^)\./(?=[\w.])")
_SHELL_TAIL = re.compile(r"(\s+#[^\n]*|\s*2>&1|\s*;|\s+\|\|\s*true)+\s*$")
_SHELL_ARGS = ("cmd", "command", "bash", "script", "input")
_EMPTY: tuple[object, ...] = (None, "", ".", "./", [], {}, False)


def canonical_call(name: str, args: Mapping[str, Any], exact: bool = False) -> str:
    """One spelling per call: key order, spacing, quotes and defaults do not matter.

    `exact` (for calls that wrote) keeps quotes and inner spacing, which are the work itself there;
    one-line shell commands are normalised all the same.
    """
    kept = {
        str(key): _canonical_value(str(key), value, exact)
        for key, value in args.items()
        if not any(value is empty or value == empty for empty in _EMPTY)
        or value == 0
        and value is not False
    }
    return name.strip().lower() + json.dumps(kept, sort_keys=True, ensure_ascii=False, default=str)


def _canonical_value(key: str, value: object, exact: bool) -> object:
    if isinstance(value, Mapping):
        return {str(k): _canonical_value(str(k), v, exact) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_canonical_value(key, item, exact) for item in value]
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float):
        return f"{value:g}" if abs(value) < 1e6 else str(value)
    text = str(value).strip()
    shell = key in _SHELL_ARGS
    if "\n" in text or (exact and not shell):
        return text
    if shell:
        text = _SHELL_TAIL.sub("", text)
    text = _DOT_SLASH.sub("", _QUOTES.sub("", text))
    return _AROUND_SIGNS.sub(r"\1", " ".join(text.split())).rstrip("/") or "/"


def strip_echo(text: str, args: Mapping[str, Any]) -> str:
    """`text` without the arguments it repeats: a paraphrased call must not look new by its echo."""
    values = sorted(_strings(args), key=len, reverse=True)[:8]
    for value in values:
        if 3 <= len(value) <= 1000 and value in text:
            text = text.replace(value, "<arg>")
    return text


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value.strip()]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in _strings(item)]
    return []


_WORD = re.compile(r"[A-Za-z_][\w-]{2,}")


def words(args: Mapping[str, Any]) -> set[str]:
    """The words of all string arguments (lower case, from the first 600 characters of each)."""
    found: set[str] = set()
    for text in _strings(args)[:8]:
        found.update(word.lower() for word in _WORD.findall(text[:600]))
    return found
