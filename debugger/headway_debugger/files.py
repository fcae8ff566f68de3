"""The files that belong to a checkpoint: found, given to a branch, put back in place."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headway_debugger.backend import Backend
from headway_debugger.edits import together, value_edit
from headway_debugger.fork import START, Edit, Fork, fork
from headway_debugger.tree import ThreadTree, TreeNode
from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder
from headway_tools.snapshots import Change, Report, Snapshots, without_indexes

FILES: Final = "hw_files"
BRANCH: Final = "hw_branch"
OUTSIDE: Final = "hw_outside"
_BEFORE_RUN: Final = frozenset({START, "enter"})
SHOWN: Final = 5
"""Paths named in a refusal."""


@dataclass(frozen=True)
class Restored:
    """What a restore changed, or would change; `report.before` names the way back."""

    root: Path
    changes: Sequence[Change]
    report: Report | None


def files_at(backend: Backend, tree: ThreadTree, node: TreeNode) -> str:
    """The snapshot of the workspace at a checkpoint.

    Before a run has looked at its workspace, that is what it then found.
    `HeadwayError`: no snapshot was taken.
    """
    return str(seen_at(backend, tree, node)[FILES])


def seen_at(backend: Backend, tree: ThreadTree, node: TreeNode) -> Mapping[str, Any]:
    """The state whose files are those of a checkpoint; see `files_at`."""
    line = tree.branches[node.branch].nodes
    for later in line[line.index(node) :]:
        snapshot = backend.snapshot(tree.thread_id, later.id)
        if not _BEFORE_RUN.intersection(snapshot.next):
            if isinstance(found := snapshot.values.get(FILES), str) and found:
                return snapshot.values
            break
    original = tree.branches[node.branch].forked_from
    if original is not None and node is line[0]:
        return seen_at(backend, tree, original)
    raise HeadwayError(f"step {node.name} has no snapshot of files")


def fork_files(
    backend: Backend,
    tree: ThreadTree,
    node: TreeNode,
    name: str,
    *,
    snapshots: Snapshots,
    folder: ThreadFolder,
    original: Path | None = None,
    edit: Edit | None = None,
) -> Fork:
    """A branch called `name` with the files of that moment in a folder of its own.

    `original` lends what snapshots do not hold (dependency folders, large files). The files come
    first: a fork that fails leaves no branch without its folder.
    `HeadwayError`: the name is taken, no snapshot, no room, or the edit does not fit.
    """
    target = folder.branch(name)
    if target.exists() and any(target.iterdir()):
        raise HeadwayError(f"branch {name} has files in {target}: choose another name")
    snapshots.extract(files_at(backend, tree, node), target, original=original)
    return fork(backend, tree.thread_id, node, together([edit or Edit(), value_edit(BRANCH, name)]))


def restore(
    snapshots: Snapshots,
    snapshot: str,
    root: Path,
    *,
    known: str | None,
    only: Callable[[str], bool] | None = None,
    made: str = "",
    force: bool = False,
    dry_run: bool = False,
) -> Restored:
    """Bring the folder `root` back to `snapshot`, or with `dry_run` only say what would change.

    `known` is the last state of `root` that headway saw. Large files, which no snapshot holds,
    stay, unless they are as in the snapshot `made`; so do paths that `only` does not take.
    `HeadwayError`: something else changed
    `root` since then, and `force` was not given.
    """
    changes = snapshots.plan(snapshot, root, only=only, made=made)
    if not changes or dry_run:
        return Restored(root, changes, None)
    if not force:
        refuse_outside(snapshots, known, root)
    return Restored(root, changes, snapshots.restore(snapshot, root, only=only, made=made))


def refuse_outside(snapshots: Snapshots, known: str | None, root: Path) -> None:
    """`HeadwayError` where the folder `root` is not as in the snapshot `known`."""
    changes = without_indexes(snapshots.plan(known, root)) if known else []
    refuse_changed(root, [change.path for change in changes])


def refuse_changed(root: Path, paths: Sequence[str]) -> None:
    """`HeadwayError` where somebody else changed `paths` in the folder `root`."""
    if paths:
        raise HeadwayError(
            f"{root} was changed outside this thread ({named(paths)}); --force overwrites that"
        )


def named(paths: Sequence[str]) -> str:
    """The first few of `paths`, in one line."""
    return ", ".join([*paths[:SHOWN], *(["…"] if len(paths) > SHOWN else [])])


def snapshots_named(backend: Backend, tree: ThreadTree, nodes: Iterable[TreeNode]) -> set[str]:
    """Ids of all snapshots that the states of `nodes` name, for `Snapshots.collect`."""
    named: set[str] = set()
    for node in nodes:
        values = backend.snapshot(tree.thread_id, node.id).values
        run: dict[str, Any] = values.get("hw_run") or {}
        seen = [values.get(FILES), run.get("files_at_start"), run.get("files_seen")]
        for observation in values.get("hw_observations") or ():
            seen += [observation.get("before"), observation.get("after")]
        for gap in values.get(OUTSIDE) or ():
            seen += [gap["left"], gap["found"]]
        named.update(found for found in seen if found)
    return named
