"""Whose changes are in a folder: headway's own, those of a run that was killed, or others'."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import ToolCall
from langgraph.types import StateSnapshot

from headway.check import files_left
from headway.history import open_calls
from headway.state import Gap
from headway_debugger.files import OUTSIDE
from headway_debugger.threads import Thread
from headway_debugger.undo_notes import Undo
from headway_tools.snapshots import Change, Snapshots, without_indexes
from headway_tools.storage import FolderStorage

CHECK: Final = "check"


@dataclass(frozen=True)
class CutOff:
    """What a killed run was doing in its folder."""

    root: Path | None = None
    calls: tuple[ToolCall, ...] = ()
    """Begun and not recorded: they may have run, in whole or in part."""
    files: tuple[str, ...] = ()
    """Snapshots after the calls of that step that were recorded."""


def cut_off(thread: Thread) -> CutOff:
    """The step that the newest run of a thread was killed in; empty where it was not."""
    if thread.record.status is not None or thread.record.moved:
        return CutOff()
    tip = thread.backend.snapshot(thread.id, thread.node().id)
    root, waiting = thread.root_of(tip.values), {task.name: task.id for task in tip.tasks}
    if "tools" in waiting:
        return _cut_off_calls(thread, root, tip, waiting["tools"])
    check = thread.record.kept(thread.heads.load().current).options.get("check")
    if "verify" in waiting and check:
        return CutOff(root, (ToolCall(name=CHECK, args={"command": check}, id=None),))
    return CutOff()


def _cut_off_calls(thread: Thread, root: Path, tip: StateSnapshot, task: str) -> CutOff:
    begun: list[ToolCall] = []
    files: list[str] = []
    journal = FolderStorage(thread.home).journal(thread.id)
    try:
        for call in open_calls(tip.values.get("messages") or []).calls:
            entry = journal.lookup(f"{task}/{call['id']}")
            if entry is not None and entry.ref is None:
                begun.append(call)
            elif entry is not None and entry.ref is not None and entry.ref.get("after"):
                files.append(entry.ref["after"])
    finally:
        journal.close()
    return CutOff(root, tuple(begun), tuple(files))


def others_changes(
    thread: Thread, snapshots: Snapshots, root: Path, undo: Undo, cut: CutOff, *, undisturbed: bool
) -> list[str]:
    """Paths in `root` that neither a verb nor a run of this thread left so; what has changed
    since a call of a killed run began, or a restore that was killed, counts as its own where no
    other thread was at work there (`undisturbed`)."""
    if undisturbed and (undo.under_way == str(root) or (cut.calls and cut.root == root)):
        return []
    here, found = snapshots.take(root), list[str]()
    for state in dict.fromkeys(_left(thread, root, undo, cut)):
        if state and snapshots.holds(state):
            found = [change.path for change in without_indexes(snapshots.diff(state, here))]
            if not found:
                break
    return found


def changed_meanwhile(
    snapshots: Snapshots, there: Sequence[Gap], here: Sequence[Gap], changes: Sequence[Change]
) -> list[str]:
    """Paths that others changed on the way from one state to another, whose gaps are given, and
    that `changes` would overwrite."""
    found: set[bytes] = set()
    for gap in here:
        if gap not in there and snapshots.holds(gap["left"]) and snapshots.holds(gap["found"]):
            between = snapshots.diff(gap["left"], gap["found"])
            found.update(change.raw for change in without_indexes(between))
    return [change.path for change in changes if change.raw in found]


def gaps_in(thread: Thread, root: Path) -> Sequence[Gap]:
    """What others changed in `root` until now: on the current branch where it works there, else
    on the newest that does."""
    current = thread.tree.branches[thread.branch("")].tip
    tips = sorted((branch.tip for branch in thread.tree.branches.values()), key=lambda tip: tip.id)
    states = (thread.state(tip) for tip in (current, *reversed(tips)))
    return next((v.get(OUTSIDE) or () for v in states if thread.root_of(v) == root), ())


def _left(thread: Thread, root: Path, undo: Undo, cut: CutOff) -> list[str | None]:
    """States in which headway left `root`: by a run that was stopped or killed, by a verb, at
    the end of each branch that works there, the current one last."""
    current = thread.tree.branches.get(thread.heads.load().current)
    branches = [branch for branch in thread.tree.branches.values() if branch is not current]
    ends: list[Any] = [thread.state(b.tip) for b in [*branches, *([current] if current else [])]]
    return [
        thread.record.left,
        undo.seen.get(str(root)),
        *(cut.files if cut.root == root else ()),
        *(files_left(values) for values in ends if thread.root_of(values) == root),
    ]
