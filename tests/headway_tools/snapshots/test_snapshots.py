import os
import py_compile
import socket
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from trees_support import describe

from headway_tools.errors import HeadwayError
from headway_tools.snapshots import CACHES, Note, Snapshots


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src/main.py").write_text("one\ntwo\n")
    (root / "empty").mkdir()
    return root


@pytest.fixture
def snapshots(tmp_path: Path) -> Iterator[Snapshots]:
    snapshots = Snapshots(tmp_path / "store")
    yield snapshots
    snapshots.close()


def named(notes: list[Note]) -> dict[str, str]:
    return {note.path: note.reason for note in notes}


def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    Snapshots(tmp_path / "store").close()
    assert not (tmp_path / "store").exists()


def test_equal_states_have_equal_ids_whatever_their_times(root: Path, snapshots: Snapshots) -> None:
    first = snapshots.take(root)
    os.utime(root / "src/main.py", (1, 1))
    assert snapshots.take(root) == first
    (root / "src/main.py").write_text("one\n2wo\n")
    assert snapshots.take(root) != first


def test_attributes_of_a_folder_are_part_of_the_state_however_soon_they_change(
    root: Path, snapshots: Snapshots
) -> None:
    states = [snapshots.take(root)]
    for value in (b"1", b"2"):
        os.setxattr(root / "empty", b"user.seen", value)
        states.append(snapshots.take(root))
    os.removexattr(root / "empty", b"user.seen")
    assert snapshots.take(root) == states[0]
    assert len(set(states)) == 3
    snapshots.restore(states[1], root)
    assert os.getxattr(root / "empty", b"user.seen") == b"1"


def test_each_kind_of_change_is_named(root: Path, snapshots: Snapshots) -> None:
    for name in ("changed", "deleted", "chmodded", "retyped", "linked"):
        (root / name).write_text(name)
    before = snapshots.take(root)
    (root / "changed").write_text("x")
    (root / "deleted").unlink()
    (root / "chmodded").chmod(0o755)
    (root / "retyped").unlink()
    (root / "retyped").symlink_to("src")
    (root / "new").hardlink_to(root / "linked")
    changes = snapshots.diff(before, snapshots.take(root))
    assert {change.path: change.kind for change in changes} == {
        "changed": "changed",
        "chmodded": "mode",
        "deleted": "deleted",
        "linked": "links",
        "new": "added",
        "retyped": "type",
    }


def test_a_change_of_equal_size_at_once_is_seen(root: Path, snapshots: Snapshots) -> None:
    ids = set()
    for number in range(100):
        (root / "counter").write_text(f"{number:03}")
        ids.add(snapshots.take(root))
    assert len(ids) == 100


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


def test_content_is_read_by_path(root: Path, snapshots: Snapshots) -> None:
    (root / os.fsdecode(b"odd\xff")).write_bytes(b"\x00\x01")
    (root / "large").write_bytes(os.urandom(3 << 20))
    snapshot = snapshots.take(root)
    assert snapshots.read(snapshot, "src/main.py") == b"one\ntwo\n"
    assert snapshots.read(snapshot, b"odd\xff") == b"\x00\x01"
    assert snapshots.read(snapshot, "large") == (root / "large").read_bytes()
    with pytest.raises(HeadwayError, match="src/nothing is not there"):
        snapshots.read(snapshot, "src/nothing")
    with pytest.raises(HeadwayError, match="no file but: folder"):
        snapshots.read(snapshot, "src")
    with pytest.raises(HeadwayError, match="no snapshot feed"):
        snapshots.read("feed", "src/main.py")


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


def test_dependency_folders_are_kept_on_request(root: Path, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "store", exclude=CACHES)
    (root / ".venv").mkdir()
    (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin")
    (root / "node_modules/.cache").mkdir(parents=True)
    snapshot = snapshots.take(root)
    assert snapshots.read(snapshot, ".venv/pyvenv.cfg") == b"home = /usr/bin"
    assert named(snapshots.notes(snapshot)) == {"node_modules/.cache": "excluded"}
    snapshots.close()


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


def test_folders_deeper_than_handles_allow_are_named(root: Path, snapshots: Snapshots) -> None:
    deep = root
    for _ in range(250):
        deep /= "d"
    deep.mkdir(parents=True)
    notes = snapshots.notes(snapshots.take(root))
    assert [note.reason for note in notes] == ["too_deep"]


def test_a_file_that_never_holds_still_is_marked(root: Path, snapshots: Snapshots) -> None:
    growing = root / "log"
    growing.write_bytes(b"x" * (2 << 20))
    program = "import sys\nwith open(sys.argv[1], 'ab', 0) as f:\n  while True: f.write(b'x')"
    with subprocess.Popen([sys.executable, "-c", program, str(growing)]) as writer:
        try:
            taken = (snapshots.take(root) for _ in range(50))  # the writer takes time to start
            marked = next(snapshot for snapshot in taken if snapshots.notes(snapshot))
        finally:
            writer.kill()
    assert named(snapshots.notes(marked)) == {"log": "changed_while_read"}
    assert len(snapshots.read(marked, "log")) >= 2 << 20


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


def test_the_patch_reads_like_a_diff(root: Path, snapshots: Snapshots) -> None:
    (root / "binary").write_bytes(b"\0")
    before = snapshots.take(root)
    (root / "binary").write_bytes(b"\0\0")
    (root / "src/main.py").write_text("one\nthree")
    (root / "src/new").write_text("new\n")
    (root / "src/new").chmod(0o600)
    (root / "empty").rmdir()
    assert snapshots.patch(before, snapshots.take(root)) == (
        "changed binary: file, 1 bytes -> file, 2 bytes (binary)\n"
        "deleted empty: folder -> nothing\n"
        "--- a/src/main.py\n+++ b/src/main.py\n@@ -1,2 +1,2 @@\n"
        " one\n-two\n+three\n\\ No newline at end of file\n"
        "--- /dev/null\n+++ b/src/new\n@@ -0,0 +1 @@\n+new\n"
    )


def test_the_patch_is_bounded_and_says_what_it_leaves_out(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take(root)
    for number in range(20):
        (root / f"new{number}").write_text("line\n" * 100)
    patch = snapshots.patch(before, snapshots.take(root), limit=1500)
    assert len(patch) < 1600
    assert "paths left: 18" in patch
