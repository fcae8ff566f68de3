"""Which paths a workspace takes, and which folders may be one."""

import os
from pathlib import Path

import pytest
from files_support import edit_result, read_result

from headway_tools.errors import HeadwayError, ToolFailure
from headway_tools.workspace import Workspace, check_workspace


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a/b", "a/b"),
        ("{path}/a/b", "a/b"),
        ("{path}", "."),
        ("{path}/", "."),
        ("{real}/a", "a"),
        ("../x", "../x"),
        ("~/x", "~/x"),
        ("line\nbreak", "line\nbreak"),
        ("caf\\udce9.txt", "caf\udce9.txt"),
    ],
)
def test_locate_gives_a_path_from_the_top(tmp_path: Path, given: str, expected: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    workspace = Workspace(tmp_path / "link", tmp_path / "link")
    path = given.format(path=tmp_path / "link", real=tmp_path / "real")
    assert workspace.locate(path) == expected


@pytest.mark.parametrize("given", ["/etc/passwd", "/", "{path}2/a", "{path}x"])
def test_locate_refuses_absolute_paths_elsewhere(tmp_path: Path, given: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        Workspace(tmp_path, tmp_path).locate(given.format(path=tmp_path))
    assert failure.value.code == "outside_workspace"


def test_a_workspace_reached_through_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    workspace = Workspace(tmp_path / "link", tmp_path / "link")
    assert edit_result(workspace, "f", "", "text\n")["ok"]
    for name in ("f", str(tmp_path / "link/f"), str(tmp_path / "real/f")):
        assert read_result(workspace, name)["text"] == "1\ttext"


def test_a_branch_reads_and_writes_its_own_files_under_the_original_name(tmp_path: Path) -> None:
    original, branch = tmp_path / "original", tmp_path / "branch"
    for folder in (original, branch):
        (folder / "sub").mkdir(parents=True)
        (folder / "sub/f").write_text(f"in {folder.name}\n")
        (folder / "absolute").symlink_to(original / "sub")
    workspace = Workspace(path=original, root=branch)
    assert read_result(workspace, str(original / "sub/f"))["text"] == "1\tin branch"
    assert edit_result(workspace, "absolute/f", "in", "still in")["path"] == "sub/f"
    assert (original / "sub/f").read_text() == "in original\n"
    assert (branch / "sub/f").read_text() == "still in branch\n"


def test_hidden_files_are_hidden_under_every_name_and_examples_are_not(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tmp_path, hide=(".env*", "!.env.example", "keys"))
    for path in ("a/.env", "a/.env.local", "a/.env.example", "keys/k", "plain"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("text\n")
    (tmp_path / "link").symlink_to("a/.env")
    for path in ("a/.env", "a/.env.local", "keys/k", "link", "./a/../a/.env"):
        assert read_result(workspace, path)["error"] == "hidden", path
    assert read_result(workspace, "a/.env.example")["ok"]


def test_a_missing_file_is_answered_with_the_nearest_names(tmp_path: Path) -> None:
    for path in ("shop/delivery.py", "shop/deliveries.py", "tests/test_delivery.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    workspace = Workspace(tmp_path, tmp_path)
    assert read_result(workspace, "delivery.py")["nearest"] == [
        "shop/delivery.py",
        "shop/deliveries.py",
        "tests/test_delivery.py",
    ]
    missing = read_result(workspace, "zzz")
    assert (missing["error"], missing["nearest"]) == ("not_found", [])


@pytest.mark.parametrize("folder", ["/", "/root", "/home", "~", "{home}", "{home}/.."])
def test_a_folder_that_holds_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    home = tmp_path / "someone"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    path = Path(folder.format(home=home))
    with pytest.raises(HeadwayError, match="--unsafe-workspace|does not exist"):
        check_workspace(path, data_home=Path("/var/empty/headway"))


def test_the_folder_above_the_data_folder_is_taken_with_the_flag_only(tmp_path: Path) -> None:
    (tmp_path / "work/data").mkdir(parents=True)
    (tmp_path / "link").symlink_to("work/data")
    above, data = tmp_path / "work", tmp_path / "link"
    with pytest.raises(HeadwayError, match="data folder.*--unsafe-workspace"):
        check_workspace(above, data_home=data)
    assert check_workspace(above, data_home=data, unsafe=True) == above


@pytest.mark.parametrize("name", ["data", "data/threads", "data/threads/t/private"])
def test_the_data_folder_itself_is_no_workspace(tmp_path: Path, name: str) -> None:
    (tmp_path / "data/threads/t/private").mkdir(parents=True)
    with pytest.raises(HeadwayError, match="headway's own data"):
        check_workspace(tmp_path / name, data_home=tmp_path / "data", unsafe=True)


def test_what_is_withheld_is_neither_read_nor_changed_nor_named(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/key.txt").write_text("key")
    workspace = Workspace(tmp_path, tmp_path, withheld=("own",))
    assert read_result(workspace, "own/key.txt")["error"] == "hidden"
    assert edit_result(workspace, "own/new.txt", "", "x")["error"] == "hidden"
    assert read_result(workspace, "kei.txt")["nearest"] == []


def test_a_home_is_taken_with_the_flag_where_the_data_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    given = tmp_path / "home"
    assert check_workspace(given, data_home=tmp_path / "data", unsafe=True) == given


def test_a_project_folder_is_taken_as_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    assert check_workspace(Path("link"), data_home=tmp_path / "data") == tmp_path / "link"
    assert check_workspace(Path("real/."), data_home=tmp_path / "data") == tmp_path / "real"


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_refused_even_when_unsafe(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadwayError, match=os.fspath(tmp_path / name)):
        check_workspace(tmp_path / name, data_home=tmp_path / "data", unsafe=True)
