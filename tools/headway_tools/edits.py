"""The pure core of edit: find one fragment in a text and say what replaces it.

A line end in the fragment matches `\\n` and `\\r\\n` alike; what is written takes the line ends
that stood there. Nothing else is ever matched loosely, so an edit cannot span other lines.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from headway_tools.errors import ToolFailure
from headway_tools.mismatch import explain

_LINE_END: Final = "(?:\r\n|(?<!\r)\n)"
_ENDS: Final = re.compile("\r\n|\n")
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
    spans = _find(text, old)
    if not spans and "\r\n" in old:
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        spans = _find(text, old)
    if not spans:
        raise explain(text, old)
    if len(spans) > 1:
        raise _ambiguous(text, [start for start, _ in spans])
    start, end = spans[0]
    edit = Edit(start, end, _with_line_ends_of(text, start, end, old, new))
    if edit.replacement == text[start:end]:
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
    lines = text.split("\n")[first - 1 : last]
    shown = [f"{number}\t{_clipped(line)}" for number, line in enumerate(lines[:most], first)]
    if len(lines) > most:
        shown.append(f"… {len(lines) - most} more lines")
    return "\n".join(shown)


def _find(text: str, old: str) -> list[tuple[int, int]]:
    """Spans of `old`: `\\n` in it stands for either line end, `\\r\\n` for itself."""
    parts = (_LINE_END.join(map(re.escape, part.split("\n"))) for part in old.split("\r\n"))
    pattern = re.compile("\r\n".join(parts))
    return list(islice(_overlapping(text, pattern), _MOST_MATCHES))


def _overlapping(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    position = 0
    while match := pattern.search(text, position):
        yield match.span()
        position = match.start() + 1


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
    """`new` with the line ends of the lines it replaces; explicit `\\r` is taken as written."""
    if "\r\n" in old or "\r\n" in new or "\n" not in new:
        return new
    ends = _ENDS.findall(text[start:end])
    old_lines, lines = old.split("\n"), new.split("\n")
    room = min(len(ends), len(lines) - 1)
    tail = min(room, _common(old_lines[::-1], lines[::-1]))
    kept, last = ends[: len(ends) - tail], ends[len(ends) - tail :]
    middle = len(lines) - 1 - tail
    filler = kept[-1] if kept else _end_near(text, start)
    chosen = (kept[:middle] + [filler] * (middle - len(kept)) + last) + [""]
    return "".join(line + end for line, end in zip(lines, chosen, strict=True))


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
