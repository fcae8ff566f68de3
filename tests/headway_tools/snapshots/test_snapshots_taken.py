"""What a snapshot holds, what it names as not kept, and how two of them differ."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from snapshots_support import named

from headway_tools.errors import HeadwayError
from headway_tools.snapshots import CACHES, Snapshots


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


def test_dependency_folders_are_kept_on_request(root: Path, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "store", exclude=CACHES)
    (root / ".venv").mkdir()
    (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin")
    (root / "node_modules/.cache").mkdir(parents=True)
    snapshot = snapshots.take(root)
    assert snapshots.read(snapshot, ".venv/pyvenv.cfg") == b"home = /usr/bin"
    assert named(snapshots.notes(snapshot)) == {"node_modules/.cache": "excluded"}
    snapshots.close()


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
