"""Which folders may be a workspace, and which paths may be protected or shown."""

import os
from pathlib import Path

import pytest

from headway_tools.errors import HeadwayError
from headway_tools.given import (
    check_pattern,
    check_shown,
    check_workspace,
    require_protected,
)


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


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("tests", "tests"),
        ("{work}/tests", "tests"),
        ("{real}/tests/*.py", "tests/*.py"),
        ("!tests/own.py", "!tests/own.py"),
        ("!{work}/own.py", "!own.py"),
    ],
)
def test_a_pattern_is_taken_from_the_top_of_the_workspace(
    tmp_path: Path, given: str, taken: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to("real")
    names = {"work": tmp_path / "work", "real": tmp_path / "real"}
    assert check_pattern("protect", given.format(**names), tmp_path / "work") == taken


@pytest.mark.parametrize("given", ["/etc/passwd", "../x", "a/../../x", "{work}2/x", "", ".", "/"])
def test_a_pattern_cannot_lead_outside(tmp_path: Path, given: str) -> None:
    with pytest.raises(HeadwayError, match="cannot hide.*name a file, folder or glob"):
        check_pattern("hide", given.format(work=tmp_path), tmp_path)


def test_a_plain_name_to_protect_must_be_there_and_a_glob_may_come_later(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    require_protected(tmp_path, ["tests", "dangling", "*.lock", "secret.ke[y]", "!not/here"])
    with pytest.raises(HeadwayError, match="'test'.*no such file or folder.*a glob"):
        require_protected(tmp_path, ["tests", "test"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "does not exist"),
        ("work/inside", "--protect"),
        ("data/threads", "headway's own data"),
        ("link-to-data", "headway's own data"),
    ],
)
def test_what_cannot_be_shown_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "work/inside").mkdir(parents=True)
    (tmp_path / "data/threads").mkdir(parents=True)
    (tmp_path / "link-to-data").symlink_to("data")
    with pytest.raises(HeadwayError, match=reason):
        check_shown(tmp_path / name, tmp_path / "work", tmp_path / "data")


def test_a_folder_to_show_may_be_relative_and_may_hold_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "top/work").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    shown = check_shown(Path("top"), tmp_path / "top/work", tmp_path / "data")
    assert shown == tmp_path / "top"
