"""Changes of files that are not this run's: whatever differs between how headway left the
workspace and how it found it again (`headway.state.Gap`).
"""

from collections.abc import Callable, Sequence
from typing import Final

from headway.state import Gap, State
from headway_tools.env import ToolEnv
from headway_tools.snapshots import Change, without_indexes

MOST_GAPS: Final = 50
"""Gaps of one run, and of all before it; every checkpoint holds them."""


def gap(env: ToolEnv, left: str, found: str) -> list[Gap]:
    """The gap between two snapshots; none where they hold the same, or one is not known here."""
    changes = without_indexes(env.changes(left, found))
    return [Gap(left=left, found=found)] if changes else []


def fewer(gaps: Sequence[Gap], first: int) -> list[Gap]:
    """`gaps`, with at most `MOST_GAPS` from `first` on: the newest are told as one, and what the
    run did between them counts as others' doing, too."""
    last = first + MOST_GAPS - 1
    return [*gaps[:last], *_as_one(gaps[last:])]


def newest(gaps: Sequence[Gap]) -> list[Gap]:
    """`gaps` as a new run begins: of more than `MOST_GAPS` the oldest are told as one."""
    older = max(len(gaps) - MOST_GAPS + 1, 0)
    return [*_as_one(gaps[:older]), *gaps[older:]]


def _as_one(gaps: Sequence[Gap]) -> list[Gap]:
    return [Gap(left=gaps[0]["left"], found=gaps[-1]["found"])] if gaps else []


def gaps_of_run(state: State) -> list[Gap]:
    """Those since the run of `state` began."""
    return state.get("hw_outside", [])[state.get("hw_run", {}).get("outside_at_start", 0) :]


def own_changes(
    between: Callable[[str, str], list[Change]], start: str, gaps: Sequence[Gap], now: str
) -> list[Change]:
    """What differs between the snapshots `start` and `now`, but for paths that changed only in
    `gaps`, those on the way; `between` tells what differs between two snapshots."""
    changes = between(start, now)
    if not gaps:
        return changes
    begins = [start, *(gap["found"] for gap in gaps)]
    ends = [*(gap["left"] for gap in gaps), now]
    steps = zip(begins, ends, strict=True)
    own = {change.raw for begin, end in steps for change in between(begin, end)}
    return [change for change in changes if change.raw in own]


def others_paths(env: ToolEnv, gaps: Sequence[Gap]) -> list[str]:
    """The paths that changed in `gaps`, sorted."""
    changes = [c for gap in gaps for c in env.changes(gap["left"], gap["found"])]
    return sorted({change.path for change in without_indexes(changes)})
