"""A restore or an undo that is killed in the middle: the next one completes it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from trees_support import describe

from headway import run_agent
from headway_debugger.rewind import restore_thread, undo_thread
from headway_debugger.threads import open_thread
from headway_tools.home import Home
from policies import bash, replies

KILLED = """
import os, sys
from headway_debugger.rewind import restore_thread, undo_thread
from headway_debugger.threads import open_thread
from headway_tools.home import default_home, Home

left = int(sys.argv[1])

def die(frame, event, argument):
    global left
    if event == "call" and frame.f_code.co_name in ("_put", "_delete"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)

with open_thread(Home(default_home()), "t") as thread:
    sys.setprofile(die)
    if sys.argv[2] == "undo":
        undo_thread(thread)
    else:
        restore_thread(thread, thread.tree.branches["main"].nodes[0])
"""
"""An undo, or a restore to the first step, killed before the change of files with that number."""

CHANGES = "rm a.txt; mkdir d; for name in 1 2 3; do echo $name > d/$name; done; mv keep kept"


def killed(verb: str, changes: int) -> None:
    child = subprocess.run([sys.executable, "-c", KILLED, str(changes), verb], check=False)
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("verb", ["restore", "undo"])
@pytest.mark.parametrize("changes", [0, 5])
def test_the_next_restore_or_undo_completes_a_killed_one(
    workspace: Path, own_home: Path, changes: int, verb: str
) -> None:
    (workspace / "keep").write_text("keep")
    start = describe(workspace)
    run_agent("x", model=replies(bash(CHANGES), "done"), workspace=workspace, thread_id="t")
    end = describe(workspace)
    killed("restore", changes)
    assert (describe(workspace) == end) is (changes == 0)
    assert describe(workspace) != start
    with open_thread(Home(own_home), "t") as thread:
        if verb == "restore":
            done = restore_thread(thread, thread.tree.branches["main"].nodes[0])
        else:
            done = undo_thread(thread)
        assert (done.undone, done.outside) == ("restore" if verb == "undo" else "", ())
    assert describe(workspace) == (end if verb == "undo" else start)
    assert list(workspace.rglob(".headway-*")) == []


@pytest.mark.parametrize("changes", [0, 1, 3, 5])
def test_the_next_undo_completes_a_killed_one_and_leaves_what_it_left(
    workspace: Path, own_home: Path, changes: int
) -> None:
    (workspace / "keep").write_text("keep")
    run_agent("x", model=replies(bash("echo 1 > one"), "done"), workspace=workspace, thread_id="t")
    start = describe(workspace)
    model = replies("", "", bash(f"{CHANGES}; touch a.txt; rm one"), "done")
    run_agent("y", model=model, workspace=workspace, thread_id="t")
    (workspace / "mine").write_text("mine")
    killed("undo", changes)
    with open_thread(Home(own_home), "t") as thread:
        done = undo_thread(thread)
    assert (done.undone, done.of, done.outside, done.left) == ("run", "main", (), ("mine",))
    assert (workspace / "mine").read_text() == "mine"
    (workspace / "mine").unlink()
    assert describe(workspace) == start
