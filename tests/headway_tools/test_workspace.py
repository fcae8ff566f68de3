"""Which paths a workspace takes."""

from pathlib import Path

import pytest
from files_support import edit_result, read_result

from headway_tools.errors import ToolFailure
from headway_tools.workspace import Workspace


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


def test_what_is_hidden_is_so_under_every_name(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tmp_path, hide=(".env*", "keys.d"))
    for path in ("real", "settings/sub/a", ".env.hard", "keys.d/k", "plain"):
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text("key\n")
    (tmp_path / ".env").symlink_to("real")
    (tmp_path / ".env.d").symlink_to("settings")
    (tmp_path / ".env.gone").symlink_to("nowhere")
    (tmp_path / "link").symlink_to("settings")
    for one, other in ((".env.hard", "open"), ("keys.d/k", "key"), ("plain", "other")):
        (tmp_path / other).hardlink_to(tmp_path / one)
    for path in ("real", "settings/sub/a", "link/sub/a", "settings", "open", "key"):
        assert read_result(workspace, path)["error"] == "hidden", path
        assert edit_result(workspace, path, "key", "x")["error"] == "hidden", path
    assert edit_result(workspace, "settings/new", "", "x")["error"] == "hidden"
    assert [read_result(workspace, path)["ok"] for path in ("plain", "other")] == [True, True]


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


def test_what_is_withheld_is_neither_read_nor_changed_nor_named(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/key.txt").write_text("key")
    workspace = Workspace(tmp_path, tmp_path, withheld=("own",))
    assert read_result(workspace, "own/key.txt")["error"] == "hidden"
    assert edit_result(workspace, "own/new.txt", "", "x")["error"] == "hidden"
    assert read_result(workspace, "kei.txt")["nearest"] == []
