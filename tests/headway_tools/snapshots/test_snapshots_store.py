"""The store: shared, bounded, collected, private, and one error when it is damaged or full."""

import os
import sqlite3
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
from snapshots_support import named
from trees_support import describe

from headway_tools.errors import HeadwayError
from headway_tools.snapshots import Snapshots


def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    Snapshots(tmp_path / "store").close()
    assert not (tmp_path / "store").exists()


def test_a_full_store_keeps_the_names_and_says_so(root: Path, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "store", max_bytes=1 << 20)
    (root / "noise").write_bytes(os.urandom(2 << 20))
    snapshot = snapshots.take(root)
    assert named(snapshots.notes(snapshot)) == {"noise": "store_full"}
    assert snapshots.read(snapshot, "src/main.py") == b"one\ntwo\n"
    (root / "noise").write_bytes(os.urandom(900_000))
    kept = snapshots.take(root)
    (root / "copy").write_bytes((root / "noise").read_bytes())
    assert snapshots.notes(snapshots.take(root)) == []
    (root / "copy").write_bytes(os.urandom(900_000))
    assert named(snapshots.notes(snapshots.take(root))) == {"copy": "store_full"}
    report = snapshots.restore(kept, root)
    assert named(report.notes) == {"copy": "store_full"}
    snapshots.close()


def test_collecting_keeps_what_is_named_and_shrinks_the_file(
    root: Path, snapshots: Snapshots
) -> None:
    states = []
    for _ in range(3):
        (root / "noise").write_bytes(os.urandom(1 << 20))
        states.append((snapshots.take(root), describe(root)))
    assert snapshots.collect([states[1][0], "unknown"]) > 0
    size = sum(path.stat().st_size for path in (root.parent / "store").iterdir())
    assert size < 3 << 19
    snapshots.restore(states[1][0], root)
    assert describe(root) == states[1][1]
    with pytest.raises(HeadwayError, match="no snapshot"):
        snapshots.diff(states[0][0], states[1][0])


def test_a_second_process_notices_that_objects_were_collected(
    root: Path, snapshots: Snapshots
) -> None:
    other = Snapshots(root.parent / "store")
    (root / "noise").write_bytes(b"noise")
    os.utime(root, (1, 1))
    other.take(root)
    other.take(root)
    snapshots.collect([])
    snapshot = other.take(root)
    assert other.read(snapshot, "noise") == b"noise"
    other.close()


def test_threads_and_processes_share_a_store(root: Path, snapshots: Snapshots) -> None:
    stores = [snapshots, Snapshots(root.parent / "store")]
    folders = [root.parent / f"folder{number}" for number in range(4)]
    found: list[tuple[Path, str]] = []

    def work(number: int) -> None:
        folder = folders[number]
        folder.mkdir()
        for step in range(10):
            (folder / "file").write_text(f"{number} {step}")
            found.append((folder, stores[number % 2].take(folder)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = {snapshots.read(snapshot, "file").decode() for _, snapshot in found}
    assert texts == {f"{number} {step}" for number in range(4) for step in range(10)}
    stores[1].close()


def test_a_damaged_object_is_one_error_and_nothing_is_touched(
    root: Path, snapshots: Snapshots
) -> None:
    (root / "other").write_text("other")
    snapshot = snapshots.take(root)
    (root / "src/main.py").unlink()
    (root / "other").unlink()
    changed = describe(root)
    snapshots.take(root)
    damaged = b"\1" + zlib.compress(b"something else")
    with sqlite3.connect(root.parent / "store/objects.sqlite") as db:
        query = "UPDATE objects SET data = ? WHERE data = ?"
        assert db.execute(query, (damaged, b"\0one\ntwo\n")).rowcount == 1
    db.close()
    with pytest.raises(HeadwayError, match="missing or damaged") as caught:
        snapshots.restore(snapshot, root)
    assert "\n" not in str(caught.value)
    assert describe(root) == changed
    assert snapshots.read(snapshot, "other") == b"other"


def test_a_damaged_file_is_one_error(root: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/objects.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(HeadwayError, match="is damaged"):
        Snapshots(tmp_path / "store").take(root)


def test_a_newer_schema_is_refused_in_one_line(root: Path, snapshots: Snapshots) -> None:
    snapshots.take(root)
    snapshots.close()
    file = root.parent / "store/objects.sqlite"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(HeadwayError, match="newer headway .schema 99.: upgrade"):
        snapshots.take(root)


def test_a_full_disk_is_one_error_and_earlier_snapshots_stay(root: Path, tmp_path: Path) -> None:
    program = """
import resource, sys
from pathlib import Path
from headway_tools.errors import HeadwayError
from headway_tools.snapshots import Snapshots
root, store = Path(sys.argv[1]), Path(sys.argv[2])
snapshots = Snapshots(store)
first = snapshots.take(root)
(root / "noise").write_bytes(__import__("os").urandom(3 << 20))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
try:
    snapshots.take(root)
except HeadwayError as error:
    print("refused:", error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(snapshots.read(first, "src/main.py"))
print(snapshots.diff(first, snapshots.take(root))[0].path)
snapshots.close()
"""
    command = [sys.executable, "-c", program, str(root), str(tmp_path / "store")]
    lines = subprocess.check_output(command, text=True).splitlines()
    assert lines[0].startswith("refused: ")
    assert lines[1:] == [repr(b"one\ntwo\n"), "noise"]


def test_a_store_inside_the_workspace_is_refused(root: Path) -> None:
    snapshots = Snapshots(root / "data")
    with pytest.raises(HeadwayError, match="inside the workspace"):
        snapshots.take(root)
    snapshots.close()


def test_a_workspace_that_went_is_one_error(root: Path, snapshots: Snapshots) -> None:
    with pytest.raises(HeadwayError, match="cannot read the workspace .*: No such file"):
        snapshots.take(root / "nothing")


def test_the_files_are_private(root: Path, snapshots: Snapshots) -> None:
    snapshots.take(root)
    modes = {p.name: p.stat().st_mode & 0o777 for p in (root.parent / "store").iterdir()}
    assert set(modes.values()) == {0o600}
    assert (root.parent / "store").stat().st_mode & 0o777 == 0o700
