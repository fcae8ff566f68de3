"""A branch has the files of a snapshot in a folder of its own."""

import os
from pathlib import Path

import pytest
from snapshots_support import named
from trees_support import describe

from headway_tools.errors import HeadwayError
from headway_tools.snapshots import Snapshots


def test_a_branch_has_the_files_the_times_and_what_snapshots_do_not_hold(
    root: Path, snapshots: Snapshots
) -> None:
    os.utime(root / "src/main.py", ns=(1_000_000_007, 1_000_000_007))
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to("/usr/bin/python3")
    (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin")
    (root / "src/__pycache__").mkdir()
    snapshot = snapshots.take(root)
    branch = root.parent / "branch"
    report = snapshots.extract(snapshot, branch, original=root)
    (root / "src/__pycache__").rmdir()
    assert describe(branch) == describe(root)
    assert (branch / "src/main.py").stat().st_mtime_ns == 1_000_000_007
    assert named(report.notes) == {".venv": "excluded", "src/__pycache__": "excluded"}


def test_a_branch_copies_nothing_from_outside(root: Path, snapshots: Snapshots) -> None:
    secret = root.parent / "secret"
    (secret / ".venv").mkdir(parents=True)
    (secret / ".venv/key").write_text("key")
    (root / "src/.venv").mkdir()
    snapshot = snapshots.take(root)
    (root / "src").rename(root / "moved")
    (root / "src").symlink_to(secret)
    snapshots.extract(snapshot, root.parent / "branch", original=root)
    assert not (root.parent / "branch/src/.venv").exists()


def test_a_branch_needs_an_empty_folder(root: Path, snapshots: Snapshots) -> None:
    snapshot = snapshots.take(root)
    with pytest.raises(HeadwayError, match="not empty"):
        snapshots.extract(snapshot, root)
    (root.parent / "fresh").mkdir()
    snapshots.extract(snapshot, root.parent / "fresh")
    assert describe(root.parent / "fresh") == describe(root)
