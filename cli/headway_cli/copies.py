"""Working in a copy: made before the run, brought back by `headway apply`.

The copy lies in the thread's folder and stands at the workspace's path inside the sandbox.
"""

from pathlib import Path
from typing import Final

from headway.environment import snapshots_of
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
    _base(folder).write_text(base, encoding="utf-8")
    return target


def apply_copy(folder: ThreadFolder, workspace: Path, *, force: bool, dry_run: bool) -> Restored:
    """Make `workspace` like the copy; `HeadwayError` where it was changed since, without
    `force`."""
    if not _base(folder).exists():
        raise HeadwayError(f"thread {folder.path.name} works in no copy: nothing to apply")
    snapshots = snapshots_of(folder, workspace)
    try:
        result = snapshots.take(folder.branch(COPY))
        known = _base(folder).read_text(encoding="utf-8")
        done = restore(snapshots, result, workspace, known=known, force=force, dry_run=dry_run)
    finally:
        snapshots.close()
    if not dry_run:
        _base(folder).write_text(result, encoding="utf-8")
    return done


def _base(folder: ThreadFolder) -> Path:
    """Holds the id of the state that copy and workspace last had in common."""
    return folder.path / "copy.txt"
