"""Why a fragment was not found: the nearest lines and the exact difference, in words.

Lines are ranked by the letter triples they share with the fragment's longest lines; the best are
compared line by line. Bounded: 100,000 lines of the file, 20 of the fragment, 300 characters each.
"""

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nlargest
from typing import Final

from headway_tools.errors import ToolFailure

_PREFIX: Final = re.compile(r"^ *\d+\t", re.MULTILINE)
_MOST_LINES: Final = 100_000
_MOST_ANCHORS: Final = 2
_MOST_COMPARED: Final = 12
_MOST_SENT: Final = 20
_MOST_SHOWN: Final = 3
_LOWEST_SCORE: Final = 0.4
_LONG: Final = 300
_MOST_PIECES: Final = 25
_BLANKS: Final = {" ": "space", "\t": "tab"}


def explain(text: str, old: str) -> ToolFailure:
    """The no_match failure for `old`, which does not occur in `text`; both with plain line ends."""
    bare = _PREFIX.sub("", old)
    if bare != old and bare in text:
        return ToolFailure(
            "no_match",
            "old_text carries the line numbers that read_file shows",
            "send it without the number and tab in front of each line; new_text as well",
        )
    fragment, lines = old.split("\n"), text.removesuffix("\n").split("\n")
    windows = _nearest(lines[:_MOST_LINES], fragment)
    if not windows:
        return ToolFailure(
            "no_match", "old_text does not occur, nor anything like it", "read the file again"
        )
    return ToolFailure(
        "no_match",
        f"old_text does not occur: {_difference(lines, fragment, windows[0].first)}",
        "copy the text exactly as the file has it",
        nearest=[_shown(lines, window, len(fragment)) for window in windows],
    )


@dataclass(frozen=True)
class _Window:
    """Lines of the file, from index `first`, laid beside the fragment's lines."""

    first: int
    score: float


def _nearest(lines: list[str], fragment: list[str]) -> list[_Window]:
    """The best windows, best first; none that has too little in common."""
    firsts = {first for anchor in _anchors(fragment) for first in _places(lines, fragment, anchor)}
    windows = [_Window(first, _score(lines, fragment, first)) for first in firsts if first >= 0]
    windows.sort(key=lambda window: (-window.score, window.first))
    return [window for window in windows if window.score >= _LOWEST_SCORE][:_MOST_SHOWN]


def _anchors(fragment: list[str]) -> list[int]:
    """Indices of the longest lines of the fragment, blank ones left out."""
    filled = (index for index, line in enumerate(fragment[:_MOST_SENT]) if line.strip())
    return nlargest(_MOST_ANCHORS, filled, key=lambda index: len(fragment[index].strip()))


def _places(lines: list[str], fragment: list[str], anchor: int) -> list[int]:
    """Where the fragment would begin if its line `anchor` were one of the lines most like it."""
    pieces = _pieces(fragment[anchor].strip()[:_LONG])
    shared = ((sum(p in line for p in pieces), -index) for index, line in enumerate(lines))
    best = nlargest(_MOST_COMPARED, (pair for pair in shared if pair[0]))
    return [-index - anchor for _, index in best]


def _pieces(wanted: str) -> list[str]:
    size = _piece(wanted)
    pieces = [wanted[at : at + size] for at in range(len(wanted) - size + 1)]
    return pieces[:: 1 + len(pieces) // _MOST_PIECES]


def _piece(text: str) -> int:
    """Characters in a row that count as something in common: single ones in short texts only."""
    return 3 if len(text) >= 8 else 1


def _score(lines: list[str], fragment: list[str], first: int) -> float:
    """How much of the fragment stands in the window, from 0 to 1, weighted by length."""
    compared = fragment[:_MOST_SENT]
    alike = (
        (len(sent) + 1) * _likeness(_line(lines, first + offset), sent)
        for offset, sent in enumerate(compared)
    )
    return sum(alike) / sum(len(sent) + 1 for sent in compared)


def _likeness(line: str | None, sent: str) -> float:
    if line is None:
        return 0.0
    if line == sent:
        return 1.0
    line, sent = _excerpt(line, sent), sent[:_LONG]
    blocks = SequenceMatcher(None, line, sent, autojunk=False).get_matching_blocks()
    smallest = _piece(sent)
    return sum(block.size for block in blocks if block.size >= smallest) / max(1, len(sent))


def _difference(lines: list[str], fragment: list[str], first: int) -> str:
    """Where the window differs from the fragment first; both ends may stand within a line."""
    for offset, sent in enumerate(fragment):
        line = _line(lines, first + offset)
        is_first, is_last = offset == 0, offset == len(fragment) - 1
        if line is None:
            return _beyond_end(lines, sent, is_last)
        found = _first_difference(line, sent, is_first, is_last)
        if found:
            return f"line {first + offset + 1}{found}"
    return f"lines {first + 1} to {first + len(fragment)} differ in their line ends"


def _beyond_end(lines: list[str], sent: str, is_last: bool) -> str:
    if is_last and not sent:
        return f"the file's last line {len(lines)} has no line end, old_text has one"
    return f"the file ends with line {len(lines)}, old_text goes on"


def _first_difference(line: str, sent: str, is_first: bool, is_last: bool) -> str:
    if _stands_in(line, sent, is_first, is_last):
        return ""
    if max(len(line), len(sent)) > _LONG:
        return _behind_common_start(line, sent)
    codes = SequenceMatcher(None, line, sent, autojunk=False).get_opcodes()
    if is_first and codes[0][0] == "delete":
        codes = codes[1:]
    if is_last and codes and codes[-1][0] == "delete":
        codes = codes[:-1]
    for kind, i, i_end, j, j_end in codes:
        if kind != "equal":
            return f", column {i + 1} {_told(line[i:i_end], sent[j:j_end])}"
    return " differs in where its parts stand"


def _behind_common_start(line: str, sent: str) -> str:
    """For long lines: where the longest beginning of `sent` that stands in `line` ends."""
    length = bisect_left(range(1, len(sent) + 1), True, key=lambda n: sent[:n] not in line)
    column = line.find(sent[:length]) + length
    here, there = line[column : column + 20], sent[length : length + 20]
    return f", column {column + 1} {_told(here, there)}"


def _stands_in(line: str, sent: str, is_first: bool, is_last: bool) -> bool:
    if is_first and is_last:
        return sent in line
    if is_first:
        return line.endswith(sent)
    return line.startswith(sent) if is_last else line == sent


def _told(here: str, sent: str) -> str:
    if not sent:
        return f"has {_named(here)} that old_text lacks"
    if not here:
        return f"lacks {_named(sent)} that old_text has"
    return f"has {_named(here)} where old_text has {_named(sent)}"


def _named(text: str) -> str:
    """Blanks by count, what cannot be seen or told apart by code point, the rest quoted."""
    if len(set(text)) == 1 and text[0] in _BLANKS:
        blank = _BLANKS[text[0]]
        return f"a {blank}" if len(text) == 1 else f"{len(text)} {blank}s"
    odd = [character for character in text if not (character.isascii() and character.isprintable())]
    points = ", ".join(_code_point(character) for character in dict.fromkeys(odd[:4]))
    if len(text) == 1 and odd:
        return points
    quoted = repr(text if len(text) <= 60 else text[:60] + "…")
    return f"{quoted} ({points})" if odd else quoted


def _code_point(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".rstrip()


def _line(lines: list[str], index: int) -> str | None:
    return lines[index] if index < len(lines) else None


def _excerpt(line: str, sent: str) -> str:
    """Of a very long line the part around the first triple of `sent` that it holds."""
    if len(line) <= _LONG:
        return line
    for at in range(0, min(len(sent), _LONG), 3):
        position = line.find(sent[at : at + 3])
        if position >= 0:
            start = max(0, position - at)
            return line[start : start + min(len(sent), _LONG) + 20]
    return line[:_LONG]


def _shown(lines: list[str], window: _Window, count: int) -> dict[str, object]:
    rows = lines[window.first : window.first + min(count, 5)]
    texts = (row if len(row) <= 200 else row[:200] + "…" for row in rows)
    numbered = "\n".join(f"{n}\t{text}" for n, text in enumerate(texts, window.first + 1))
    return {"line": window.first + 1, "text": numbered}
