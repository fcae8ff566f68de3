"""Data folders that cannot be used: one line with the fix, whatever the command."""

import re
from pathlib import Path

import pytest
from cli_support import DONE, Headway, Script
from files_support import unprivileged

COMMANDS = ("threads", "show", "undo", "doctor", "run", "demo", "resume", "rm")


def words(command: str, workspace: Path, model: str) -> tuple[str, ...]:
    if command == "run":
        return ("run", "x", "-C", str(workspace), "--model", model)
    return (command, "x") if command == "rm" else (command,)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_data_folder_that_is_a_file_is_told_as_one(
    headway: Headway,
    script: Script,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    for home in (workspace / "a.txt", workspace / "a.txt/below"):
        monkeypatch.setenv("HEADWAY_HOME", str(home))
        done = headway(*words(command, workspace, script([DONE])))
        assert (done.code, done.out) == (2, "")
        told = f"cannot read headway's data folder {home}: Not a directory; set HEADWAY_HOME"
        assert done.err.endswith(f"headway: {told}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_data_folder_below_a_closed_one_is_told_as_closed(
    headway: Headway,
    script: Script,
    workspace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    model = script([DONE])
    tmp_path.chmod(0o755)
    (tmp_path / "closed").mkdir(0o000)
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "closed/home"))
    with unprivileged():
        done = headway(*words(command, workspace, model))
    (tmp_path / "closed").chmod(0o700)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("closed/home: Permission denied; set HEADWAY_HOME\n")


@pytest.mark.parametrize("home", ["/proc/sys/headway", "/proc/headway", "/proc/1/share/headway"])
def test_a_data_folder_that_cannot_be_written_is_told_by_doctor_run_and_threads(
    headway: Headway,
    script: Script,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    home: str,
) -> None:
    """Nobody makes a folder in /proc, not even the superuser, whom its permissions would let."""
    monkeypatch.setenv("HEADWAY_HOME", home)
    cannot = rf"cannot write headway's data folder {home}: .*; set HEADWAY_HOME"
    doctor = headway("doctor", "--json")
    assert doctor.code == 2
    assert re.fullmatch(f"no: {cannot}", doctor.json["works"]["data"])
    for argv in (words("run", workspace, script([DONE])), ("threads",)):
        done = headway(*argv)
        assert (done.code, done.out) == (2, "")
        assert re.fullmatch(f"headway: {cannot}\n", done.err)


def test_looking_at_a_data_folder_leaves_nothing_behind(headway: Headway, own_home: Path) -> None:
    headway("doctor")
    headway("threads")
    assert not own_home.exists() or not list(own_home.iterdir())
