"""A restore touches what differs, reaches nothing outside, and names what it leaves."""

import os
import py_compile
import socket
import subprocess
import sys
from pathlib import Path

from snapshots_support import named
from trees_support import describe

from headway_tools.snapshots import Snapshots


def test_only_what_differs_is_touched(root: Path, snapshots: Snapshots) -> None:
    (root / "same").write_text("same")
    snapshot = snapshots.take(root)
    inode = (root / "same").stat()
    (root / "src/main.py").unlink()
    report = snapshots.restore(snapshot, root)
    assert [change.path for change in report.changes] == ["src/main.py"]
    assert (root / "same").stat() == inode


def test_the_plan_is_what_restore_does_and_its_report_undoes_it(
    root: Path, snapshots: Snapshots
) -> None:
    snapshot = snapshots.take(root)
    (root / "src/more.py").write_text("more")
    (root / "empty").rmdir()
    changed = describe(root)
    plan = snapshots.plan(snapshot, root)
    assert describe(root) == changed
    report = snapshots.restore(snapshot, root)
    assert report.changes == plan
    assert report.before is not None
    snapshots.restore(report.before, root)
    assert describe(root) == changed


def test_what_is_not_kept_is_named_and_left_alone(root: Path, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "store", max_file_bytes=1000)
    snapshot = snapshots.take(root)
    (root / "made").mkdir()
    (root / "made/large").write_bytes(b"x" * 2000)
    (root / "made/small").write_bytes(b"x")
    (root / "made/.venv").mkdir()
    (root / ".venv/bin").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
    here = {
        "made/large": "too_large",
        "made/.venv": "excluded",
        ".venv": "excluded",
        "socket": "socket",
    }
    assert named(snapshots.notes(snapshots.take(root))) == here
    report = snapshots.restore(snapshot, root)
    assert [change.path for change in report.changes] == ["made/small"]
    assert named(report.notes) == {
        "made": "not_empty",
        "made/large": "too_large",
        "socket": "socket",
    }
    assert (root / "made/large").stat().st_size == 2000
    assert (root / "made/.venv").is_dir()
    assert (root / ".venv/bin").is_dir()
    snapshots.close()


def test_a_large_file_goes_where_it_is_as_it_was_made_and_stays_else(
    root: Path, tmp_path: Path
) -> None:
    snapshots = Snapshots(tmp_path / "store", max_file_bytes=1000)
    snapshot = snapshots.take(root)
    (root / "made").mkdir()
    for name in ("same", "changed", "touched"):
        (root / "made" / name).write_bytes(b"x" * 2000)
    made = snapshots.take(root)
    (root / "made/changed").write_bytes(b"x" * 3000)
    os.utime(root / "made/touched", ns=(1, 1))
    (root / "made/other").write_bytes(b"x" * 2000)
    assert [c.path for c in snapshots.plan(snapshot, root, made=made)] == ["made/same"]
    report = snapshots.restore(snapshot, root, made=made)
    assert named(report.notes) == {
        "made": "not_empty",
        "made/changed": "too_large",
        "made/other": "too_large",
        "made/touched": "too_large",
    }
    assert {path.name for path in (root / "made").iterdir()} == {"changed", "other", "touched"}
    snapshots.close()


def test_a_file_that_grew_too_large_is_replaced_and_that_is_said(
    root: Path, tmp_path: Path
) -> None:
    snapshots = Snapshots(tmp_path / "store", max_file_bytes=1000)
    snapshot = snapshots.take(root)
    (root / "src/main.py").write_bytes(b"x" * 2000)
    (root / "later").write_bytes(b"x" * 2000)
    grown = snapshots.take(root)
    report = snapshots.restore(snapshot, root)
    assert (root / "src/main.py").read_text() == "one\ntwo\n"
    assert named(report.notes) == {"src/main.py": "replaced", "later": "too_large"}
    again = snapshots.restore(grown, root)
    assert named(again.notes)["src/main.py"] == "too_large"
    assert (root / "src/main.py").read_text() == "one\ntwo\n"
    snapshots.close()


def test_caches_make_no_difference_and_go_with_their_folder(
    root: Path, snapshots: Snapshots
) -> None:
    snapshot = snapshots.take(root)
    (root / "__pycache__").mkdir()
    (root / "__pycache__/a.pyc").write_bytes(b"a")
    assert snapshots.take(root) == snapshot
    assert named(snapshots.notes(snapshot)) == {"__pycache__": "excluded"}
    (root / "made/__pycache__").mkdir(parents=True)
    (root / "made/__pycache__/a.pyc").write_bytes(b"a")
    report = snapshots.restore(snapshot, root)
    assert named(report.notes) == {"__pycache__": "excluded"}
    assert not (root / "made").exists()
    assert (root / "__pycache__/a.pyc").exists()


def test_bytecode_of_a_later_source_does_not_run_after_a_restore(
    root: Path, snapshots: Snapshots
) -> None:
    source = root / "value.py"
    source.write_text("print(1)\n")
    snapshot = snapshots.take(root)
    source.write_text("print(2)\n")
    py_compile.compile(str(source), doraise=True)
    seconds = source.stat().st_mtime
    snapshots.restore(snapshot, root)
    os.utime(source, (seconds, seconds))
    command = [sys.executable, "-c", "import value"]
    assert subprocess.check_output(command, cwd=root) == b"1\n"


def test_temporary_files_of_killed_writes_are_no_part_of_a_snapshot(
    root: Path, snapshots: Snapshots
) -> None:
    snapshot = snapshots.take(root)
    (root / "src/.headway-1a2b").write_text("half")
    (root / "src/.headway-restore-1a2b").write_text("half")
    assert snapshots.take(root) == snapshot
    snapshots.restore(snapshot, root)
    assert sorted(path.name for path in (root / "src").iterdir()) == [".headway-1a2b", "main.py"]


def test_nothing_outside_is_reached_through_links(root: Path, snapshots: Snapshots) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("theirs")
    (outside / "linked").write_text("theirs")
    snapshot = snapshots.take(root)
    (root / "src/main.py").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(outside)
    (root / "empty/linked").hardlink_to(outside / "linked")
    snapshots.restore(snapshot, root)
    assert (root / "src/main.py").read_text() == "one\ntwo\n"
    assert not (root / "src").is_symlink()
    assert {p.name: p.read_text() for p in outside.iterdir()} == {
        "main.py": "theirs",
        "linked": "theirs",
    }


def test_what_stands_in_the_way_and_is_not_kept_is_named(root: Path, snapshots: Snapshots) -> None:
    (root / ".venv").symlink_to("../venv")
    (root / "data").write_text("a file")
    snapshot = snapshots.take(root)
    (root / ".venv").unlink()
    (root / ".venv/bin").mkdir(parents=True)
    (root / "data").unlink()
    (root / "data/node_modules").mkdir(parents=True)
    (root / "src/main.py").unlink()
    report = snapshots.restore(snapshot, root)
    assert named(report.notes) == {".venv": "blocked", "data": "blocked"}
    assert [change.path for change in report.changes] == ["src/main.py"]
    assert (root / ".venv/bin").is_dir()
    assert (root / "data/node_modules").is_dir()


def test_the_root_has_a_mode_too(root: Path, snapshots: Snapshots) -> None:
    root.chmod(0o750)
    snapshot = snapshots.take(root)
    root.chmod(0o755)
    assert [change.path for change in snapshots.restore(snapshot, root).changes] == ["."]
    assert root.stat().st_mode & 0o777 == 0o750


def test_a_hard_link_to_the_outside_is_cut_never_written_through(
    root: Path, snapshots: Snapshots
) -> None:
    outside = root.parent / "outside"
    outside.write_text("shared")
    (root / "inside").hardlink_to(outside)
    snapshot = snapshots.take(root)
    outside.write_text("changed")
    snapshots.restore(snapshot, root)
    assert (root / "inside").read_text() == "shared"
    assert outside.read_text() == "changed"
