"""Whose changes are in a folder: headway's own, those of a run that was killed, or others'."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import ToolCall
from langgraph.types import StateSnapshot

from headway.check import files_left
from headway.history import open_calls
from headway.outside import own_changes
from headway.state import Gap
from headway_debugger.files import FILES, OUTSIDE
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_debugger.undo_notes import Undo
from headway_tools.snapshots import Change, Snapshots, without_indexes
from headway_tools.storage import FolderStorage

CHECK: Final = "check"


@dataclass(frozen=True)
class CutOff:
    """What a run was doing when it was killed."""

    calls: tuple[ToolCall, ...] = ()
    """Begun and not recorded: they may have run, in whole or in part."""
    files: tuple[str, ...] = ()
    """Snapshots after the calls of that step that were recorded."""
    before: str = ""
    """The snapshot before the first of `calls`."""


@dataclass(frozen=True)
class Way:
    """What a run or a verb did with a folder: from one snapshot to another."""

    start: str
    gaps: Sequence[Gap]
    """What others changed on the way."""
    end: str


def standing(thread: Thread, root: Path) -> TreeNode | None:
    """The tip of the branch that was last at work in `root`: the current one where it works there,
    else the newest that does."""
    current = thread.tree.branches[thread.branch("")].tip
    tips = sorted((branch.tip for branch in thread.tree.branches.values()), key=lambda tip: tip.id)
    for tip in (current, *reversed(tips)):
        if thread.root_of(thread.state(tip)) == root:
            return tip
    return None


def cut_off(thread: Thread, root: Path) -> CutOff:
    """The step that the last run in `root` was killed in; empty where it was not killed in one."""
    node = standing(thread, root)
    if node is None or thread.record.left:
        return CutOff()
    tip = thread.backend.snapshot(thread.id, node.id)
    waiting = {task.name: task.id for task in tip.tasks}
    if "tools" in waiting:
        return _cut_off_calls(thread, tip, waiting["tools"])
    check = thread.record.kept(node.branch).options.get("check")
    if "verify" in waiting and check:
        call = ToolCall(name=CHECK, args={"command": check}, id=None)
        return CutOff((call,), before=tip.values.get(FILES) or "")
    return CutOff()


def _cut_off_calls(thread: Thread, tip: StateSnapshot, task: str) -> CutOff:
    begun: list[ToolCall] = []
    files: list[str] = []
    before: list[str] = []
    journal = FolderStorage(thread.home).journal(thread.id)
    try:
        for call in open_calls(tip.values.get("messages") or []).calls:
            entry = journal.lookup(f"{task}/{call['id']}")
            if entry is not None and entry.ref is None:
                begun.append(call)
                before.append(entry.before or "")
            elif entry is not None and entry.ref is not None and entry.ref.get("after"):
                files.append(entry.ref["after"])
    finally:
        journal.close()
    return CutOff(tuple(begun), tuple(files), next(iter(before), ""))


def others_changes(
    thread: Thread, snapshots: Snapshots, root: Path, undo: Undo, cut: CutOff, *, undisturbed: bool
) -> list[str]:
    """Paths in `root` that neither a verb nor a run of this thread left so; what has changed
    since a call of a killed run began, or a restore that was killed, counts as its own where no
    other thread was at work there (`undisturbed`)."""
    if undisturbed and (undo.under_way == str(root) or cut.calls):
        return []
    here = snapshots.take(root)
    nearest = _nearest(snapshots, _left(thread, root, undo, cut), here)
    return [change.path for change in _between(snapshots, nearest, here)]


def end_of_run(
    thread: Thread, snapshots: Snapshots, cut: CutOff, end: str, here: str, *, undisturbed: bool
) -> str:
    """How the run at the tip left the files, which its last step recorded as `end`; see
    `others_changes`."""
    if undisturbed and cut.calls:
        return here
    return _nearest(snapshots, [thread.record.left, *cut.files, end], here)


def _nearest(snapshots: Snapshots, states: Sequence[str | None], here: str) -> str:
    """That of `states` which differs least from `here`; `here` where none is known."""
    known = [state for state in dict.fromkeys(states) if state and snapshots.holds(state)]
    return min(known, key=lambda state: len(_between(snapshots, state, here)), default=here)


def _between(snapshots: Snapshots, a: str, b: str) -> list[Change]:
    return without_indexes(snapshots.diff(a, b))


def shared_and_theirs(
    snapshots: Snapshots, way: Way, here: str, changes: Sequence[Change]
) -> tuple[list[str], list[str]]:
    """Of the paths that `changes` would take back: those that `way` and others changed, and those
    that others alone did, on that way or since."""

    def between(a: str, b: str) -> list[Change]:
        return snapshots.diff(a, b) if snapshots.holds(a) and snapshots.holds(b) else []

    own = {change.path for change in own_changes(between, way.start, way.gaps, way.end)}
    since = Gap(left=way.end, found=here)
    others = changed_meanwhile(snapshots, (), [*way.gaps, since], changes)
    return [p for p in others if p in own], [p for p in others if p not in own]


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


def gaps_in(thread: Thread, root: Path, undo: Undo) -> Sequence[Gap]:
    """What others changed in `root` until now."""
    node = standing(thread, root)
    if node is None:
        return ()
    theirs = undo.theirs_at(root, node.id)
    return [*(thread.state(node).get(OUTSIDE) or ()), *theirs]


def patch_of_crash(thread: Thread, node: TreeNode) -> str:
    """What has changed since the call began that a run was killed in after `node`, as a unified
    diff; empty where none was, or nothing has."""
    root = thread.root_of(thread.state(node))
    cut = cut_off(thread, root) if standing(thread, root) is node else CutOff()
    if not cut.before:
        return ""
    with thread.snapshots() as snapshots:
        known = snapshots.holds(cut.before)
        return snapshots.patch(cut.before, snapshots.take(root)) if known else ""


def _left(thread: Thread, root: Path, undo: Undo, cut: CutOff) -> list[str | None]:
    """States in which headway left `root`: by a run that was stopped or killed, by a verb, at
    the end of each branch that works there, the current one last."""
    current = thread.tree.branches.get(thread.heads.load().current)
    branches = [branch for branch in thread.tree.branches.values() if branch is not current]
    ends: list[Any] = [thread.state(b.tip) for b in [*branches, *([current] if current else [])]]
    return [
        thread.record.left,
        undo.seen.get(str(root)),
        *cut.files,
        *(files_left(values) for values in ends if thread.root_of(values) == root),
    ]
