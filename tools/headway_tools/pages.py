"""A page of numbered lines out of a stream of text, in bounded memory."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MOST_CHARACTERS: Final = 11_000
"""Of a page as JSON: it ends before the line that would exceed this, so a result stays whole."""
MOST_PER_LINE: Final = 2_000


@dataclass(frozen=True)
class Page:
    """Lines `start`, `start + 1`, … as number, tab, text; lines are what `grep -n` counts."""

    start: int
    lines: tuple[str, ...]
    total: int
    """Lines in the whole text; a last line without its end counts."""

    @property
    def end(self) -> int:
        """Number of the last line on the page; `start - 1` for an empty one."""
        return self.start + len(self.lines) - 1


def paginate(chunks: Iterable[str], start: int, limit: int) -> Page:
    """Up to `limit` lines from line `start` (from 1) of the text that `chunks` join to."""
    pager = _Pager(start, limit)
    for chunk in chunks:
        pager.feed(chunk)
    return pager.page()


class _Pager:
    def __init__(self, start: int, limit: int) -> None:
        self.start = start
        self.limit = limit
        self.number = 1
        self.lines: list[str] = []
        self.characters = 0
        self.full = limit <= 0
        self.open = False
        self.kept = ""
        self.length = 0

    def feed(self, chunk: str) -> None:
        if not chunk:
            return
        self.open = not chunk.endswith("\n")
        breaks = chunk.count("\n")
        if self.full or self.number + breaks < self.start:
            self.number += breaks
            return
        first, *others = chunk.split("\n")
        self._extend(first)
        for piece in others:
            self._close()
            self._extend(piece)

    def page(self) -> Page:
        total = self.number if self.open else self.number - 1
        if self.open:
            self._close()
        return Page(self.start, tuple(self.lines), total)

    def _wanted(self) -> bool:
        return self.number >= self.start and not self.full

    def _extend(self, piece: str) -> None:
        if self._wanted():
            self.length += len(piece)
            self.kept += piece[: MOST_PER_LINE - len(self.kept)]

    def _close(self) -> None:
        if self._wanted():
            self._take(f"{self.number}\t{_capped(self.kept, self.length)}")
        self.number += 1
        self.kept, self.length = "", 0

    def _take(self, row: str) -> None:
        self.characters += len(json.dumps(row, ensure_ascii=False))
        self.full = self.characters > MOST_CHARACTERS and bool(self.lines)
        if not self.full:
            self.lines.append(row)
            self.full = len(self.lines) >= self.limit


def _capped(kept: str, length: int) -> str:
    if length == len(kept):
        return kept.removesuffix("\r")
    return f"{kept}… [{length - len(kept)} more characters in this line]"
