"""Two threads in one workspace: each one's changes are its own, and no undo takes the other's."""

import contextvars
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kills_support import killed
from langchain_core.messages import ToolCall

from headway import Limits, Outcome, run_agent, stream_agent
from headway_debugger.branching import fork_thread
from headway_debugger.rewind import restore_thread, undo_thread
from headway_debugger.threads import open_thread
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.turns import Turns
from policies import bash, each_time, replies


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(own_home)


def run(thread: str, workspace: Path, *said: Any, **options: Any) -> Outcome:
    return run_agent(thread, model=replies(*said), workspace=workspace, thread_id=thread, **options)


def meanwhile(what: Callable[[], object], *said: ToolCall | str, at: int = 1) -> Any:
    """A model that says `said`, and does `what` while it thinks about its second reply, or that
    with the number `at`."""

    def reply(past: int) -> ToolCall | str:
        if past == at:
            what()
        return said[min(past, len(said) - 1)]

    return each_time(reply)


def beside(workspace: Path, what: Callable[[], object], **options: Any) -> Outcome:
    """The run of thread `a`, which makes `one` before and `two` after something else happened."""
    model = meanwhile(what, bash("echo 1 > one", "c1"), bash("echo 2 > two", "c2"), "done")
    return run_agent("a", model=model, workspace=workspace, thread_id="a", **options)


def made(workspace: Path) -> set[str]:
    return {path.name for path in workspace.iterdir()} - {"a.txt"}


def told(home: Home) -> list[str]:
    """The texts of the conversation of thread `a`."""
    with open_thread(home, "a") as thread:
        return [str(message.text) for message in thread.state(thread.node())["messages"]]


def paths(outcome: Outcome) -> set[str]:
    return {change.path for change in outcome.files}


def test_what_another_thread_made_between_two_calls_is_not_this_runs(
    workspace: Path, home: Home
) -> None:
    done = beside(workspace, lambda: run("b", workspace, bash("echo b > bee"), "done"))
    assert paths(done) == {"one", "two"}
    assert any("somebody else" in text and "bee" in text for text in done.warnings)
    with open_thread(home, "a") as thread:
        told = undo_thread(thread, dry_run=True)
        assert ({change.path for change in told.changes}, told.outside) == ({"one", "two"}, ())
        assert told.left == ("bee",)
        assert made(workspace) == {"one", "two", "bee"}
        done = undo_thread(thread)
        assert (done.changes, done.left) == (told.changes, ("bee",))
    assert (workspace / "bee").read_text() == "b\n"
    assert made(workspace) == {"bee"}


def test_a_file_that_both_changed_goes_back_only_when_told_and_the_others_stay(
    workspace: Path, home: Home
) -> None:
    beside(workspace, lambda: run("b", workspace, bash("echo b | tee -a one > bee"), "done"))
    with open_thread(home, "a") as thread:
        with pytest.raises(HeadwayError, match=r"outside this thread \(one\)"):
            undo_thread(thread)
        assert (workspace / "one").read_text() == "1\nb\n"
        assert made(workspace) == {"one", "two", "bee"}
        done = undo_thread(thread, force=True)
        assert (done.outside, done.left) == (("one",), ("bee",))
    assert made(workspace) == {"bee"}


def test_a_folder_of_the_run_that_holds_a_file_of_somebody_else_stays(
    workspace: Path, home: Home
) -> None:
    model = meanwhile(
        lambda: (workspace / "d" / "mine").write_text("mine"),
        bash("mkdir d; echo 1 > d/one"),
        bash("echo 2 > d/two"),
        "done",
    )
    run_agent("a", model=model, workspace=workspace, thread_id="a")
    with open_thread(home, "a") as thread:
        told = undo_thread(thread, dry_run=True)
        assert {change.path for change in told.changes} == {"d/one", "d/two"}
        done = undo_thread(thread)
        assert (done.changes, done.left) == (told.changes, ("d/mine",))
        assert done.report is not None
        assert done.report.notes == []
    assert [path.name for path in (workspace / "d").iterdir()] == ["mine"]


def test_what_a_person_changed_between_two_calls_is_kept_as_well(
    workspace: Path, home: Home
) -> None:
    beside(workspace, lambda: (workspace / "mine").write_text("mine"))
    with open_thread(home, "a") as thread:
        first = thread.tree.branches["main"].nodes[0]
        with pytest.raises(HeadwayError, match=r"\(mine\)"):
            restore_thread(thread, first)
        assert made(workspace) == {"one", "two", "mine"}
        assert undo_thread(thread).left == ("mine",)
    assert made(workspace) == {"mine"}


def test_what_came_between_two_runs_is_kept_by_the_second_undo(workspace: Path, home: Home) -> None:
    run("a", workspace, bash("echo 1 > one"), "done")
    run("b", workspace, bash("echo b > bee"), "done")
    run("a", workspace, "", "", bash("echo 2 > two"), "done")
    with open_thread(home, "a") as thread:
        undo_thread(thread)
        assert made(workspace) == {"one", "bee"}
        assert undo_thread(thread.again()).left == ("bee",)
    assert made(workspace) == {"bee"}


def test_what_an_undo_left_is_known_as_others_ever_after(workspace: Path, home: Home) -> None:
    run("a", workspace, bash("echo 1 > one"), "done")
    calls = (bash("echo 2 > two", "c2"), bash("echo 4 > four", "c4"))
    model = meanwhile(lambda: (workspace / "mine").write_text("mine"), "", "", *calls, "done", at=3)
    run_agent("a", model=model, workspace=workspace, thread_id="a")
    with open_thread(home, "a") as thread:
        first, end = thread.tree.branches["main"].nodes[0], thread.node()
        (workspace / "late").write_text("late")
        assert undo_thread(thread).left == ("late", "mine")
        assert made(workspace) == {"one", "late", "mine"}
        with pytest.raises(HeadwayError, match=r"\(late, mine\)"):
            restore_thread(thread.again(), first)
        with pytest.raises(HeadwayError, match=r"\(late\)"):
            restore_thread(thread.again(), end)
    third = run("a", workspace, "", "", bash("echo 3 > three"), "done")
    assert paths(third) == {"three"}
    assert any("late, mine" in text for text in told(home))
    with open_thread(home, "a") as thread:
        assert undo_thread(thread).left == ()
        assert made(workspace) == {"one", "late", "mine"}
        assert undo_thread(thread.again()).left == ("late", "mine")
    assert made(workspace) == {"late", "mine"}


def test_undoing_a_restore_leaves_what_others_changed_since(workspace: Path, home: Home) -> None:
    run("a", workspace, bash("echo 1 > one"), "done")
    with open_thread(home, "a") as thread:
        first = thread.tree.branches["main"].nodes[0]
        restore_thread(thread, first)
        (workspace / "mine").write_text("mine")
        assert undo_thread(thread.again()).left == ("mine",)
        assert made(workspace) == {"one", "mine"}
        with pytest.raises(HeadwayError, match=r"\(mine\)"):
            restore_thread(thread.again(), first)
        assert undo_thread(thread.again()).left == ("mine",)
    assert made(workspace) == {"mine"}


def test_going_back_and_forth_without_crossing_the_change_asks_nothing(
    workspace: Path, home: Home
) -> None:
    run("a", workspace, bash("echo 1 > one"), "done")
    (workspace / "mine").write_text("mine")
    run("a", workspace, "", "", bash("echo 2 >> mine"), "done")
    with open_thread(home, "a") as thread:
        end = thread.node()
        undo_thread(thread)
        assert (workspace / "mine").read_text() == "mine"
        restore_thread(thread.again(), end)
        assert (workspace / "mine").read_text() == "mine2\n"
        undo_thread(thread.again())
    assert (workspace / "mine").read_text() == "mine"


def test_during_a_call_no_other_thread_changes_files(workspace: Path, home: Home) -> None:
    def second() -> None:
        while not (workspace / "one").exists():
            time.sleep(0.02)
        run("b", workspace, bash("echo b > bee"), "done")

    other = threading.Thread(target=contextvars.Context().run, args=(second,))
    other.start()
    first = run("a", workspace, bash("echo 1 > one; sleep 2; echo 2 > two"), "done")
    other.join()
    assert paths(first) == {"one", "two"}
    assert first.warnings == []
    with open_thread(home, "b") as thread:
        assert set(undo_thread(thread).left) <= {"one", "two"}
    assert made(workspace) == {"one", "two"}


def test_a_call_whose_turn_never_comes_does_not_run(workspace: Path, home: Home) -> None:
    def second() -> Outcome:
        return run("b", workspace, bash("echo b > bee"), "done", limits=Limits(seconds=1))

    with Turns(home.turns(workspace), "a").take(0):
        done = contextvars.Context().run(second)
    assert (done.status, made(workspace)) == ("limit", set())
    assert '"error": "not_run"' in done.steps[0].observation


def test_a_check_and_a_call_of_another_thread_take_turns(workspace: Path, home: Home) -> None:
    beside(
        workspace,
        lambda: run("b", workspace, bash("echo b > bee"), "done", check="touch left"),
        check="touch rest",
    )
    with open_thread(home, "a") as thread:
        assert undo_thread(thread).left == ("bee", "left")
    assert made(workspace) == {"bee", "left"}


def test_what_changed_while_the_last_reply_was_made_is_not_the_checks(
    workspace: Path, home: Home
) -> None:
    model = meanwhile(
        lambda: run("b", workspace, bash("echo b > bee"), "done"), bash("echo 1 > one"), "done"
    )
    run_agent("a", model=model, workspace=workspace, thread_id="a", check="touch rest")
    with open_thread(home, "a") as thread:
        undo_thread(thread)
    assert made(workspace) == {"bee"}


def test_who_comes_second_is_told_who_else_is_at_work(workspace: Path) -> None:
    told: list[Any] = []
    second = stream_agent("b", model=replies("done"), workspace=workspace, thread_id="b")
    alone = beside(workspace, lambda: told.extend(second))
    assert told[0]["beside"] == ["a"]
    assert alone.status == "completed"
    (start, *_) = stream_agent("c", model=replies("done"), workspace=workspace, thread_id="c")
    assert start["beside"] == []


def test_a_branch_in_a_folder_of_its_own_is_another_workspace(workspace: Path, home: Home) -> None:
    run("a", workspace, bash("echo 1 > one"), "done")
    with open_thread(home, "a") as thread:
        branch = fork_thread(thread, thread.tree.branches["main"].nodes[0])
    run("b", workspace, bash("echo b > bee"), "done")
    done = run_agent(
        None, model=replies(bash("echo 2 > two"), "done"), workspace=workspace, thread_id="a",
        branch=branch,
    )  # fmt: skip
    assert (done.warnings, paths(done)) == ([], {"two"})
    with open_thread(home, "a") as thread:
        undo_thread(thread)
    assert made(workspace) == {"one", "bee"}


def test_after_a_kill_the_changes_of_a_later_thread_are_not_the_killed_calls(
    workspace: Path, home: Home
) -> None:
    killed(workspace, "echo 1 > one; sleep 300", "one")
    run("b", workspace, bash("echo b > bee"), "done")
    with open_thread(home, "t") as thread:
        assert undo_thread(thread, dry_run=True).left == ("bee", "one")
    run_agent(None, model=replies("", "done"), workspace=workspace, thread_id="t")
    with open_thread(home, "t") as thread:
        assert undo_thread(thread).left == ("bee", "one")
    assert made(workspace) == {"bee", "one"}
