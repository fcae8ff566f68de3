"""Ids of calls, in the one form that every server accepts."""

import hashlib
import re
from collections.abc import Set as AbstractSet
from typing import Final

from headway_tools.values import clean_text

LONGEST: Final = 64
"""Characters of an id or a name that every server takes."""

_NAME: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST}}}")


def key(call_id: str | None) -> str:
    """The id by which a call and its answer find each other, whatever a host put there."""
    return clean_text(call_id or "")


def usable(call_id: str | None) -> bool:
    """Whether a request may hold this id."""
    return bool(call_id) and call_id == key(call_id) and len(call_id or "") <= LONGEST


def is_name(name: str) -> bool:
    """Whether a request may hold this name of a tool."""
    return _NAME.fullmatch(name) is not None


def as_name(name: str) -> str:
    """`name` as every server takes it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:LONGEST] or "unknown"


def short_id(taken: AbstractSet[str], *seed: object) -> str:
    """A call id from `seed` that is not among `taken`: nine letters or digits (Mistral's takes no
    other)."""
    salt = 0
    while True:
        digest = hashlib.sha256(repr((seed, salt)).encode(errors="replace")).hexdigest()[:9]
        if digest not in taken:
            return digest
        salt += 1
