"""Is this call a rewording of the one before, or the next place of a sweep?

A paraphrase keeps some words of an argument and changes others; a sweep changes one slot and
keeps the rest. The sketch of a call is a few short hashes, so that it fits into the memory.
"""

from collections.abc import Mapping
from typing import Any

from headway.progress.text import digest, mark, words

_ARGS = 3
_WORDS = 9


def sketch(args: Mapping[str, Any]) -> list[str]:
    """Per string argument: two characters for its key, four for its value, two for each word."""
    rows: list[str] = []
    for key in sorted(args)[:8]:
        value = args[key]
        if isinstance(value, str) and value.strip():
            marks = sorted(mark(word) for word in words({key: value}))
            rows.append(mark(key) + digest(value.strip()) + "".join(marks[:_WORDS]))
    return rows[:_ARGS]


def reworded(before: list[str], now: list[str]) -> bool:
    """True where an argument that differs shares words with its predecessor in a new shape."""
    old = {row[:2]: row for row in before}
    for row in now:
        other = old.get(row[:2])
        if other is None or other[2:6] == row[2:6]:
            continue
        mine, theirs = _marks(row), _marks(other)
        common = mine & theirs
        one_slot = len(mine - theirs) <= 1 and len(theirs - mine) <= 1 and len(mine) == len(theirs)
        if common and not (one_slot and len(mine) > 1) and len(common) * 5 >= len(mine | theirs):
            return True
    return False


def _marks(row: str) -> set[str]:
    return {row[i : i + 2] for i in range(6, len(row), 2)}
