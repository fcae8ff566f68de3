"""A page of numbered lines out of a stream of text, in bounded memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MOST_CHARACTERS: Final = 40_000
"""Of a whole page; it ends behind the line that reaches this."""
MOST_PER_LINE: Final = 2_000


@dataclass(frozen=True)
class Page:
    """Lines `start`, `start + 1`, … without line ends; lines are what `grep -n` counts."""

    start: int
    lines: tuple[str, ...]
    total: int
    """Lines in the whole text; a last line without its end counts."""

    @property
    def end(self) -> int:
        """Number of the last line on the page; `start - 1` for an empty one."""
        return self.start + len(self.lines) - 1

    def numbered(self) -> str:
        """Each line as number, tab, text."""
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(self.lines, self.start))


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
        self.open = False
        self.kept = ""
        self.length = 0

    def feed(self, chunk: str) -> None:
        if not chunk:
            return
        self.open = not chunk.endswith("\n")
        breaks = chunk.count("\n")
        if self._full() or self.number + breaks < self.start:
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
        return self.number >= self.start and not self._full()

    def _full(self) -> bool:
        return len(self.lines) >= self.limit or self.characters >= MOST_CHARACTERS

    def _extend(self, piece: str) -> None:
        if self._wanted():
            self.length += len(piece)
            self.kept += piece[: MOST_PER_LINE - len(self.kept)]

    def _close(self) -> None:
        if self._wanted():
            self.lines.append(_capped(self.kept, self.length))
            self.characters += len(self.kept)
        self.number += 1
        self.kept, self.length = "", 0


def _capped(kept: str, length: int) -> str:
    if length == len(kept):
        return kept.removesuffix("\r")
    return f"{kept}… [{length - len(kept)} more characters in this line]"
