"""Lines of a log that tell what went wrong, found in time linear in the text."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from headway.truncation.boundaries import cut_back, cut_forward

_WORDS: Final = (
    "error",
    "fail",
    "exception",
    "traceback",
    "panic",
    "fatal",
    "abort",
    "segmentation",
    "killed",
    "denied",
    "assert",
    "sigsegv",
    "not found",
    "not ok",
    "no such file",
    "no rule to make",
    "undefined",
    "unable to",
    "cannot",
    "caused by",
    "conflict",
    "timed out",
    "fehler",
    "fehlgeschlagen",
    "erreur",
    "échec",
    "ошибка",
    "错误",
    "失败",
    "エラー",
    "失敗",
)
_SIGNS: Final = ("ERR!", "\nE  ", "*** ", "✕", "✗", "✘")
"""What test runners, npm and make write in place of a word."""

_SPELLINGS: Final = frozenset(
    (*_SIGNS, *(how(word) for word in _WORDS for how in (str, str.capitalize, str.upper)))
)

MOST_HITS: Final = 400
"""Places looked at for each spelling, from the start and as many from the end."""

LOOKED_AT: Final = 1_000
"""Characters of a line, around its first such word, on which the patterns below work."""

_PLAIN_FAILURE = re.compile(
    r"^E\s{2,}\S|\bTraceback \(most recent|\bpanicked at\b|\bFAIL(?:ED|URE)?\b|\bERROR\b"
    r"|\b[A-Z]\w*(?:Error|Exception|Failure)\b|\b(?:fatal|error)(?:\[\w+\])?:|\bSegmentation fault"
    r"|\bAssertion\b.*\bfailed|\bERR!|\*\*\* |^\s*(?:not ok\b|[✕✗✘]|Caused by:|CONFLICT\b)"
    r"|\bSIGSEGV\b|\bundefined reference\b|: command not found|: No such file or directory"
    r"|\b(?:Errors|Failures): [1-9]|\b(?:Fehler|[Ee]rreur|[Оо]шибка|错误|エラー) ?[:：]"
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no|zero) (?:errors?|failures?|failed|failing)\b"
    r"|\b(?:errors?|failures?|failed)\W{1,2}0\b",
    re.IGNORECASE,
)


def signal_lines(lines: Sequence[str], room: int) -> tuple[list[int], int]:
    """Indices of up to `room` lines that look like failures, and how many there are of them.

    Plain failures come before mere mentions; of too many, the first and the last are kept.
    """
    found = [i for i in _mentions(lines) if _mentioned(excerpt(lines[i], LOOKED_AT))]
    plain = [i for i in found if _PLAIN_FAILURE.search(excerpt(lines[i], LOOKED_AT))]
    chosen = _ends(plain, room)
    if len(chosen) < room:
        known = set(plain)
        chosen = sorted([*chosen, *_ends([i for i in found if i not in known], room - len(chosen))])
    return chosen, len(found)


def excerpt(line: str, characters: int) -> str:
    """At most `characters` of `line`, around the first word that speaks of a failure."""
    if len(line) <= characters:
        return line
    place = min((at for word in _SPELLINGS if (at := line.find(word)) >= 0), default=0)
    first = cut_forward(line, max(place - characters // 3, 0))
    end = cut_back(line, first + characters - 2)
    return f"{'…' if first else ''}{line[first:end]}{'…' if end < len(line) else ''}"


def _mentioned(line: str) -> bool:
    """Whether a failure is left when those are taken away that did not happen ("0 errors")."""
    said = f"\n{_NO_FAILURE.sub('', line)}"
    return any(spelling in said for spelling in _SPELLINGS)


def _ends(indices: Sequence[int], room: int) -> list[int]:
    if len(indices) <= room:
        return list(indices)
    first = room - room // 2
    return [*indices[:first], *indices[len(indices) - room // 2 :]]


def _mentions(lines: Sequence[str]) -> list[int]:
    """Indices of lines that hold one of the words."""
    text = "".join(f"\n{line}" for line in lines)
    ends = list(accumulate(len(line) + 1 for line in lines))
    places = {place for spelling in _SPELLINGS for place in _places(text, spelling)}
    return sorted({bisect_right(ends, place) for place in places})


def _places(text: str, word: str) -> Iterable[int]:
    place = -1
    for _ in range(MOST_HITS):
        place = text.find(word, place + 1)
        if place < 0:
            return
        yield place
    low, place = place, len(text)
    for _ in range(MOST_HITS):
        place = text.rfind(word, low + 1, place + len(word) - 1)
        if place < 0:
            return
        yield place
