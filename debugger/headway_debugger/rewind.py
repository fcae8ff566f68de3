"""Going back in place: `restore` to a step, `undo` of the last run, restore, apply or fork: where
each goes. Both bring the files of the workspace and the conversation (`headway_debugger.bring`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from headway.check import files_left
from headway.heads import MAIN
from headway.state import Gap
from headway_debugger.bring import Rewound, Target, bring, switch
from headway_debugger.files import BRANCH, FILES, OUTSIDE, seen_at
from headway_debugger.outside import Way
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_debugger.undo_notes import Put, load_undo
from headway_tools.errors import HeadwayError

_RAN: Final = "loop"


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
        to = Target(now.root, seen[FILES], node, "", seen.get(OUTSIDE) or ())
        return bring(now, snapshots, to, force=force, dry_run=dry_run)


def undo_thread(thread: Thread, *, force: bool = False, dry_run: bool = False) -> Rewound:
    """Go back to before the last thing that happened on the current branch: a run (from a
    person's message to its end, with all resumes), a restore, an apply, or a fork.

    A run that began before a restore or a fork is taken back to that. A branch in a folder of
    its own is undone there; a fork that has not run since is left, for the branch before. Files
    that only others changed stay as they are.
    `HeadwayError`: nothing to undo, others changed the same files (unless `force`), or a run is
    under way.
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
        return bring(now, snapshots, to, force=force, dry_run=dry_run)


def _back(thread: Thread, put: Put) -> Target:
    """To before a restore or an apply."""
    node = thread.tree.branches[thread.branch(put.branch)].tip
    way = Way(put.before, (), put.after)
    return Target(Path(put.root), put.before, node, "", (), put.verb, put, way)


def _before(
    thread: Thread, line: list[TreeNode], folder: str, put: Put | None, begin: TreeNode | None
) -> Target:
    """Where the run at the end of `line` began, or the later restore or fork on its way."""
    tip = line[-1]
    values: Any = thread.state(tip)
    root, run, end = thread.root_of(values), values.get("hw_run") or {}, files_left(values)
    node = before_run(thread, tip, run["id"]) if run.get("files_at_start") else None
    later = {n.id for n in (line[line.index(node) + 1 :] if node in line else line)}

    def target(files: str, at: TreeNode | None, gaps: Sequence[Gap]) -> Target:
        since = [gap for gap in values.get(OUTSIDE) or () if gap not in gaps]
        return Target(root, files, at, folder, gaps, "run", way=Way(files, since, end))

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
        switch(thread, branch, "undone")
    step, root = thread.tree.branches[branch].tip, thread.folder.branch(fork_name)
    return Rewound(root, (), None, "fork", fork_name, branch, step, fork_name)
