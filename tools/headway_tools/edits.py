"""The pure core of edit: find one fragment in a text and say what replaces it.

What stands there exactly as sent is meant. Otherwise a line end matches `\\n` and `\\r\\n` alike,
and what is written takes the line ends that stood there. Nothing else is ever matched loosely.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from headway_tools.errors import ToolFailure
from headway_tools.mismatch import explain

_ENDS: Final = re.compile("\r\n|\n")
_BLOCK: Final = 2**16
_MOST_MATCHES: Final = 1_000
_MOST_SHOWN: Final = 50


@dataclass(frozen=True)
class Edit:
    """`text[start:end]` becomes `replacement`; everything else stays."""

    start: int
    end: int
    replacement: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]


@dataclass(frozen=True)
class Change:
    """What an edit does, in whole lines: how many go, how many come, and where."""

    line: int
    """First line that differs, from 1."""
    lines_removed: int
    lines_added: int


def plan_edit(text: str, old: str, new: str) -> Edit:
    """The edit that turns the only occurrence of `old` into `new`.

    `ToolFailure`: no_change, no_match (with the nearest lines and the exact difference),
    ambiguous (with the line of every occurrence, overlapping ones included).
    """
    if old == new:
        raise ToolFailure(
            "no_change", "old_text and new_text are the same", "send another new_text"
        )
    edit = _as_sent(text, old, new) if "\r\n" in old else None
    if edit is None:
        edit = _with_any_ends(text, old, new)
    if edit.replacement == text[edit.start : edit.end]:
        raise ToolFailure("no_change", "the file already reads like new_text", "go on")
    return edit


def describe(text: str, edit: Edit) -> Change:
    """How `edit` changes the lines of `text`."""
    first = text.rfind("\n", 0, edit.start) + 1
    last = text.find("\n", edit.end)
    last = len(text) if last < 0 else last + 1
    before = _lines(text[first:last])
    after = _lines(text[first : edit.start] + edit.replacement + text[edit.end : last])
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    line = text.count("\n", 0, first) + head + 1
    return Change(line, len(before) - head - tail, len(after) - head - tail)


def preview(text: str, change: Change, context: int = 2, most: int = 12) -> str:
    """The changed lines of the new `text` with their neighbours, numbered, at most `most`."""
    first = max(1, change.line - context)
    last = change.line + change.lines_added - 1 + context
    lines = text.removesuffix("\n").split("\n")[first - 1 : last]
    shown = [f"{number}\t{_clipped(line)}" for number, line in enumerate(lines[:most], first)]
    if len(lines) > most:
        shown.append(f"… {len(lines) - most} more lines")
    return "\n".join(shown)


def _as_sent(text: str, old: str, new: str) -> Edit | None:
    whole = (at for at in _occurrences(text, old) if not _cuts_an_end(text, at, at + len(old)))
    start = _only(text, whole)
    return None if start is None else Edit(start, start + len(old), new)


def _with_any_ends(text: str, old: str, new: str) -> Edit:
    """A sent `\\r\\n` is a line end, or a lone `\\r` and a line end: both are looked for."""
    plain = _plain(text)
    meant = (_occurrences(plain, reading) for reading in {old, _plain(old)})
    found = _only(plain, chain.from_iterable(meant))
    if found is None:
        raise explain(plain, _plain(old))
    as_written = "\r\n" in new and "\r\n" not in old
    if not plain.startswith(old, found):
        old, new = _plain(old), _plain(new)
    start, end = (_position(text, plain, place) for place in (found, found + len(old)))
    return Edit(start, end, new if as_written else _with_line_ends_of(text, start, end, old, new))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _only(text: str, places: Iterator[int]) -> int | None:
    """The one of `places` in `text`; None without any, `ToolFailure` for several."""
    starts = sorted(islice(places, _MOST_MATCHES))
    if len(starts) > 1:
        raise _ambiguous(text, starts)
    return starts[0] if starts else None


def _occurrences(text: str, old: str) -> Iterator[int]:
    position = text.find(old)
    while position >= 0:
        yield position
        position = text.find(old, position + 1)


def _cuts_an_end(text: str, start: int, end: int) -> bool:
    """Whether a `\\r\\n` stands across the edge of `text[start:end]`."""
    return any(place and text.startswith("\r\n", place - 1) for place in (start, end))


def _position(text: str, plain: str, place: int) -> int:
    """Where in `text` the character `place` of `plain` is, its copy with plain line ends."""
    if len(plain) == len(text):
        return place
    column = place - plain.rfind("\n", 0, place) - 1
    return _line_start(text, plain.count("\n", 0, place)) + column


def _line_start(text: str, line: int) -> int:
    """Where line `line`, from 0, begins."""
    position = 0
    while (count := text.count("\n", position, position + _BLOCK)) < line:
        line, position = line - count, position + _BLOCK
    for _ in range(line):
        position = text.index("\n", position) + 1
    return position


def _ambiguous(text: str, starts: list[int]) -> ToolFailure:
    numbers, line, position = [], 1, 0
    for start in starts:
        line += text.count("\n", position, start)
        position = start
        numbers.append(line)
    count = f"at least {len(starts)}" if len(starts) == _MOST_MATCHES else str(len(starts))
    return ToolFailure(
        "ambiguous",
        f"old_text occurs {count} times; nothing was changed",
        "send more of the lines around the one you mean",
        lines=numbers[:_MOST_SHOWN],
    )


def _with_line_ends_of(text: str, start: int, end: int, old: str, new: str) -> str:
    """`new` with the line ends of the lines it replaces."""
    if "\n" not in new:
        return new
    ends = _ENDS.findall(text[start:end])
    *old_lines, _ = old.split("\n")
    *lines, last = new.split("\n")
    head = _common(old_lines, lines)
    tail = _common(old_lines[head:][::-1], lines[head:][::-1])
    middle, behind = ends[head : len(ends) - tail], ends[len(ends) - tail :]
    missing = len(lines) - head - tail - len(middle)
    filler = (ends[:head] + middle)[-1:] or [_end_near(text, start)]
    middle = (middle + filler * missing)[: len(lines) - head - tail]
    pairs = zip(lines, ends[:head] + middle + behind, strict=True)
    return "".join(line + end for line, end in pairs) + last


def _end_near(text: str, position: int) -> str:
    """The line end of the line at `position`, else of the one before, else `\\n`."""
    found = text.find("\n", position)
    if found < 0:
        found = text.rfind("\n", 0, position)
    return "\r\n" if found > 0 and text[found - 1] == "\r" else "\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends; a last one without an end counts."""
    lines = text.split("\n")
    whole = [line + "\n" for line in lines[:-1]]
    return whole + lines[-1:] if lines[-1] else whole


def _common(one: list[str], other: list[str]) -> int:
    """How many elements both begin with."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _clipped(line: str) -> str:
    line = line.removesuffix("\r")
    return line if len(line) <= 200 else line[:200] + "…"
