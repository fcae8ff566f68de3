"""Ctrl-C and SIGTERM in the middle of a command: the process of these tests gets them for real."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_support import DONE, Headway, Script, call


@pytest.fixture(autouse=True)
def hears_a_closed_terminal() -> Iterator[None]:
    """Also where the tests themselves run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@contextmanager
def signals_once(started: Path, *numbers: int) -> Iterator[None]:
    """Send `numbers` to this process, one after another, as soon as `started` exists."""

    def send() -> None:
        for _ in range(3000):
            if started.exists():
                break
            time.sleep(0.02)
        for number in numbers:
            os.kill(os.getpid(), number)
            time.sleep(0.2)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        sender.join()


def place(workspace: Path, model: str) -> tuple[str, ...]:
    return ("-C", str(workspace), "--thread", "otter", "--model", model)


def test_ctrl_c_once_ends_the_step_and_resume_goes_on(
    headway: Headway, script: Script, workspace: Path
) -> None:
    command = call("bash", command="echo run >> started; sleep 1; echo whole >> started")
    with signals_once(workspace / "started", signal.SIGINT):
        stopped = headway("run", "x", *place(workspace, script([command, DONE])))
    assert stopped.code == 130
    assert "Ctrl-C again stops it now" in stopped.err
    assert "headway resume otter" in stopped.out
    done = headway("resume", "otter", "--json")
    assert (done.code, done.json["answer"]) == (0, "Changed.")
    assert (workspace / "started").read_text() == "run\nwhole\n"


def test_ctrl_c_twice_stops_now_and_nothing_is_repeated(
    headway: Headway, script: Script, workspace: Path
) -> None:
    command = call("bash", command="echo run >> started; sleep 100; echo whole >> started")
    started = time.monotonic()
    with signals_once(workspace / "started", signal.SIGINT, signal.SIGINT):
        stopped = headway("run", "x", *place(workspace, script([command, DONE])), "--json")
    assert time.monotonic() - started < 90
    assert (stopped.code, stopped.json["status"]) == (130, "cancelled")
    done = headway("resume", "otter", "--json")
    assert (done.code, done.json["answer"]) == (0, "Changed.")
    assert (workspace / "started").read_text() == "run\n"


def test_after_a_stop_the_turns_go_on_counting(
    headway: Headway, script: Script, workspace: Path
) -> None:
    command = call("bash", command="echo run >> started; sleep 1")
    with signals_once(workspace / "started", signal.SIGINT):
        headway("run", "x", *place(workspace, script([command, call("bash", command="ls"), DONE])))
    assert " 2  bash ls" in headway("resume", "otter").err


def test_a_terminal_that_goes_away_stops_now_and_loses_nothing(
    headway: Headway, script: Script, workspace: Path
) -> None:
    command = call("bash", command="echo run >> started; sleep 100")
    with signals_once(workspace / "started", signal.SIGHUP):
        stopped = headway("run", "x", *place(workspace, script([command, DONE])), "--json")
    assert (stopped.code, stopped.json["status"]) == (129, "cancelled")
    assert headway("resume", "otter").code == 0


def test_sigterm_stops_now_with_its_own_code(
    headway: Headway, script: Script, workspace: Path
) -> None:
    command = call("bash", command="echo run >> started; sleep 100")
    with signals_once(workspace / "started", signal.SIGTERM):
        stopped = headway("run", "x", *place(workspace, script([command, DONE])), "--jsonl")
    assert stopped.code == 143
    assert '"type": "end"' in stopped.out.splitlines()[-1]
    assert headway("resume", "otter").code == 0


def wait_for(started: Path) -> None:
    for _ in range(3000):
        if started.exists():
            return
        time.sleep(0.02)
    raise AssertionError("the command was not started")


def test_ctrl_c_again_and_again_is_130_without_a_traceback(
    headway: Headway, script: Script, workspace: Path
) -> None:
    command = call("bash", command="echo run >> started; sleep 100")
    argv = [sys.executable, "-m", "headway_cli", "run", "x"]
    with subprocess.Popen(
        [*argv, *place(workspace, script([command, DONE]))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(workspace / "started")
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert process.returncode == 130
        assert process.stderr
        said = process.stderr.read()
    assert "Traceback" not in said
    assert said.count("stopping now") == 1
    assert headway("resume", "otter").code == 0


def test_a_closed_terminal_takes_stdout_away_and_is_129_all_the_same(
    headway: Headway, script: Script, workspace: Path
) -> None:
    command = call("bash", command="echo run >> started; sleep 100")
    argv = [sys.executable, "-m", "headway_cli", "run", "x"]
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*argv, *place(workspace, script([command, DONE]))], stdout=slave, stderr=slave
    ) as process:
        os.close(slave)
        wait_for(workspace / "started")
        os.close(master)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == 129
    assert headway("resume", "otter").code == 0
