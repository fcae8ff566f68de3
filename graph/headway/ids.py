"""Ids of calls, in the one form that every server accepts."""

import hashlib
from collections.abc import Set as AbstractSet


def short_id(taken: AbstractSet[str], *seed: object) -> str:
    """A call id from `seed` that is not among `taken`: nine letters or digits (Mistral's takes no
    other)."""
    salt = 0
    while True:
        digest = hashlib.sha256(repr((seed, salt)).encode(errors="replace")).hexdigest()[:9]
        if digest not in taken:
            return digest
        salt += 1
