"""edit on a real disk: what survives, what is refused, and what others do at the same time."""

import os
import stat
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from files_support import NOBODY, edit_result, read_result, unprivileged, workspace_at
from pydantic import ValidationError

from headway_tools.edit import EditArgs, edit_tool
from headway_tools.env import ToolEnv, use_env
from headway_tools.files import WHOLE_LIMIT
from headway_tools.journal import MemoryJournal
from headway_tools.kinds import declaration_of
from headway_tools.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_at(tmp_path)


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o640, 0o4750, 0o2755, 0o1777])
def test_mode_survives(workspace: Workspace, mode: int) -> None:
    file = make(workspace, "f", b"a\n")
    file.chmod(mode)
    assert edit_result(workspace, "f", "a", "b")["ok"]
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_extended_attributes_survive(workspace: Workspace) -> None:
    file = make(workspace, "f", b"a\n")
    os.setxattr(file, "user.origin", b"somewhere\x00else")
    assert edit_result(workspace, "f", "a", "b")["ok"]
    assert os.getxattr(file, "user.origin") == b"somewhere\x00else"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_foreign_owner_survives_an_edit_by_root(workspace: Workspace) -> None:
    file = make(workspace, "f", b"a\n")
    os.chown(file, NOBODY, NOBODY)
    file.chmod(0o4750)
    assert edit_result(workspace, "f", "a", "b")["ok"]
    info = file.stat()
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (NOBODY, NOBODY, 0o4750)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_creates_belongs_to_the_owner_of_the_folder(workspace: Workspace) -> None:
    os.chown(workspace.root, NOBODY, NOBODY)
    assert edit_result(workspace, "new/f", "", "a")["ok"]
    for made in (workspace.root / "new", workspace.root / "new/f"):
        assert (made.stat().st_uid, made.stat().st_gid) == (NOBODY, NOBODY)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file of another owner")
def test_a_file_that_cannot_be_given_to_its_owner_is_written_in_place(open_folder: Path) -> None:
    file = open_folder / "f"
    file.write_bytes(b"a\n")
    file.chmod(0o666)
    before = file.stat()
    with unprivileged():
        assert edit_result(workspace_at(open_folder), "f", "a", "bcd")["ok"]
    assert file.read_bytes() == b"bcd\n"
    assert (file.stat().st_ino, file.stat().st_uid) == (before.st_ino, before.st_uid)
    assert edit_result(workspace_at(open_folder), "f", "bcd", "a")["ok"]
    assert file.read_bytes() == b"a\n"


def test_a_file_in_a_folder_that_takes_no_new_files_is_written_in_place(open_folder: Path) -> None:
    (open_folder / "sub").mkdir()
    file = open_folder / "sub/f"
    file.write_bytes(b"a longer text\n")
    file.chmod(0o666)
    (open_folder / "sub").chmod(0o555)
    try:
        with unprivileged():
            assert edit_result(workspace_at(open_folder), "sub/f", "a longer", "short")["ok"]
    finally:
        (open_folder / "sub").chmod(0o755)
    assert file.read_bytes() == b"short text\n"


@pytest.mark.parametrize(("mode", "folder_mode"), [(0o444, 0o777), (0o000, 0o777), (0o666, 0o000)])
def test_what_the_user_may_not_write_is_refused(
    open_folder: Path, mode: int, folder_mode: int
) -> None:
    (open_folder / "sub").mkdir()
    file = open_folder / "sub/f"
    file.write_bytes(b"a\n")
    file.chmod(mode)
    (open_folder / "sub").chmod(folder_mode)
    try:
        with unprivileged():
            result = edit_result(workspace_at(open_folder), "sub/f", "a", "b")
    finally:
        (open_folder / "sub").chmod(0o755)
    assert result["error"] == "permission_denied"
    assert file.stat().st_size == 2


def test_a_link_stays_a_link_and_its_target_is_edited(workspace: Workspace) -> None:
    make(workspace, "real/f", b"a\n")
    (workspace.root / "link").symlink_to("real/f")
    result = edit_result(workspace, "link", "a", "b")
    assert result["path"] == "real/f"
    assert (workspace.root / "link").is_symlink()
    assert (workspace.root / "real/f").read_bytes() == b"b\n"


def test_a_dangling_link_creates_its_target_inside_only(workspace: Workspace) -> None:
    (workspace.root / "in").symlink_to("made/f")
    (workspace.root / "out").symlink_to("../made-outside")
    assert edit_result(workspace, "in", "", "a")["path"] == "made/f"
    assert edit_result(workspace, "out", "", "a")["error"] == "outside_workspace"
    assert not (workspace.root.parent / "made-outside").exists()


def test_hard_links_inside_stay_together_and_are_told(workspace: Workspace) -> None:
    file = make(workspace, "f", b"a longer text\n")
    (workspace.root / "g").hardlink_to(file)
    result = edit_result(workspace, "f", "a longer", "short")
    assert result["hard_links"] == ["g"]
    assert (workspace.root / "g").read_bytes() == b"short text\n"
    assert file.stat().st_nlink == 2


def test_a_hard_link_to_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").write_bytes(b"a\n")
    (tmp_path / "inside/f").hardlink_to(tmp_path / "outside")
    result = edit_result(workspace_at(tmp_path / "inside"), "f", "a", "b")
    assert result["error"] == "hard_link"
    assert (tmp_path / "outside").read_bytes() == b"a\n"


def test_ten_edits_at_once_of_one_file_all_land(workspace: Workspace) -> None:
    lines = [f"line {number} of many, padded {'.' * 80}" for number in range(1000)]
    file = make(workspace, "f", "\n".join(lines).encode())
    with ThreadPoolExecutor(10) as pool:
        calls = [(f"line {n}00 of many", f"LINE {n}00 of many") for n in range(1, 10)]
        results = list(pool.map(lambda call: edit_result(workspace, "f", *call), calls))
    assert all(result["ok"] for result in results)
    changed = [line for line in file.read_text().split("\n") if line.startswith("LINE")]
    assert len(changed) == 9


def test_a_reader_sees_the_old_or_the_new_file_and_never_a_part(workspace: Workspace) -> None:
    versions = (b"x = 1\n" + b"y" * 2**20, b"x = 2\n" + b"y" * 2**20)
    file = make(workspace, "f", versions[0])
    seen: set[bytes] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.add(file.read_bytes())

    reader = threading.Thread(target=look)
    reader.start()
    for count in range(40):
        old, new = ("x = 1", "x = 2")[:: 1 if count % 2 == 0 else -1]
        assert edit_result(workspace, "f", old, new)["ok"]
    stop.set()
    reader.join()
    assert seen <= set(versions)


def test_changed_since_it_was_read_is_told_where_the_fragment_is_gone(workspace: Workspace) -> None:
    file = make(workspace, "f", b"one\ntwo\n")
    read_result(workspace, "f")
    file.write_bytes(b"1\n2 and more\n")
    result = edit_result(workspace, "f", "two", "x")
    assert (result["error"], result["next_step"]) == ("changed", "read it again")
    read_result(workspace, "f")
    assert edit_result(workspace, "f", "two", "x")["error"] == "no_match"


def test_changed_since_it_was_read_is_allowed_where_the_fragment_is_still_unique(
    workspace: Workspace,
) -> None:
    file = make(workspace, "f", b"one\ntwo\n")
    read_result(workspace, "f")
    file.write_bytes(b"1\ntwo\n")
    assert edit_result(workspace, "f", "two", "x")["ok"]
    assert file.read_bytes() == b"1\nx\n"


def test_the_models_own_edit_is_no_foreign_change(workspace: Workspace) -> None:
    make(workspace, "f", b"one\ntwo\n")
    read_result(workspace, "f")
    edit_result(workspace, "f", "two", "x")
    assert edit_result(workspace, "f", "two", "x")["error"] == "no_match"


def test_what_was_read_is_known_under_every_name_of_the_file(workspace: Workspace) -> None:
    file = make(workspace, "real/f", b"one\n")
    (workspace.root / "link").symlink_to("real/f")
    read_result(workspace, "link")
    file.write_bytes(b"else entirely\n")
    assert edit_result(workspace, "real/f", "one", "x")["error"] == "changed"


def test_a_git_folder_is_protected_at_any_depth(workspace: Workspace) -> None:
    make(workspace, ".git/config", b"[core]\n")
    make(workspace, "sub/.git", b"gitdir: ../elsewhere\n")
    make(workspace, ".gitignore", b"a\n")
    assert edit_result(workspace, ".git/config", "core", "x")["error"] == "protected"
    assert edit_result(workspace, ".git/hooks/pre-commit", "", "x")["error"] == "protected"
    assert edit_result(workspace, "sub/.git", "gitdir", "x")["error"] == "protected"
    assert edit_result(workspace, ".gitignore", "a", "b")["ok"]


def test_a_protected_path_is_protected_under_every_name(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tmp_path, protect=("tests", "linked", "*.lock"))
    make(workspace, "tests/t.py", b"a\n")
    make(workspace, "real/t.py", b"a\n")
    make(workspace, "deep/x.lock", b"a\n")
    make(workspace, "x.lock", b"a\n")
    (tmp_path / "to_tests").symlink_to("tests")
    (tmp_path / "linked").symlink_to("real")
    for path in (
        "tests/t.py",
        "to_tests/t.py",
        "./tests//t.py",
        "linked/t.py",
        "real/t.py",
        "x.lock",
    ):
        assert edit_result(workspace, path, "a", "b")["error"] == "protected", path
    assert edit_result(workspace, "to_tests/new/f", "", "b")["error"] == "protected"
    assert not (tmp_path / "tests/new").exists()
    assert edit_result(workspace, "deep/x.lock", "a", "b")["ok"]


def test_a_file_too_large_to_edit_is_refused_in_bounded_memory(workspace: Workspace) -> None:
    file = make(workspace, "f", b"a\n")
    os.truncate(file, 5 * 2**30)
    assert edit_result(workspace, "f", "a", "b")["error"] == "too_large"
    assert file.stat().st_size > WHOLE_LIMIT


@pytest.mark.parametrize("name", ["a folder", "fifo", "/dev/null", "null"])
def test_what_is_no_file_is_refused(workspace: Workspace, name: str) -> None:
    (workspace.root / "a folder").mkdir()
    os.mkfifo(workspace.root / "fifo")
    (workspace.root / "null").symlink_to("/dev/null")
    assert edit_result(workspace, name, "a", "b")["error"] in {
        "is_a_directory",
        "not_a_file",
        "outside_workspace",
    }


@pytest.mark.parametrize("path", ["new/", "a/b/../c/", "", " ", "a\0b", "x" * 5000, "y" * 300])
def test_odd_paths_are_refused_and_leave_nothing(workspace: Workspace, path: str) -> None:
    result = edit_result(workspace, path, "", "text")
    assert result["error"] in {"is_a_directory", "invalid_arguments"}
    assert list(workspace.root.iterdir()) == []


def test_arguments_beyond_the_schema_are_refused() -> None:
    with pytest.raises(ValidationError):
        EditArgs.model_validate(
            {"path": "f", "old_text": "a", "new_text": "b", "replace_all": True}
        )


async def test_the_tool_edits_the_workspace_of_its_call(workspace: Workspace) -> None:
    file = make(workspace, "f", b"a b c\n")
    tool = edit_tool()
    with use_env(ToolEnv(workspace, None, MemoryJournal(), None, 10)):
        sync = tool.invoke({"path": "f", "old_text": "a", "new_text": "1"})
        own = await tool.ainvoke({"path": "f", "old_text": "b", "new_text": "2"})
    assert file.read_bytes() == b"1 2 c\n"
    assert sync.startswith('{"ok": true, "path": "f", "line": 1')
    assert '"preview": "1\\t1 2 c' in own
    assert declaration_of(tool).kind == "write"


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that an unprivileged user can reach and write."""
    folder = tmp_path_factory.mktemp("open")
    for above in folder.parents:
        if above.owner() == folder.owner() and above.is_relative_to(tempfile.gettempdir()):
            above.chmod(above.stat().st_mode | 0o055)
    folder.chmod(0o777)
    return folder


def make(workspace: Workspace, path: str, data: bytes) -> Path:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file
