"""Shortening of one text: head, tail, and the lines between them that tell of failures.

Everything but slicing and counting works on at most `SCANNED` characters at each end, so 100 MB
cost no second copy. A shortened text fits its limits, hence is never shortened again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from headway.truncation.boundaries import cut_back, cut_forward
from headway.truncation.clean import terminal_text
from headway.truncation.limits import Room
from headway.truncation.notice import (
    Gap,
    Source,
    clipped,
    gap_line,
    repeated,
    signals_line,
)
from headway.truncation.signals import excerpt, signal_lines
from headway_tools.values import clean_text, line_count

SCANNED: Final = 4_000_000
"""Characters at each end that are cleaned and searched."""

HEAD_SHARE: Final = 0.4
"""Of what is shown; the rest is the tail, where most failures stand."""

SIGNAL_SHARE: Final = 0.2
"""Of the limits, for lines from the middle."""

SIGNAL_CHARACTERS: Final = 300
"""Of one such line."""

FEWEST_EQUAL: Final = 4
"""Equal lines in a row that are shown as one with their count."""

FEWEST: Final = 500
"""Characters below which only the beginning of a text is shown."""

SHORTEST_PIECE: Final = 60
"""Characters of a line that are worth showing without its rest."""

_GAP_CHARACTERS: Final = 330
"""Room for the line in place of the gap and the one above the failures."""


@dataclass(frozen=True)
class Part:
    """Consecutive lines at one end of a text: as recorded and as shown, equally many."""

    raw: list[str]
    shown: list[str]
    first: int
    """Number of its first line, from 1."""
    start: int
    """Offset of its first character in the whole."""


@dataclass(frozen=True)
class Edge:
    """What is kept of a part: whole lines, and perhaps a piece of the next one inwards."""

    text: list[str]
    lines: int
    """Lines of the part that are kept whole."""
    piece: int = 0
    """Characters kept of the next one."""


def shorten_text(text: str, room: Room, source: Source, *, terminal: bool = True) -> str:
    """`text` within `room`; cleaned as a terminal would where `terminal`."""
    clean = terminal_text if terminal else clean_text
    if len(text) <= max(2 * SCANNED, room.characters):
        return _whole(text, clean(text), room, source)
    cut = cut_back(text, text.rfind("\n", SCANNED // 2, SCANNED) + 1 or SCANNED)
    last = len(text) - SCANNED
    resume = cut_forward(text, text.find("\n", last, last + SCANNED // 2) + 1 or last)
    lines = line_count(text)
    tail_raw = text[resume:]
    tail_first = text.count("\n", 0, resume) + 1
    head = _part(text[:cut], clean(text[:cut]), 1, 0)
    tail = _part(tail_raw, clean(tail_raw), tail_first, resume)
    return _joined(head, tail, lines, len(text), room, source)


def fits(text: str, room: Room) -> bool:
    return len(text) <= room.characters and text.count("\n") < room.lines


def _whole(text: str, shown: str, room: Room, source: Source) -> str:
    if fits(shown, room):
        return shown
    if room.characters < FEWEST:
        return clip(shown, room)
    part = _part(text, shown, 1, 0)
    folded = _all_within(part.shown, room)
    if folded is not None:
        return folded
    return _joined(part, part, line_count(text), len(text), room, source)


def clip(text: str, room: Room) -> str:
    """The beginning of `text`, with the number of characters left out where there is room."""
    if fits(text, room):
        return text
    begin = "\n".join(text[: room.characters].split("\n", room.lines)[: room.lines])
    note = clipped(len(text))
    if room.characters < 2 * len(note):
        return begin[: cut_back(begin, max(room.characters, 0))]
    end = cut_back(begin, room.characters - len(note))
    return begin[:end] + clipped(len(text) - end)


def _part(raw: str, shown: str, first: int, start: int) -> Part:
    lines = shown.split("\n")
    return Part(lines if shown is raw else raw.split("\n"), lines, first, start)


def _rows(lines: Sequence[str], step: int) -> Iterator[tuple[str, int]]:
    """`lines` from either end, runs of equal ones as one row; each with the lines it covers."""
    for line, run in groupby(lines if step == 1 else reversed(lines)):
        count = sum(1 for _ in run)
        if count >= FEWEST_EQUAL and line:
            yield line + repeated(count), count
        else:
            yield from ((line, 1) for _ in range(count))


def _all_within(lines: Sequence[str], room: Room) -> str | None:
    """The rows as one text if they fit; gives up as soon as they do not."""
    kept: list[str] = []
    left = room.characters + 1
    for text, _ in islice(_rows(lines, 1), room.lines + 1):
        left -= len(text) + 1
        kept.append(text)
        if left < 0 or len(kept) > room.lines:
            return None
    return "\n".join(kept)


def _joined(head: Part, tail: Part, lines: int, size: int, room: Room, source: Source) -> str:
    """Head, gap, failures from the gap, tail."""
    signal_room = Room(int(room.characters * SIGNAL_SHARE), int(room.lines * SIGNAL_SHARE))
    left = room.characters - _GAP_CHARACTERS - signal_room.characters
    rows = room.lines - 2 - signal_room.lines
    top = Room(int(left * HEAD_SHARE), int(rows * HEAD_SHARE))
    above = _edge(head, top, 1)
    below = _edge(tail, Room(left - top.characters, rows - top.lines), -1)
    gap = _gap(head, tail, above, below, lines, size)
    middle = [gap_line(gap, source), *_signals(head, tail, above, below, signal_room)]
    return "\n".join([*above.text, *middle, *below.text])


def _edge(part: Part, room: Room, step: int) -> Edge:
    """As many rows as fit, from the beginning (`step` 1) or the end (-1).

    Where a line too long for the rest is next, a piece of it is kept.
    """
    kept: list[str] = []
    lines, left = 0, room.characters
    for text, covers in _rows(part.shown, step):
        if len(text) + 1 > left or len(kept) == room.lines:
            break
        kept.append(text)
        lines, left = lines + covers, left - len(text) - 1
    piece = ""
    if lines < len(part.shown) and len(kept) < room.lines and left > SHORTEST_PIECE:
        piece = _piece(part.shown[lines if step == 1 else -1 - lines], left - 1, step)
        kept.append(piece)
    return Edge(kept[::step], lines, len(piece))


def _piece(line: str, room: int, step: int) -> str:
    return (
        line[: cut_back(line, room)] if step == 1 else line[cut_forward(line, len(line) - room) :]
    )


def _gap(head: Part, tail: Part, above: Edge, below: Edge, lines: int, size: int) -> Gap:
    begin = head.start + _length(head.raw[: above.lines])
    offset = None
    if above.piece:
        exact = head.raw[above.lines] is head.shown[above.lines]
        offset = begin = begin + (above.piece if exact else 0)
    shown = below.piece + _length(tail.raw[len(tail.raw) - below.lines :])
    end = min(size, size - shown + (not below.piece))
    last = tail.first + len(tail.shown) - below.lines - 1
    unseen = 0 if head is tail else tail.start - head.start - _length(head.raw) + 1
    return Gap(head.first + above.lines, last, lines, max(end - begin, 0), offset, unseen)


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def _signals(head: Part, tail: Part, above: Edge, below: Edge, room: Room) -> list[str]:
    """Lines of failures between the edges, each with its number, under a line that says so."""
    first = above.lines + bool(above.piece)
    last = len(tail.shown) - below.lines - bool(below.piece)
    if head is tail:
        lines, turn, number = head.shown[first:last], len(head.shown), head.first + first
    else:
        lines, turn = [*head.shown[first:], *tail.shown[:last]], len(head.shown) - first
        number = head.first + first
    chosen, found = signal_lines(lines, max(room.lines - 1, 0))
    kept: list[str] = []
    left = room.characters
    for i in chosen:
        at = number + i if i < turn else tail.first + i - turn
        row = f"{at}: {excerpt(lines[i], SIGNAL_CHARACTERS)}"
        left -= len(row) + 1
        if left < 0:
            break
        kept.append(row)
    return [signals_line(len(kept), found), *kept] if kept else []
