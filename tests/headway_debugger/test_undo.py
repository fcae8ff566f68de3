"""What `undo` takes back, on which branch, and whose changes it leaves alone."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kills_support import killed, stopped

from headway import Outcome, run_agent
from headway.threads import load_record, word_for
from headway_debugger.branching import fork_thread
from headway_debugger.cleanup import remove_thread
from headway_debugger.outside import patch_of_crash
from headway_debugger.rewind import restore_thread, undo_thread
from headway_debugger.threads import Thread, open_thread
from headway_debugger.tree import TreeNode
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from policies import bash, replies

SCRIPT = (bash("echo 1 > one", "c1"), bash("echo 2 > two", "c2"), "done")


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(own_home)


def run(task: str | None, workspace: Path, *said: Any, **options: Any) -> Outcome:
    model = replies(*(said or SCRIPT))
    return run_agent(task, model=model, workspace=workspace, thread_id="t", **options)


@pytest.fixture
def ran(workspace: Path, home: Home) -> Iterator[Thread]:
    assert run("first", workspace).status == "completed"
    with open_thread(home, "t") as thread:
        yield thread


def truncate(thread: Thread) -> TreeNode:
    """The step after the first call."""
    return next(n for n in thread.tree.branches["main"].nodes if n.writers == ("truncate",))


def made(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} & {"one", "two", "three", "cache", "mine"}


def test_a_fork_that_ran_is_taken_back_to_the_fork_and_then_left(
    ran: Thread, workspace: Path
) -> None:
    branch = fork_thread(ran, truncate(ran))
    folder = ran.folder.branch(branch)
    run(None, workspace, branch=branch)
    assert made(folder) == {"one", "two"}
    first = undo_thread(ran.again())
    assert (first.undone, first.of, first.folder) == ("run", branch, branch)
    assert (made(folder), made(workspace)) == ({"one"}, {"one", "two"})
    second = undo_thread(ran.again())
    assert (second.undone, second.branch, second.changes) == ("fork", "main", ())
    third = undo_thread(ran.again())
    assert (third.undone, third.of, made(workspace)) == ("run", "main", set())
    with pytest.raises(HeadwayError, match="nothing to undo"):
        undo_thread(ran.again())


def test_a_fork_is_left_for_the_branch_that_was_current_not_the_one_it_is_of(
    ran: Thread, workspace: Path
) -> None:
    restored = restore_thread(ran, truncate(ran)).branch
    fork_thread(ran.again(), truncate(ran))
    assert undo_thread(ran.again(), dry_run=True).branch == restored
    assert undo_thread(ran.again()).branch == restored
    assert undo_thread(ran.again()).undone == "restore"
    assert made(workspace) == {"one", "two"}


def test_a_run_on_the_original_after_a_fork_is_taken_back_there(
    ran: Thread, workspace: Path
) -> None:
    fork_thread(ran, truncate(ran))
    run("second", workspace, *SCRIPT, bash("echo 3 > three", "c3"), "done", branch="main")
    done = undo_thread(ran.again())
    assert (done.undone, done.of, done.folder) == ("run", "main", "")
    assert made(workspace) == {"one", "two"}


def test_a_restore_is_found_behind_a_later_fork(ran: Thread, workspace: Path) -> None:
    restored = restore_thread(ran, truncate(ran)).branch
    fork_thread(ran.again(), truncate(ran))
    run(None, workspace, branch=restored)
    assert (undo_thread(ran.again()).undone, made(workspace)) == ("run", {"one"})
    assert (undo_thread(ran.again()).undone, made(workspace)) == ("restore", {"one", "two"})


def test_what_a_check_leaves_behind_is_no_change_from_outside(workspace: Path, home: Home) -> None:
    run("first", workspace, check="touch cache")
    run("second", workspace, *SCRIPT, "again", check="touch cache")
    with open_thread(home, "t") as thread:
        assert "outside" not in " ".join(
            str(m.text) for m in thread.state(thread.node())["messages"]
        )
        undo_thread(thread)
        undo_thread(thread.again())
    assert made(workspace) == set()


def test_the_word_of_a_thread_is_the_verb_or_how_the_run_there_ended(
    ran: Thread, workspace: Path, home: Home
) -> None:
    def word() -> str:
        return word_for(home, load_record(home, "t"))

    assert word() == "completed"
    fork_thread(ran, truncate(ran))
    assert word() == "forked"
    undo_thread(ran.again())
    assert word() == "completed"
    restore_thread(ran.again(), truncate(ran))
    assert word() == "restored"
    run(None, workspace)
    assert word() == "completed"
    undo_thread(ran.again())
    assert word() == "undone"


def test_what_a_killed_call_had_changed_goes_back_with_its_run(workspace: Path, home: Home) -> None:
    killed(workspace, "echo 1 > one; sleep 300", "one")
    with open_thread(home, "t") as thread:
        assert word_for(home, thread.record) == "unfinished"
        told = undo_thread(thread, dry_run=True)
        assert [call["args"]["command"] for call in told.may_have_run] == [
            "echo 1 > one; sleep 300"
        ]
        assert {change.path for change in told.changes} == {"one", "two"}
        assert made(workspace) == {"one", "two"}
        undo_thread(thread)
    assert made(workspace) == set()


def test_what_a_killed_call_left_stays_its_runs_after_a_fork(workspace: Path, home: Home) -> None:
    killed(workspace, "echo 1 > one; sleep 300", "one")
    with open_thread(home, "t") as thread:
        first, tip = thread.tree.branches["main"].nodes[0], thread.node()
        assert "b/one" in patch_of_crash(thread, tip)
        assert "b/two" not in patch_of_crash(thread, tip)
        assert patch_of_crash(thread, first) == ""
        fork_thread(thread, tip)
        told = restore_thread(thread.again(), first, dry_run=True)
        assert ([call["id"] for call in told.may_have_run], told.outside) == (["c1"], ())
        restore_thread(thread.again(), first)
        assert made(workspace) == set()
        (workspace / "mine").write_text("mine")
        assert undo_thread(thread.again()).left == ("mine",)
    assert made(workspace) == {"one", "two", "mine"}


def test_what_changed_after_a_run_was_stopped_in_a_call_is_not_its_own(
    workspace: Path, home: Home
) -> None:
    stopped(workspace, "echo 1 > one; sleep 300", "one")
    with open_thread(home, "t") as thread:
        fork_thread(thread, thread.node())
        first = thread.tree.branches["main"].nodes[0]
        assert restore_thread(thread.again(), first, dry_run=True).outside == ()
        (workspace / "mine").write_text("mine")
        with pytest.raises(HeadwayError, match=r"\(mine\)"):
            restore_thread(thread.again(), first)


def test_what_changed_after_a_killed_run_went_on_is_not_its_own(
    workspace: Path, home: Home
) -> None:
    killed(workspace, "echo 1 > one; sleep 300", "one")
    run(None, workspace, "", "done")
    (workspace / "mine").write_text("mine")
    with open_thread(home, "t") as thread:
        assert undo_thread(thread).left == ("mine",)
    assert made(workspace) == {"mine"}


def test_what_changed_after_a_stopped_run_stays(workspace: Path, home: Home) -> None:
    run("first", workspace)
    stopped(workspace, "echo 3 > three; sleep 300", "three")
    (workspace / "mine").write_text("mine")
    with open_thread(home, "t") as thread:
        assert undo_thread(thread).left == ("mine",)
        assert made(workspace) == {"one", "two", "mine"}
        assert undo_thread(thread.again()).left == ("mine",)
    assert made(workspace) == {"mine"}


def test_a_workspace_that_is_gone_is_made_anew_only_when_told(ran: Thread, workspace: Path) -> None:
    shutil.rmtree(workspace)
    with pytest.raises(HeadwayError, match="is gone; --force makes it anew"):
        restore_thread(ran, truncate(ran))
    assert not workspace.exists()
    restore_thread(ran, truncate(ran), force=True)
    assert made(workspace) == {"one"}


def test_a_thread_that_was_restored_and_undone_can_be_removed(
    ran: Thread, workspace: Path, home: Home
) -> None:
    restore_thread(ran, truncate(ran))
    undo_thread(ran.again())
    fork_thread(ran.again(), truncate(ran))
    assert remove_thread(home, "t") == "t"
    assert not home.thread("t").path.exists()
    assert made(workspace) == {"one", "two"}


LARGE = bash("mkdir d; truncate -s 65M d/large; echo 1 > one")


def test_a_large_file_that_the_run_made_goes_with_its_run(workspace: Path, home: Home) -> None:
    run("first", workspace, LARGE, "done")
    with open_thread(home, "t") as thread:
        told = undo_thread(thread, dry_run=True)
        assert {change.path for change in told.changes} == {"d", "d/large", "one"}
        undo_thread(thread)
    assert not (workspace / "d").exists()


def test_a_large_file_that_is_not_as_the_run_left_it_stays(workspace: Path, home: Home) -> None:
    run("first", workspace, LARGE, "done")
    os.utime(workspace / "d" / "large", (1, 1))
    with open_thread(home, "t") as thread:
        done = undo_thread(thread, force=True)
    assert done.report is not None
    assert ("d/large", "too_large") in [(note.path, note.reason) for note in done.report.notes]
    assert (workspace / "d" / "large").exists()
    assert not (workspace / "one").exists()


def test_a_restore_leaves_a_large_file_and_is_taken_back_all_the_same(
    workspace: Path, home: Home
) -> None:
    run("first", workspace, LARGE, "done")
    with open_thread(home, "t") as thread:
        restore_thread(thread, thread.tree.branches["main"].nodes[0])
        assert (workspace / "d" / "large").exists()
        assert undo_thread(thread.again()).undone == "restore"
    assert (workspace / "one").exists()
