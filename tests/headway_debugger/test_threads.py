"""Threads of the data folder: branches that run side by side, going back, replay, removal."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway import Outcome, run_agent
from headway.run import Control, astream_agent
from headway.threads import load_record, save_record
from headway_debugger.branching import Change, fork_thread
from headway_debugger.cleanup import prune_thread, remove_thread
from headway_debugger.requests import request_at
from headway_debugger.rerun import replay_live, replay_recorded
from headway_debugger.rewind import restore_thread, undo_thread
from headway_debugger.threads import Thread, open_thread
from headway_debugger.tree import TreeNode
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.locks import BranchLock
from policies import bash, call, each_time, replies

EDIT = call("edit", "e1", path="a.txt", old_text="world", new_text="there")
SCRIPT = (EDIT, bash("cat a.txt >> log", "b1"), "done")


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(own_home)


def run(task: str | None, workspace: Path, *said: Any, **options: Any) -> Outcome:
    """Run thread `t`; `said` are its replies from the first one of the thread."""
    model = replies(*(said or SCRIPT))
    return run_agent(task, model=model, workspace=workspace, thread_id="t", **options)


@pytest.fixture
def ran(workspace: Path, home: Home) -> Iterator[Thread]:
    """Thread `t`: an edit, a command, an answer."""
    assert run("first", workspace).status == "completed"
    with open_thread(home, "t") as thread:
        yield thread


def step(thread: Thread, writer: str, nth: int = 0) -> TreeNode:
    """The nth step of the original line that a node wrote."""
    return [n for n in thread.tree.branches["main"].nodes if n.writers == (writer,)][nth]


def said(thread: Thread, branch: str) -> list[str]:
    messages = thread.state(thread.node(branch))["messages"]
    return [str(m.text) for m in messages if m.type != "tool" and m.text]


def test_each_branch_goes_on_from_its_own_end(ran: Thread, workspace: Path) -> None:
    branch = fork_thread(ran, step(ran, "truncate"))
    forked = run(None, workspace, EDIT, bash("echo fork > f", "b2"), "forked")
    assert (forked.status, forked.answer) == ("completed", "forked")
    more = run("more of main", workspace, *SCRIPT, "main again", branch="main")
    assert more.answer == "main again"
    again = run("more of fork", workspace, EDIT, "", "", "fork again", branch=branch)
    assert again.answer == "fork again"
    now = ran.again()
    assert said(now, "main") == ["first", "done", "more of main", "main again"]
    assert said(now, branch) == ["first", "forked", "more of fork", "fork again"]
    assert sorted(p.name for p in workspace.iterdir()) == ["a.txt", "log"]
    assert (now.folder.branch(branch) / "f").read_text() == "fork\n"


async def test_a_call_cut_off_on_one_branch_is_known_there_after_another_has_run(
    workspace: Path, home: Home
) -> None:
    script = (EDIT, bash("echo started >> log; sleep 60", "b1"), "done")
    control = Control()

    async def stop_when_started() -> None:
        while not (workspace / "log").exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        control.now()

    waiter = asyncio.create_task(stop_when_started())
    options: Any = {"workspace": workspace, "thread_id": "t", "control": control}
    async for _ in astream_agent("first", model=replies(*script), **options):
        pass
    await waiter

    def later() -> Outcome:
        with open_thread(home, "t") as thread:
            fork_thread(thread, step(thread, "truncate"), "other")
        assert run(None, workspace, EDIT, "forked").answer == "forked"
        return run(None, workspace, *script, branch="main")

    result = await asyncio.to_thread(later)
    assert result.status == "completed"
    assert json.loads(result.steps[1].observation or "")["error"] == "interrupted"
    assert (workspace / "log").read_text() == "started\n"


def test_two_branches_run_at_the_same_time(ran: Thread, workspace: Path) -> None:
    names = [fork_thread(ran, step(ran, "truncate"), f"side{n}") for n in range(2)]
    results: dict[str, Outcome] = {}
    meet = threading.Barrier(2)

    def go(name: str) -> None:
        def reply(n: int) -> Any:
            if n == 1:
                meet.wait(60)
            return bash(f"echo {name} >> own", f"c{n}") if n < 4 else f"{name} done"

        results[name] = run_agent(
            None, model=each_time(reply), workspace=workspace, thread_id="t", branch=name
        )

    threads = [threading.Thread(target=go, args=(name,)) for name in names]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for name in names:
        assert results[name].answer == f"{name} done"
        assert (ran.folder.branch(name) / "own").read_text() == f"{name}\n" * 3
    assert said(ran.again(), "main") == ["first", "done"]


def test_a_second_run_on_one_branch_is_refused_and_nothing_is_written(
    ran: Thread, workspace: Path
) -> None:
    before = ran.backend.rows("t")
    with (
        BranchLock(ran.folder, "main").acquire(1),
        pytest.raises(HeadwayError, match="busy: process"),
    ):
        run("second", workspace)
    assert ran.backend.rows("t") == before
    assert load_record(ran.home, "t").status == "completed"


def test_a_branch_keeps_its_own_model_and_limits(ran: Thread, workspace: Path) -> None:
    changes = [Change.parsed("model=openai:other"), Change.parsed("limit:model_calls=7")]
    branch = fork_thread(ran, step(ran, "truncate"), "try", changes)
    record = load_record(ran.home, "t")
    assert record.kept(branch).model == "openai:other"
    assert record.kept(branch).options["limits"]["model_calls"] == 7
    assert record.kept("main") == ran.record.kept("main")
    with pytest.raises(HeadwayError, match="limit: model_calls takes a whole number above 0"):
        fork_thread(ran, step(ran, "truncate"), "bad", [Change.parsed("limit:model_calls=0")])
    assert "bad" not in ran.again().tree.branches


@pytest.mark.parametrize("text", ["colour=red", "task", "limit=3"])
def test_what_cannot_be_set_is_named(text: str) -> None:
    with pytest.raises(HeadwayError, match="--set takes task=TEXT"):
        Change.parsed(text)


def test_history_is_changed_on_the_branch_only(ran: Thread) -> None:
    at = step(ran, "truncate")
    changes = [Change.parsed("task=other task"), Change.parsed("result:e1=it failed")]
    branch = fork_thread(ran, at, None, changes)
    now = ran.again()
    texts = [str(m.text) for m in now.state(now.node(branch))["messages"]]
    assert (texts[0], texts[-1]) == ("other task", "it failed")
    assert str(now.state(at)["messages"][0].text) == "first"


def test_without_a_sandbox_a_thread_goes_back_in_place_only(workspace: Path, home: Home) -> None:
    run("first", workspace, EDIT, "done", sandbox="none")
    with open_thread(home, "t") as thread:
        with pytest.raises(HeadwayError, match="only inside the sandbox"):
            fork_thread(thread, step(thread, "truncate"))
        restore_thread(thread, step(thread, "enter"))
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"


def test_after_a_restore_the_thread_goes_on_from_that_step(ran: Thread, workspace: Path) -> None:
    restore_thread(ran, step(ran, "truncate"))
    assert not (workspace / "log").exists()
    result = run(None, workspace, EDIT, bash("echo two > log", "b2"), "the other way")
    assert result.answer == "the other way"
    assert (workspace / "log").read_text() == "two\n"
    now = ran.again()
    assert said(now, now.heads.load().current) == ["first", "the other way"]
    undo_thread(now)
    assert not (workspace / "log").exists(), "the run is undone"
    undo_thread(ran.again())
    assert (workspace / "log").read_text() == "hello\nthere\n"
    assert ran.again().node().branch == "main"


def test_an_undone_run_can_be_run_again(ran: Thread, workspace: Path) -> None:
    run("second", workspace, *SCRIPT, bash("echo 2 >> log", "b2"), "two")
    undo_thread(ran.again())
    now = ran.again()
    assert said(now, now.node().branch) == ["first", "done"]
    undo_thread(now)
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"
    again = run(None, workspace)
    assert (again.answer, (workspace / "log").read_text()) == ("done", "hello\nthere\n")


def test_changes_from_outside_are_overwritten_only_by_a_restore_and_when_told(
    ran: Thread, workspace: Path
) -> None:
    (workspace / "mine").write_text("mine")
    rows = ran.backend.rows("t")
    with pytest.raises(HeadwayError, match=r"changed outside this thread \(mine\)"):
        restore_thread(ran, step(ran, "enter"))
    assert ran.backend.rows("t") == rows
    undo_thread(ran, force=True)
    assert sorted(p.name for p in workspace.iterdir()) == ["a.txt", "mine"]
    restore_thread(ran.again(), step(ran, "enter"), force=True)
    assert sorted(p.name for p in workspace.iterdir()) == ["a.txt"]


def test_what_a_step_sent_and_changed(ran: Thread) -> None:
    sent = request_at(ran, step(ran, "agent"))
    assert [m.type for m in sent.messages] == ["system", "human"]
    assert "bash" in [tool["function"]["name"] for tool in sent.tools]
    assert "+there" in ran.patch(step(ran, "tools"))
    assert ran.patch(step(ran, "agent")) == ""
    assert "agent" in ran.drawing()
    assert len(ran.page("main", 3)) == 3


def test_a_recorded_replay_of_two_runs_says_the_same(ran: Thread, workspace: Path) -> None:
    run("second", workspace, *SCRIPT, bash("seq 1 9999", "b2"), "two")
    now = ran.again()
    assert replay_recorded(now, now.node()) is None


def test_a_live_replay_names_its_branch_and_the_first_difference(
    ran: Thread, workspace: Path
) -> None:
    def other(branch: str, message: str | None) -> None:
        run(message, workspace, EDIT, "shorter", branch=branch)

    branch, found = replay_live(ran, ran.node(), other)
    assert found is not None
    assert (found.index, found.what) == (3, "content")
    assert (ran.folder.branch(branch) / "a.txt").read_text() == "hello\nthere\n"


def test_rm_waits_for_runs_and_removes_what_is_damaged(ran: Thread, home: Home) -> None:
    with BranchLock(ran.folder, "main").acquire(1), pytest.raises(HeadwayError, match="busy"):
        remove_thread(home, "t")
    ran.folder.record.write_text("{")
    assert remove_thread(home, "t") == "t"
    assert not ran.folder.path.exists()
    with pytest.raises(HeadwayError, match="no thread"):
        ran.backend.rows("t")
    with pytest.raises(HeadwayError, match="no thread"):
        remove_thread(home, "t")


def test_prune_keeps_what_undo_needs(ran: Thread, workspace: Path) -> None:
    restore_thread(ran, step(ran, "truncate"))
    prune_thread(ran.again(), 2)
    undo_thread(ran.again())
    assert (workspace / "log").read_text() == "hello\nthere\n"
    with pytest.raises(HeadwayError, match="at least one step"):
        prune_thread(ran, 0)


def test_after_a_prune_undo_takes_the_files_back_and_says_that_the_conversation_stays(
    ran: Thread, workspace: Path
) -> None:
    assert not undo_thread(ran.again(), dry_run=True).stays
    prune_thread(ran.again(), 2)
    for dry_run in (True, False):
        done = undo_thread(ran.again(), dry_run=dry_run)
        assert (done.stays, done.branch) == (True, "main")
    assert not (workspace / "log").exists()


def test_a_thread_of_a_newer_headway_is_refused_in_one_line(
    ran: Thread, home: Home, workspace: Path
) -> None:
    ran.graph.update_state({"configurable": {"thread_id": "t"}}, {"hw_schema": 99}, as_node="enter")
    with pytest.raises(HeadwayError, match="newer headway"):
        ran.again().state(ran.again().node())
    with pytest.raises(HeadwayError, match="newer headway"):
        run("more", workspace)
    save_record(home, ran.record.model_copy(update={"version": 99}))
    for use in (lambda: open_thread(home, "t").__enter__(), lambda: run("x", workspace)):
        with pytest.raises(HeadwayError, match="newer headway"):
            use()
