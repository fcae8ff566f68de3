"""Recorded replay: whatever happened in a thread, an unchanged headway says the same again."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from headway import Limits, Outcome, run_agent
from headway.testing import ScriptedModel
from headway_debugger.branching import Change, fork_thread
from headway_debugger.cleanup import prune_thread
from headway_debugger.replay import Divergence
from headway_debugger.rerun import replay_recorded
from headway_debugger.rewind import restore_thread
from headway_debugger.threads import open_thread
from headway_tools.home import Home
from policies import bash, call, each_time, replies

ONE, TWO = bash("echo 1 >> log", "c1"), bash("echo 2 >> log", "c2")
QUESTION = call("ask_user", "q1", question="Which one?")


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(own_home)


def run(task: str | None, workspace: Path, *said: Any, **options: Any) -> Outcome:
    """Run thread `t`; `said` are its replies from the first one of the thread."""
    return run_agent(
        task, **{"model": replies(*said), "workspace": workspace, "thread_id": "t", **options}
    )


def replayed(home: Home, step: str = "") -> Divergence | None:
    with open_thread(home, "t") as thread:
        return replay_recorded(thread, thread.node(step))


def test_an_answered_question(workspace: Path, home: Home) -> None:
    said = (QUESTION, ONE, "done")
    options = {"interactive": True}
    assert run("first", workspace, *said, **options).status == "needs_approval"
    assert replayed(home) is None
    answer = [{"type": "respond", "message": "the second"}]
    assert run(None, workspace, *said, decisions=answer, **options).status == "completed"
    assert replayed(home) is None


EDITED = {"type": "edit", "edited_action": {"name": "bash", "args": {"command": "echo 3"}}}


@pytest.mark.parametrize(
    "decision",
    [{"type": "approve"}, EDITED, {"type": "reject", "message": "no"}, {"type": "reject"}],
)
def test_a_decided_call(workspace: Path, home: Home, decision: dict[str, Any]) -> None:
    said, options = (ONE, "done"), {"ask": "edits"}
    assert run("first", workspace, *said, **options).status == "needs_approval"
    run(None, workspace, *said, decisions=[decision], **options)
    assert replayed(home) is None


def test_a_question_that_a_new_message_dropped(workspace: Path, home: Home) -> None:
    said, options = (ONE, "something else"), {"ask": "edits"}
    run("first", workspace, *said, **options)
    assert run("leave it", workspace, *said, **options).status == "completed"
    assert replayed(home) is None


def test_a_change_from_outside_between_two_runs(workspace: Path, home: Home) -> None:
    run("first", workspace, ONE, "done")
    (workspace / "mine").write_text("mine")
    said = run("second", workspace, ONE, "done", TWO, "again")
    assert said.answer == "again"
    assert replayed(home) is None


def test_an_ended_run_that_went_on_with_a_higher_limit(workspace: Path, home: Home) -> None:
    said = (ONE, TWO, bash("echo 3 >> log", "c3"), "never", "done")
    first = run("first", workspace, *said, limits=Limits(model_calls=3))
    assert first.status == "limit"
    second = run(None, workspace, *said, limits=Limits(model_calls=9))
    assert second.status == "completed"
    assert replayed(home) is None


def test_a_run_without_progress(workspace: Path, home: Home) -> None:
    model = each_time(lambda n: bash("cat a.txt", f"c{n}"))
    assert run("first", workspace, model=model).status == "no_progress"
    assert replayed(home) is None


def test_a_fork_with_another_result_and_a_restored_branch(workspace: Path, home: Home) -> None:
    said = (ONE, TWO, "done")
    run("first", workspace, *said)
    with open_thread(home, "t") as thread:
        middle = [n for n in thread.tree.nodes.values() if n.writers == ("truncate",)][0]
        branch = fork_thread(thread, middle, changes=[Change.parsed("result=other")])
    run(None, workspace, *said, branch=branch)
    assert replayed(home) is None
    assert replayed(home, "main") is None
    with open_thread(home, "t") as thread:
        restore_thread(thread, thread.node("main"))
    run("more", workspace, *said, TWO, "more")
    assert replayed(home) is None


def test_a_killed_run_that_went_on_or_was_left(workspace: Path, home: Home) -> None:
    said = (ONE, TWO, "done", "after")

    def policy(messages: Any, tools: Any) -> AIMessage:
        raise KeyboardInterrupt

    model = replies(*said)
    killing = model.model_copy(update={"policy": policy})
    with pytest.raises(KeyboardInterrupt):
        run("first", workspace, model=killing)
    run(None, workspace, *said)
    assert replayed(home) is None


def test_a_pruned_thread(workspace: Path, home: Home) -> None:
    run("first", workspace, ONE, "done")
    run("second", workspace, ONE, "done", TWO, "again")
    with open_thread(home, "t") as thread:
        prune_thread(thread, 3)
    assert replayed(home) is None


def test_the_text_protocol_and_replies_that_were_sent_back(workspace: Path, home: Home) -> None:
    text = 'Thought: look\nAction: bash\nAction Input: {"command": "cat a.txt"}'
    script = [{"content": text}, {"content": ""}, {"content": "Final Answer: done"}]
    options = {"model": ScriptedModel(script), "protocol": "text"}
    assert run("first", workspace, **options).status == "completed"
    assert replayed(home) is None


def test_malformed_and_unknown_calls(workspace: Path, home: Home) -> None:
    script = [
        {"tool_calls": [{"name": "bash", "args": '{"command": ', "id": "c1"}]},
        {"tool_calls": [{"name": "nothing", "args": {}, "id": "c2"}]},
        {"content": "I will now look."},
        {"content": "done"},
    ]
    run("first", workspace, model=ScriptedModel(script))
    assert replayed(home) is None


def test_a_step_whose_results_the_history_does_not_hold_yet(workspace: Path, home: Home) -> None:
    run("first", workspace, ONE, "done")
    with open_thread(home, "t") as thread:
        for node in thread.tree.nodes.values():
            assert replay_recorded(thread, node) is None, node.name
