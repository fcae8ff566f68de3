"""Working in a copy: made before the run, brought back by `headway apply`.

The copy lies in the thread's folder and stands at the workspace's path inside the sandbox.
"""

from pathlib import Path
from typing import Final

from headway.environment import snapshots_of
from headway_cli.notes import read_note, write_note
from headway_debugger.files import Restored, restore
from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder

COPY: Final = "copy"


def make_copy(folder: ThreadFolder, workspace: Path) -> Path:
    """A copy of `workspace` for the thread of `folder`; the folder to work in."""
    target = folder.make().branch(COPY)
    if target.exists():
        raise HeadwayError(f"thread {folder.path.name} has a copy already: resume it")
    snapshots = snapshots_of(folder, workspace)
    try:
        base = snapshots.take(workspace)
        snapshots.extract(base, target, original=workspace)
    finally:
        snapshots.close()
    write_note(_base(folder), base)
    return target


def apply_copy(folder: ThreadFolder, workspace: Path, *, force: bool, dry_run: bool) -> Restored:
    """Make `workspace` like the copy; `HeadwayError` where it was changed since, without
    `force`."""
    known = read_note(_base(folder))
    if known is None:
        raise HeadwayError(f"thread {folder.path.name} works in no copy: nothing to apply")
    snapshots = snapshots_of(folder, workspace)
    try:
        result = snapshots.take(folder.branch(COPY))
        done = restore(snapshots, result, workspace, known=known, force=force, dry_run=dry_run)
    finally:
        snapshots.close()
    if not dry_run:
        write_note(_base(folder), result)
    return done


def _base(folder: ThreadFolder) -> Path:
    """Holds the id of the state that copy and workspace last had in common."""
    return folder.path / "copy.txt"
