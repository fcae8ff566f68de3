"""Going back in place: `restore` to a step, `undo` of the last run, restore, apply or fork.

Both bring the files of the workspace and the conversation: a branch that begins at the step and
works in the workspace itself becomes the current one. Nothing is removed, so the way back is
another branch and another snapshot, both noted in `undo.json` before a file is touched.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from langchain_core.messages import ToolCall

from headway.check import files_left
from headway.heads import MAIN
from headway.state import Gap
from headway.threads import Moved
from headway_debugger.branching import free_name, keep_moved, keep_names, keep_settings
from headway_debugger.edits import together, value_edit
from headway_debugger.files import (
    BRANCH,
    FILES,
    OUTSIDE,
    Restored,
    refuse_changed,
    restore,
    seen_at,
)
from headway_debugger.fork import fork
from headway_debugger.outside import (
    CutOff,
    changed_meanwhile,
    cut_off,
    gaps_in,
    others_changes,
)
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_debugger.undo_notes import Put, Undo, load_undo, save_undo
from headway_tools.errors import HeadwayError
from headway_tools.snapshots import Snapshots

Undone = Literal["", "run", "restore", "apply", "fork"]

_RAN: Final = "loop"


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


@dataclass(frozen=True)
class _Target:
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
    made: str = ""
    """How the run left the files that is taken back: its large files go, too."""


def restore_thread(
    thread: Thread, node: TreeNode, *, force: bool = False, dry_run: bool = False
) -> Rewound:
    """Bring the workspace to the files of `node`, and the conversation to that step.

    `dry_run` only tells what would change. `HeadwayError`: the workspace was changed outside
    headway (unless `force`), a run is under way there, or no snapshot was taken.
    """
    with thread.writing("") as now, now.snapshots() as snapshots:
        node = now.tree.nodes[node.id]
        seen = seen_at(now.backend, now.tree, node)
        to = _Target(now.root, seen[FILES], node, "", seen.get(OUTSIDE) or ())
        return _bring(now, snapshots, to, force=force, dry_run=dry_run)


def undo_thread(thread: Thread, *, force: bool = False, dry_run: bool = False) -> Rewound:
    """Go back to before the last thing that happened on the current branch: a run (from a
    person's message to its end, with all resumes), a restore, an apply, or a fork.

    A run that began before a restore or a fork is taken back to that. A branch in a folder of
    its own is undone there; a fork that has not run since is left, for the branch before.
    `HeadwayError`: nothing to undo, changed outside this thread (unless `force`), or a run is under
    way.
    """
    folder = thread.state(thread.node()).get(BRANCH) or ""
    with thread.writing(folder) as now, now.snapshots() as snapshots:
        tip, line = now.node(), now.tree.lineage(now.node())
        at = {node.id: index for index, node in enumerate(line)}
        puts = load_undo(now.folder).puts
        put = next((put for put in reversed(puts) if put.at in at), None)
        begin = _begin_of(now, line, folder) if folder else None
        if put is not None and put.at == tip.id:
            to = _back(now, put)
        elif begin is not None and not any(n.source == _RAN for n in line[at[begin.id] + 1 :]):
            return _leave(now, folder, dry_run=dry_run)
        else:
            to = _before(now, line, folder, put, begin)
        return _bring(now, snapshots, to, force=force, dry_run=dry_run)


def _back(thread: Thread, put: Put) -> _Target:
    """To before a restore or an apply."""
    node = thread.tree.branches[thread.branch(put.branch)].tip
    return _Target(Path(put.root), put.before, node, "", (), put.verb, put)


def _before(
    thread: Thread, line: list[TreeNode], folder: str, put: Put | None, begin: TreeNode | None
) -> _Target:
    """Where the run at the end of `line` began, or the later restore or fork on its way."""
    tip = line[-1]
    values: Any = thread.state(tip)
    root, run, made = thread.root_of(values), values.get("hw_run") or {}, files_left(values)
    node = before_run(thread, tip, run["id"]) if run.get("files_at_start") else None
    later = {n.id for n in (line[line.index(node) + 1 :] if node in line else line)}

    def target(files: str, at: TreeNode | None, gaps: Sequence[Gap]) -> _Target:
        return _Target(root, files, at, folder, gaps, "run", made=made)

    if put is not None and put.at in later and put.root == str(root):
        at = thread.tree.nodes[put.at]
        return target(put.after, at, thread.state(at).get(OUTSIDE) or ())
    if begin is not None and begin.id in later:
        seen = seen_at(thread.backend, thread.tree, begin)
        return target(seen[FILES], begin, seen.get(OUTSIDE) or ())
    if not run.get("files_at_start"):
        raise HeadwayError(f"thread {thread.id} has nothing to undo")
    gaps = (values.get(OUTSIDE) or ())[: run.get("outside_at_start", 0)]
    return target(run["files_at_start"], node, gaps)


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
    if start is not None and start.source == _RAN:  # by START; the input stands before it
        start = nodes.get(start.parent or "")
        return nodes.get(start.parent or "", start) if start else None
    return nodes.get(start.parent or "") if start else None


def _begin_of(thread: Thread, line: list[TreeNode], folder: str) -> TreeNode | None:
    """The first step that works in the branch's own `folder`; a run never changes folders."""
    found: TreeNode | None = None
    for node in reversed(line):
        if node.source != _RAN:
            if thread.state(node).get(BRANCH) != folder:
                break
            found = node
    return found


def _leave(thread: Thread, fork_name: str, *, dry_run: bool) -> Rewound:
    """Off a fork that has not run since, to the branch before; its files stay where they are."""
    branch = thread.branch(load_undo(thread.folder).forks.get(fork_name, MAIN))
    if not dry_run:
        _switch(thread, branch, "undone")
    step, root = thread.tree.branches[branch].tip, thread.folder.branch(fork_name)
    return Rewound(root, (), None, "fork", fork_name, branch, step, fork_name)


def _bring(
    thread: Thread, snapshots: Snapshots, to: _Target, *, force: bool, dry_run: bool
) -> Rewound:
    """Go there, or only say so; the way back is noted before a file is touched."""
    _stand_again(to.root, force=force)
    look = nullcontext(thread.turns(to.root).look()) if dry_run else thread.changing(to.root)
    with look as turn:
        notes, cut = load_undo(thread.folder), cut_off(thread, to.root)
        current = thread.heads.load().current
        outside = _outside(thread, snapshots, to, notes, cut, undisturbed=turn.undisturbed)
        branch = to.put.branch if to.put else current
        if not dry_run:
            if not force:
                refuse_changed(to.root, outside)
            turn.sign()
            branch = _noted(thread, snapshots, to, notes)
        done = restore(snapshots, to.files, to.root, known=None, made=to.made, dry_run=dry_run)
        if not dry_run:
            notes = load_undo(thread.folder)
            seen = {**notes.seen, str(to.root): snapshots.take(to.root)}
            save_undo(thread.folder, replace(notes, seen=seen, under_way=""))
    step = to.node or thread.node()
    facts = (to.undone, current, branch, step, to.folder, cut.calls, tuple(outside))
    return Rewound(done.root, done.changes, done.report, *facts)


def _outside(
    thread: Thread,
    snapshots: Snapshots,
    to: _Target,
    notes: Undo,
    cut: CutOff,
    *,
    undisturbed: bool,
) -> list[str]:
    """Paths with changes of others that going to `to` would overwrite. What is between a restore
    and its undo only restored."""
    since = others_changes(thread, snapshots, to.root, notes, cut, undisturbed=undisturbed)
    if to.put is not None:
        return since
    changes = snapshots.plan(to.files, to.root, made=to.made)
    before = changed_meanwhile(snapshots, to.gaps, gaps_in(thread, to.root), changes)
    return sorted({*since, *before})


def _stand_again(root: Path, *, force: bool) -> None:
    """Make a folder that is gone, where told so."""
    if not root.is_dir() and not force:
        raise HeadwayError(f"{root} is gone; --force makes it anew")
    root.mkdir(parents=True, exist_ok=True)


def _noted(thread: Thread, snapshots: Snapshots, to: _Target, notes: Undo) -> str:
    """Write down the way there and the way back; the branch to go on with."""
    current, root = thread.heads.load().current, str(to.root)
    if to.put is not None:
        branch, puts = to.put.branch, [put for put in notes.puts if put != to.put]
    else:
        branch, at = _branch_at(thread, to)
        node = to.node.id if to.node else ""
        puts = [replace(put, at=at) if put.at == node else put for put in notes.puts]
        if not to.undone:
            puts.append(Put(root, snapshots.take(to.root), to.files, current, at))
    save_undo(thread.folder, replace(notes, puts=puts, under_way=root))
    _switch(thread, branch, "undone" if to.undone else "restored")
    return branch


def _switch(thread: Thread, branch: str, verb: Moved) -> None:
    thread.heads.save(thread.heads.load().on(branch))
    keep_moved(thread, verb)


def _branch_at(thread: Thread, to: _Target) -> tuple[str, str]:
    """The branch to go on with and where it then stands; made, unless it is the current one."""
    tip, node = thread.node(), to.node
    if node is None or (node == tip and to.folder == (thread.state(tip).get(BRANCH) or "")):
        return thread.heads.load().current, tip.id
    branch = free_name(thread)
    keep_names(thread)
    edits = [value_edit(BRANCH, to.folder)]
    if list(to.gaps) != list(thread.state(node).get(OUTSIDE) or ()):
        edits.append(value_edit(OUTSIDE, list(to.gaps)))
    made = fork(thread.backend, thread.id, node, together(edits))
    keep_settings(thread, branch, thread.record.kept(node.branch))
    thread.heads.save(thread.heads.load().named(branch, made.start))
    return branch, made.head
