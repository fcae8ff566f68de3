"""Data folders that cannot be used: one line with the fix, whatever the command."""

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


def test_a_data_folder_that_cannot_be_written_is_told_by_doctor_and_run(
    headway: Headway, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In /proc/sys nobody makes a folder, not even the superuser."""
    monkeypatch.setenv("HEADWAY_HOME", "/proc/sys/headway")
    doctor = headway("doctor", "--json")
    cannot = "no: cannot write /proc/sys; set HEADWAY_HOME"
    assert (doctor.code, doctor.json["works"]["data"]) == (2, cannot)
    run = headway(*words("run", workspace, script([DONE])))
    assert run.code == 2
    assert run.err.startswith("headway: cannot write headway's data folder /proc/sys/headway: ")
    assert run.err.endswith("; set HEADWAY_HOME\n")
