"""The words for what is left out and how to get it; they name a tool only where it is bound."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from headway_tools.blocks import READ_OUTPUT

MARK: Final = "[… "


class Source(NamedTuple):
    """Where the whole of a text is: the output id, perhaps a field of it, and who can read it."""

    output: str
    field: str | None
    readable: bool

    def call(self, place: str = "") -> str:
        """The call that reads on at `place` (`start=…` or `offset=…`)."""
        given = [f'id="{self.output}"', f'field="{self.field}"' if self.field else "", place]
        return f"{READ_OUTPUT}({', '.join(filter(None, given))})"

    def how(self, place: str) -> str:
        return f"read on: {self.call(place)}" if self.readable else "ask for less to see it"


@dataclass(frozen=True)
class Gap:
    """What stands between head and tail of a shortened text."""

    first: int
    """The first line left out, from 1; it may be shown in part."""
    last: int
    total_lines: int
    characters: int
    offset: int | None
    """Where the gap begins, if that is within line `first`."""
    unseen: int = 0
    """Characters of it in which nothing was looked for."""

    @property
    def place(self) -> str:
        return f"start={self.first}" if self.offset is None else f"offset={self.offset}"


def gap_line(gap: Gap, source: Source) -> str:
    """One line in place of the gap."""
    unseen = f"; {gap.unseen} of them not searched for failures" if gap.unseen else ""
    return f"{MARK}{_extent(gap)} left out{unseen}; {source.how(gap.place)} …]"


def _extent(gap: Gap) -> str:
    if gap.offset is None:
        lines = f"{gap.last - gap.first + 1} lines ({gap.first}–{gap.last} of {gap.total_lines})"
        return f"{lines}, {gap.characters} characters"
    if gap.first >= gap.last:
        return f"{gap.characters} characters of line {gap.first} (of {gap.total_lines})"
    lines = f"from line {gap.first} to line {gap.last} (of {gap.total_lines})"
    return f"{gap.characters} characters {lines}"


def signals_line(shown: int, found: int) -> str:
    return f"{MARK}failures in the part left out, by line number ({shown} of {found}): …]"


def repeated(times: int) -> str:
    """At the end of a line that stands for a run."""
    return f" {MARK}this line {times} times in a row …]"


def clipped(characters: int) -> str:
    """At the end of a text too short for more."""
    return f" {MARK}{characters} characters left out …]"
