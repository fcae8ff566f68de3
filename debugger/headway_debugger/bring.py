"""Bringing a folder and the conversation somewhere, for `headway_debugger.rewind`.

The conversation's place is a branch that begins at the step and works in the folder; it becomes
the current one. Nothing is removed, so the way back from a restore is another branch and another
snapshot, both noted in `undo.json` before a file is touched.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from langchain_core.messages import ToolCall

from headway.state import Gap
from headway.threads import Moved, update_record
from headway_debugger.branching import free_name, keep_moved, keep_names, keep_settings
from headway_debugger.edits import value_edit
from headway_debugger.files import BRANCH, OUTSIDE, Restored, refuse_changed, restore
from headway_debugger.fork import fork
from headway_debugger.outside import (
    CutOff,
    Way,
    changed_meanwhile,
    cut_off,
    end_of_run,
    gaps_in,
    others_changes,
    shared_and_theirs,
)
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_debugger.undo_notes import Put, Theirs, load_undo, save_undo
from headway_tools.errors import HeadwayError
from headway_tools.snapshots import Snapshots

Undone = Literal["", "run", "restore", "apply", "fork"]


@dataclass(frozen=True)
class Rewound(Restored):
    """What a restore or an undo brought back, or with `dry_run` would bring back."""

    undone: Undone
    """What was taken back; empty for a restore."""
    of: str
    """The branch that was the current one before."""
    branch: str
    """The branch that is the current one now; `of` where only the files went back."""
    step: TreeNode
    """Where the conversation stands now: that step, or a copy of it on `branch`."""
    folder: str
    """The branch whose own folder `root` is; empty for the workspace."""
    may_have_run: tuple[ToolCall, ...] = ()
    """Calls that a killed run had begun; what they changed went back as well."""
    outside: tuple[str, ...] = ()
    """Paths that somebody else changed, which is overwritten."""
    left: tuple[str, ...] = ()
    """Paths that only others changed: an undo leaves them as they are."""
    stays: bool = False
    """The conversation stands there already, or the steps before the run are pruned."""


@dataclass(frozen=True)
class Target:
    """Where to go: the folder `root` to the snapshot `files`, the conversation to `node` (None:
    it stays) as a branch that works in the folder named `folder`."""

    root: Path
    files: str
    node: TreeNode | None
    folder: str
    gaps: Sequence[Gap] = ()
    """What others had changed until then."""
    undone: Undone = ""
    put: Put | None = None
    """What is taken back."""
    way: Way | None = None
    """What is taken back, in the files; None: all that is there becomes as in `files`."""

    @property
    def made(self) -> str:
        """The state whose large files go: those of the run that is taken back."""
        return self.way.end if self.way and self.put is None else ""


def bring(
    thread: Thread, snapshots: Snapshots, to: Target, *, force: bool, dry_run: bool
) -> Rewound:
    """Go there, or only say so."""
    _stand_again(to.root, force=force)
    look = nullcontext(thread.turns(to.root).look()) if dry_run else thread.changing(to.root)
    stays = to.node in (None, thread.node())
    with look as turn:
        cut, current = cut_off(thread, to.root), thread.heads.load().current
        outside, left = _others(thread, snapshots, to, cut, undisturbed=turn.undisturbed)
        if dry_run:
            done = _files(snapshots, to, left, dry_run=True)
            branch = to.put.branch if to.put else current
        else:
            if not force:
                refuse_changed(to.root, outside)
            turn.sign()
            done, branch = _go(thread, snapshots, to, left)
    facts = (to.undone, current, branch, to.node or thread.node(), to.folder, cut.calls)
    others = (tuple(outside), tuple(left))
    return Rewound(done.root, done.changes, done.report, *facts, *others, stays=stays)


def _others(
    thread: Thread, snapshots: Snapshots, to: Target, cut: CutOff, *, undisturbed: bool
) -> tuple[list[str], list[str]]:
    """Paths with changes of others that going to `to` would overwrite, and those that it leaves."""
    notes, way = load_undo(thread.folder), to.way
    changes = snapshots.plan(to.files, to.root, made=to.made)
    if way is None:
        since = others_changes(thread, snapshots, to.root, notes, cut, undisturbed=undisturbed)
        before = changed_meanwhile(snapshots, to.gaps, gaps_in(thread, to.root, notes), changes)
        return sorted({*since, *before}), []
    here = snapshots.take(to.root)
    if to.put is None:
        end = end_of_run(thread, snapshots, cut, way.end, here, undisturbed=undisturbed)
        way = replace(way, end=end)
    shared, left = shared_and_theirs(snapshots, way, here, changes)
    half_done = undisturbed and notes.under_way == str(to.root)
    return ([] if half_done else shared), left


def _stand_again(root: Path, *, force: bool) -> None:
    """Make a folder that is gone, where told so."""
    if not root.is_dir() and not force:
        raise HeadwayError(f"{root} is gone; --force makes it anew")
    root.mkdir(parents=True, exist_ok=True)


def _files(
    snapshots: Snapshots, to: Target, left: Sequence[str], *, dry_run: bool = False
) -> Restored:
    stay = frozenset(left)

    def only(path: str) -> bool:
        return path not in stay

    return restore(
        snapshots, to.files, to.root, known=None, only=only, made=to.made, dry_run=dry_run
    )


def _go(
    thread: Thread, snapshots: Snapshots, to: Target, left: Sequence[str]
) -> tuple[Restored, str]:
    """Bring the files and the conversation; the branch to go on with. A restore that is killed
    can be taken back; an undo that is killed is done by the next one."""
    root = str(to.root)
    save_undo(thread.folder, replace(load_undo(thread.folder), under_way=root))
    if to.undone:
        done = _files(snapshots, to, left)
        found = snapshots.take(to.root)
        branch = _move(thread, snapshots, to, [Gap(left=to.files, found=found)] if left else [])
    else:
        branch = _move(thread, snapshots, to, [])
        done = _files(snapshots, to, left)
        found = snapshots.take(to.root)
    notes = load_undo(thread.folder)
    save_undo(thread.folder, replace(notes, seen={**notes.seen, root: found}, under_way=""))
    return done, branch


def _move(thread: Thread, snapshots: Snapshots, to: Target, left: Sequence[Gap]) -> str:
    """Bring the conversation there, and write down the way back; the branch to go on with."""
    current, root, notes = thread.heads.load().current, str(to.root), load_undo(thread.folder)
    stands = to.node or thread.node()
    if to.put is not None:
        branch, at = to.put.branch, stands.id
        puts = [put for put in notes.puts if put != to.put]
    else:
        branch, at = _branch_at(thread, to)
        puts = [replace(put, at=at) if put.at == stands.id else put for put in notes.puts]
        if not to.undone:
            puts.append(Put(root, snapshots.take(to.root), to.files, current, at))
    named = thread.state(stands).get(OUTSIDE) or ()
    gaps = [*to.gaps, *notes.theirs_at(to.root, stands.id), *left]
    theirs = Theirs(at, [gap for gap in gaps if gap not in named])
    save_undo(thread.folder, replace(notes, puts=puts, theirs={**notes.theirs, root: theirs}))
    if to.undone == "run" and thread.record.left:
        update_record(thread.home, thread.id, left="")
    switch(thread, branch, "undone" if to.undone else "restored")
    return branch


def switch(thread: Thread, branch: str, verb: Moved) -> None:
    """Make `branch` the current one."""
    thread.heads.save(thread.heads.load().on(branch))
    keep_moved(thread, verb)


def _branch_at(thread: Thread, to: Target) -> tuple[str, str]:
    """The branch to go on with and where it then stands; made, unless it is the current one."""
    tip, node = thread.node(), to.node
    if node is None or (node == tip and to.folder == (thread.state(tip).get(BRANCH) or "")):
        return thread.heads.load().current, tip.id
    branch = free_name(thread)
    keep_names(thread)
    made = fork(thread.backend, thread.id, node, value_edit(BRANCH, to.folder))
    keep_settings(thread, branch, thread.record.kept(node.branch))
    thread.heads.save(thread.heads.load().named(branch, made.start))
    return branch, made.head
