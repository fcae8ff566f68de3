"""Work in a copy: made before the run, brought back by `headway apply`.

Only paths that the copy changed are brought back; the workspace may have gone on elsewhere. What
both changed is a conflict.
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from headway_debugger.files import Restored, named
from headway_debugger.threads import Thread
from headway_debugger.undo_notes import Put, load_undo, save_undo
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.snapshots import Change, Snapshots
from headway_tools.storage import FolderStorage

COPY: Final = "copy"
"""The folder of a thread that works in a copy, and the key of the state that it began with."""

APPLIED: Final = "applied"
"""The key of the copy's state that was brought back last."""


@dataclass(frozen=True)
class Applied(Restored):
    """What an apply changed, or would change. `conflicts`: paths that both sides changed."""

    conflicts: tuple[str, ...] = ()


def make_copy(home: Home, thread_id: str, workspace: Path) -> Path:
    """A copy of `workspace` for a new thread to work in; the folder.

    `HeadwayError`: the thread has one already.
    """
    folder = home.make().thread(thread_id).make()
    target = folder.branch(COPY)
    if folder.record.exists():
        raise HeadwayError(f"thread {thread_id} has a copy already: resume it")
    shutil.rmtree(target, ignore_errors=True)  # of a run that was killed before it began
    snapshots = FolderStorage(home).snapshots(thread_id, workspace)
    try:
        base = snapshots.take(workspace)
        snapshots.extract(base, target, original=workspace)
    finally:
        snapshots.close()
    undo = load_undo(folder)
    save_undo(folder, replace(undo, seen={**undo.seen, COPY: base, APPLIED: base}))
    return target


def apply_copy(thread: Thread, *, force: bool = False, dry_run: bool = False) -> Applied:
    """Bring what a thread did in a copy into its workspace; the conversation stays, and `undo`
    takes it back.

    `HeadwayError`: the thread works in no copy, both changed a path (unless `force`), or a run is
    under way.
    """
    with (
        thread.writing("") as now,
        now.changing(now.workspace) as turn,
        now.snapshots() as snapshots,
    ):
        undo = load_undo(now.folder)
        if not now.record.root or COPY not in undo.seen:
            raise HeadwayError(f"thread {now.id} works in no copy: nothing to apply")
        bases = [undo.seen[COPY], undo.seen[APPLIED]]
        before, result = snapshots.take(now.workspace), snapshots.take(now.root)
        made = {change.path for base in bases for change in snapshots.diff(base, result)}
        changes = [c for c in snapshots.plan(result, now.workspace) if c.path in made]
        conflicts = _conflicts(snapshots, bases, before, result, made)
        if dry_run or not changes:
            return Applied(now.workspace, changes, None, conflicts)
        if conflicts and not force:
            raise HeadwayError(
                f"{now.workspace} was changed at the same places since ({named(conflicts)}); "
                "--force overwrites that"
            )
        turn.sign()
        head = now.heads.load().current
        put = Put(str(now.workspace), before, result, head, now.node().id, "apply")
        save_undo(now.folder, replace(undo, puts=[*undo.puts, put]))
        report = snapshots.restore(result, now.workspace, only=made.__contains__)
        put = replace(put, after=snapshots.take(now.workspace))
        seen = {**undo.seen, put.root: put.after, APPLIED: result}
        save_undo(now.folder, replace(undo, puts=[*undo.puts, put], seen=seen))
        return Applied(now.workspace, changes, report, conflicts)


def _conflicts(
    snapshots: Snapshots, bases: list[str], before: str, result: str, made: set[str]
) -> tuple[str, ...]:
    """Paths that would be overwritten although the workspace has them as no state that the copy
    started from: changed by the copy, or a folder that its changes need."""
    theirs = set.intersection(*(_paths(snapshots.diff(base, before)) for base in bases))
    needed = made | {str(above) for path in made for above in PurePosixPath(path).parents}
    return tuple(sorted(theirs & needed & _paths(snapshots.diff(before, result))))


def _paths(changes: Iterable[Change]) -> set[str]:
    return {change.path for change in changes}
