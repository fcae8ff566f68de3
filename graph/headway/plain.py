"""Text and JSON that every server and every saver can carry: no lone surrogates, no NUL, no NaN."""

import hashlib
import math
import re
from collections.abc import Set as AbstractSet
from typing import Any

_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")
_WIDEST = 1 << 63


def sendable(text: str) -> bool:
    """Whether `text` can be encoded as UTF-8 and holds no NUL (PostgreSQL refuses one)."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_text(text: str) -> str:
    """`text` with each lone surrogate or NUL shown as U+FFFD."""
    return text if sendable(text) else _UNSENDABLE.sub("\ufffd", text)


def clean_json(value: Any) -> Any:
    """`value` with its strings cleaned, and numbers that are no JSON (NaN) or wider than
    64 bits (msgpack cannot save them) as text."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value if _plain_scalar(value) else str(value)


def is_plain(value: Any) -> bool:
    """Whether `clean_json(value)` would change nothing."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, dict):
        return all(
            isinstance(key, str) and sendable(key) and is_plain(item) for key, item in value.items()
        )
    if isinstance(value, list):
        return all(is_plain(item) for item in value)
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return -_WIDEST <= value < 2 * _WIDEST
    return value is None


def bounded(text: str, limit: int) -> str:
    """The head of `text` with a note of what is missing, at most `limit` characters."""
    if len(text) <= limit:
        return text
    note = f"… ({len(text)} characters)"
    return text[: limit - len(note)] + note


def short_id(taken: AbstractSet[str], *seed: object) -> str:
    """A call id from `seed` that is not among `taken`: nine letters or digits, the one form that
    every server accepts (Mistral's takes no other)."""
    salt = 0
    while True:
        digest = hashlib.sha256(repr((seed, salt)).encode(errors="replace")).hexdigest()[:9]
        if digest not in taken:
            return digest
        salt += 1
