"""Going back in place: `restore` to a step, `undo` of the last run or restore.

Both bring the files of the workspace and the conversation: a branch that begins at the step and
works in the workspace itself becomes the current one. Nothing is removed, so the way back is
another branch and another snapshot, both noted in `undo.json` before a file is touched.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from headway.heads import MAIN
from headway_debugger.branching import free_name, keep_names, keep_settings
from headway_debugger.edits import value_edit
from headway_debugger.files import BRANCH, FILES, Restored, files_at, refuse_outside, restore
from headway_debugger.fork import fork
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder
from headway_tools.notes import read_note, write_note
from headway_tools.snapshots import Snapshots, without_indexes

_VERSION: Final = 1


@dataclass(frozen=True)
class Put:
    """A folder that was brought to the snapshot `after`."""

    root: str
    before: str
    after: str
    branch: str
    """The branch that was the current one before."""
    at: str
    """The checkpoint at which the current branch then stood: only there it can be undone."""


@dataclass(frozen=True)
class Undo:
    """What can be undone, the newest last, and what was put where."""

    puts: Sequence[Put] = ()
    seen: dict[str, str] = field(default_factory=dict)
    """The snapshot that each folder was last brought to."""


def restore_thread(
    thread: Thread, node: TreeNode, *, force: bool = False, dry_run: bool = False
) -> Restored:
    """Bring the workspace to the files of `node`, and the conversation to that step.

    `dry_run` only tells what would change. `HeadwayError`: the workspace was changed outside
    headway (unless `force`), a run is under way there, or no snapshot was taken.
    """
    with thread.writing("") as now, now.snapshots() as snapshots:
        node = now.tree.nodes[node.id]
        wanted = files_at(now.backend, now.tree, node)
        return _go(now, snapshots, _Place(now.root, wanted, node, ""), force=force, dry_run=dry_run)


def undo_thread(thread: Thread, *, force: bool = False, dry_run: bool = False) -> Restored:
    """Take back the last restore, or where a run came after it, the last run: one that began
    before the restore, back to the restore.

    A branch in a folder of its own is undone there. `HeadwayError`: nothing to undo, changed
    outside headway (unless `force`), or a run is under way.
    """
    folder = thread.state(thread.node()).get(BRANCH) or ""
    with thread.writing(folder) as now, now.snapshots() as snapshots:
        tip = now.node()
        done = load_undo(now.folder)
        if done.puts and done.puts[-1].at == tip.id:
            return _take_back(now, snapshots, done, force=force, dry_run=dry_run)
        values = now.state(tip)
        before = (values.get("hw_run") or {}).get("files_at_start")
        if not before:
            raise HeadwayError(f"thread {now.id} has nothing to undo")
        node = before_run(now, tip, values["hw_run"]["id"])
        place = _Place(now.root_of(values), before, node, folder)
        if done.puts and _between(now, node, done.puts[-1].at, tip):
            put = done.puts[-1]
            place = _Place(Path(put.root), put.after, now.tree.nodes[put.at], folder)
        return _go(now, snapshots, place, force=force, dry_run=dry_run, noted=False)


def before_run(thread: Thread, tip: TreeNode, run_id: str) -> TreeNode | None:
    """The step that the run of `tip` started from; its own first step for a first run.

    None: that step was pruned.
    """
    found: TreeNode | None = None
    for node in reversed(thread.tree.lineage(tip)):
        if "enter" in node.writers:
            if (thread.state(node).get("hw_run") or {}).get("id") != run_id:
                break
            found = node
    nodes = thread.tree.nodes
    start = nodes.get(found.parent or "") if found else None
    if start is not None and start.source == "loop":  # by START; the input stands before it
        start = nodes.get(start.parent or "")
        return nodes.get(start.parent or "", start) if start else None
    return nodes.get(start.parent or "") if start else None


def _between(thread: Thread, first: TreeNode | None, at: str, last: TreeNode) -> bool:
    """Whether a restore to the checkpoint `at` came after `first` on the way to `last`."""
    line = [node.id for node in thread.tree.lineage(last)]
    return at in line and (first is None or line.index(at) > line.index(first.id))


@dataclass(frozen=True)
class _Place:
    """Where to go: the folder `root` to the snapshot `files`, the conversation to `node` (None:
    it stays) as a branch that works in the folder named `folder`."""

    root: Path
    files: str
    node: TreeNode | None
    folder: str


def _go(
    thread: Thread,
    snapshots: Snapshots,
    to: _Place,
    *,
    force: bool,
    dry_run: bool,
    noted: bool = True,
) -> Restored:
    """Go there; with `noted` the way back is one that `undo` takes."""
    done = load_undo(thread.folder)
    if dry_run:
        return restore(snapshots, to.files, to.root, known=None, dry_run=True)
    if not force:
        refuse_outside(snapshots, _known(thread, snapshots, to.root, done), to.root)
    current = thread.heads.load().current
    branch, at = _branch_at(thread, to)
    puts = [replace(put, at=at) if to.node and put.at == to.node.id else put for put in done.puts]
    if noted:
        puts = [*done.puts, Put(str(to.root), snapshots.take(to.root), to.files, current, at)]
    save_undo(thread.folder, Undo(puts, {**done.seen, str(to.root): to.files}))
    thread.heads.save(thread.heads.load().on(branch))
    return restore(snapshots, to.files, to.root, known=None)


def _take_back(
    thread: Thread, snapshots: Snapshots, done: Undo, *, force: bool, dry_run: bool
) -> Restored:
    """Undo the last put: its folder and the branch that was the current one."""
    put = done.puts[-1]
    root = Path(put.root)
    if dry_run:
        return restore(snapshots, put.before, root, known=None, dry_run=True)
    if not force:
        refuse_outside(snapshots, put.after, root)
    taken_back = restore(snapshots, put.before, root, known=None)
    save_undo(thread.folder, Undo(done.puts[:-1], {**done.seen, put.root: put.before}))
    thread.heads.save(thread.heads.load().on(put.branch))
    return taken_back


def _branch_at(thread: Thread, to: _Place) -> tuple[str, str]:
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


def _known(thread: Thread, snapshots: Snapshots, root: Path, done: Undo) -> str | None:
    """The state that `root` should have: of those that headway left there last, by a verb or by
    a run, the one that it has, else the newest."""
    left = thread.record.left
    known = [left if left and snapshots.holds(left) else None, done.seen.get(str(root))]
    for name in dict.fromkeys((MAIN, thread.heads.load().current)):
        if branch := thread.tree.branches.get(name):
            values = thread.state(branch.tip)
            known += (
                [values.get(FILES)]
                if thread.record.workspace and (thread.root_of(values) == root)
                else []
            )
    states = [state for state in dict.fromkeys(known) if state]
    has = (state for state in states if not without_indexes(snapshots.plan(state, root)))
    return next(has, states[-1] if states else None)


def load_undo(folder: ThreadFolder) -> Undo:
    """What can be undone; `HeadwayError`: damaged or newer."""
    path = folder.path / "undo.json"
    text = read_note(path)
    if text is None:
        return Undo()
    try:
        stored = json.loads(text)
        if stored["version"] > _VERSION:
            raise HeadwayError(f"{path} was written by a newer headway: update headway")
        return Undo([Put(**put) for put in stored["puts"]], dict(stored["seen"]))
    except (ValueError, TypeError, KeyError) as error:
        raise HeadwayError(f"cannot read {path}: {error!r}; remove it to go on") from error


def save_undo(folder: ThreadFolder, undo: Undo) -> None:
    """Replace what can be undone."""
    puts = [asdict(put) for put in undo.puts]
    stored = {"version": _VERSION, "puts": puts, "seen": undo.seen}
    write_note(folder.path / "undo.json", json.dumps(stored))
