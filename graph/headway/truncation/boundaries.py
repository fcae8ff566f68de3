"""Where a text may be cut: never inside what a reader sees as one character."""

import unicodedata
from typing import Final

MOST_STEPS: Final = 128
"""A cluster longer than this (stacked marks without end) is cut all the same."""

MOST_FLAGS: Final = 100_000
"""Regional indicators in a row that are counted; two make a flag."""

_JOINER = "\u200d"


def cut_back(text: str, at: int) -> int:
    """The last allowed place at or before `at`."""
    return _nearest(text, at, -1)


def cut_forward(text: str, at: int) -> int:
    """The first allowed place at or after `at`."""
    return _nearest(text, at, 1)


def _nearest(text: str, at: int, step: int) -> int:
    place = at
    for _ in range(MOST_STEPS):
        if not 0 < place < len(text) or not _joined(text, place):
            return min(max(place, 0), len(text))
        place += step
    return at


def _joined(text: str, place: int) -> bool:
    """The characters on both sides of `place` are shown as one."""
    left, right = text[place - 1], text[place]
    if right.isascii():
        return left == "\r" and right == "\n"
    if right == _JOINER or left == _JOINER or _extends(right):
        return True
    return _regional(left) and _regional(right) and _flags_before(text, place) % 2 == 1


def _extends(char: str) -> bool:
    """Combining marks, variation selectors, skin tones, tags, and later parts of a Hangul block."""
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
    )


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, place: int) -> int:
    """Regional indicators in a row before `place`."""
    first = place
    while first > max(place - MOST_FLAGS, 0) and _regional(text[first - 1]):
        first -= 1
    return place - first
