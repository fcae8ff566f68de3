"""A thread goes on after its run: more room, new messages, answers, approvals, cancels."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from headway import Limits, Outcome, arun_agent, build_agent, run_agent
from headway.report import MAY_HAVE_RUN
from headway.run import Control, astream_agent
from headway.testing import PolicyModel
from headway.threads import load_record, update_record
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from openai_server import OpenAIServer, Reply, Request, fails
from policies import EDIT, bash, call, each_time, replies


async def once(path: Path, action: Callable[[], None]) -> None:
    """Do `action` as soon as a command has made `path`."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240 -- another process writes it
        await asyncio.sleep(0.01)
    action()


def test_a_thread_goes_on_with_a_raised_limit(workspace: Path) -> None:
    model = replies(bash("echo 1", "c1"), bash("echo 2", "c2"), "two")
    first = run_agent("count", model=model, workspace=workspace, limits=Limits(model_calls=1))
    assert first.status == "limit"
    again = run_agent(
        None, model=model, workspace=workspace, thread_id=first.thread, limits=Limits(model_calls=9)
    )
    assert (again.status, again.answer) == ("completed", "two")
    assert again.usage.model_calls == first.usage.model_calls + 1, "the count goes on"


def test_a_new_message_starts_a_new_count(workspace: Path) -> None:
    first = run_agent("a", model=replies("one"), workspace=workspace)
    second = run_agent(
        "b", model=replies("one", "two"), workspace=workspace, thread_id=first.thread
    )
    assert (second.answer, second.usage.model_calls, len(second.steps)) == ("two", 1, 1)


def test_a_change_from_outside_is_told_to_the_model(workspace: Path) -> None:
    first = run_agent("a", model=replies(EDIT, "one"), workspace=workspace)
    (workspace / "a.txt").write_text("mine\n")
    seen: list[str] = []
    model = replies("x")
    model.policy = lambda messages, tools: (seen.append(str(messages[-1].text)), AIMessage("two"))[
        1
    ]
    run_agent("b", model=model, workspace=workspace, thread_id=first.thread)
    assert "a.txt" in seen[0]


@pytest.mark.parametrize("answer", ["number 2", "number 2, since " + "it is so, " * 900])
def test_a_question_waits_and_its_answer_is_the_observation(workspace: Path, answer: str) -> None:
    model = replies(call("ask_user", "q1", question="Which one?"), "the second")
    first = run_agent("x", model=model, workspace=workspace, interactive=True)
    assert first.status == "needs_approval"
    assert first.pending[0]["action_requests"][0]["args"]["question"] == "Which one?"
    second = run_agent(
        None, model=model, workspace=workspace, interactive=True, thread_id=first.thread,
        decisions=[{"type": "respond", "message": answer}],
    )  # fmt: skip
    assert second.status == "completed"
    assert json.loads(second.steps[0].observation or "")["answer"] == answer


ECHO_2 = {"name": "bash", "args": {"command": "echo 2 >> log"}}


@pytest.mark.parametrize(
    ("decision", "log", "error"),
    [
        ({"type": "approve"}, "1\n", None),
        ({"type": "reject", "message": "not now"}, "", "rejected"),
        ({"type": "edit", "edited_action": ECHO_2}, "2\n", None),
    ],
)
def test_decisions_run_exactly_what_was_approved(
    workspace: Path, decision: dict, log: str, error: str | None
) -> None:
    (workspace / "log").touch()
    model = replies(bash("echo 1 >> log"), "ok")
    first = run_agent("x", model=model, workspace=workspace, ask="edits")
    assert first.status == "needs_approval"
    assert (workspace / "log").read_text() == ""
    second = run_agent(
        None, model=model, workspace=workspace, ask="edits", thread_id=first.thread,
        decisions=[decision],
    )  # fmt: skip
    assert (workspace / "log").read_text() == log
    assert json.loads(second.steps[0].observation or "").get("error") == error


def test_a_wrong_number_of_decisions_asks_again(workspace: Path) -> None:
    model = replies([bash("echo 1 >> log", "c1"), bash("echo 2 >> log", "c2")], "ok")
    first = run_agent("x", model=model, workspace=workspace, ask="edits")
    again = run_agent(
        None, model=model, workspace=workspace, ask="edits", thread_id=first.thread,
        decisions=[{"type": "approve"}],
    )  # fmt: skip
    assert again.status == "needs_approval"
    assert "2 decisions" in again.pending[0]["error"]
    assert not (workspace / "log").exists()


def test_a_message_drops_what_waits_for_approval(workspace: Path) -> None:
    first = run_agent("x", model=replies(bash("echo 1 >> log")), workspace=workspace, ask="edits")
    seen: list[str] = []

    def policy(messages: list, tools: list) -> AIMessage:
        seen.extend(str(m.text) for m in messages if m.type == "tool")
        return AIMessage("fine, not")

    second = run_agent(
        "never mind",
        model=PolicyModel(policy=policy),
        workspace=workspace,
        ask="edits",
        thread_id=first.thread,
    )
    assert second.status == "completed"
    assert not (workspace / "log").exists()
    assert [text.startswith("not_run:") and "none has run" in text for text in seen] == [True]


def test_a_completed_thread_is_not_asked_again(workspace: Path) -> None:
    options: Any = {"model": replies("first", "second", "third"), "workspace": workspace}
    done = run_agent("x", **options)
    with pytest.raises(HeadwayError, match=f"thread {done.thread} is completed"):
        run_agent(None, thread_id=done.thread, **options)
    went = run_agent("more", thread_id=done.thread, **options)
    assert (went.answer, went.usage.model_calls) == ("second", 1)


def test_a_run_killed_before_its_end_was_written_down_ends_as_it_had_ended(
    workspace: Path, own_home: Path
) -> None:
    options: Any = {"model": replies("first", "second"), "workspace": workspace}
    done = run_agent("x", **options)
    update_record(Home(own_home), done.thread, status=None)
    again = run_agent(None, thread_id=done.thread, **options)
    assert (again.status, again.answer) == ("completed", "first")
    assert load_record(Home(own_home), done.thread).status == "completed"


async def test_stop_ends_after_the_step_and_resume_goes_on(workspace: Path) -> None:
    model = each_time(lambda n: bash(f"echo {n} >> log", f"c{n}") if n < 4 else "four")
    control = Control()
    result: Outcome | None = None
    async for event in astream_agent("x", model=model, workspace=workspace, control=control):
        if event["type"] == "observation":
            control.stop()
        if event["type"] == "end":
            result = Outcome.model_validate(event["outcome"])
    assert result
    assert result.status == "cancelled"
    again = await arun_agent(None, model=model, workspace=workspace, thread_id=result.thread)
    assert (again.status, again.answer) == ("completed", "four")
    assert (workspace / "log").read_text() == "0\n1\n2\n3\n"


async def test_what_ended_before_the_stop_is_told_with_its_result(workspace: Path) -> None:
    control, events = Control(), list[Any]()
    model = replies(bash("touch begun; sleep 0.5; exit 3", "c1"), "never said")

    waiter = asyncio.create_task(once(workspace / "begun", control.stop))
    async for event in astream_agent("x", model=model, workspace=workspace, control=control):
        events.append(event)
    await waiter
    outcome = Outcome.model_validate(events[-1]["outcome"])
    assert outcome.status == "cancelled"
    assert [(run.exit_code, run.why) for run in outcome.commands] == [(3, "")]
    assert [step.status for step in outcome.steps] == ["success"]


@pytest.mark.parametrize("when", ["in the wait", "in the call"])
async def test_a_stopped_run_tries_nothing_again(workspace: Path, when: str) -> None:
    control, events = Control(), list[Any]()

    def failing(request: Request) -> Reply:
        if when == "in the call":
            control.stop()
        return fails(500, "out of order")

    with OpenAIServer(failing) as server:
        async for event in astream_agent(
            "x",
            model="openai:m",
            base_url=server.url,
            api_key="k",
            workspace=workspace,
            control=control,
        ):
            events.append(event)
            if event.get("about") == "retry":
                control.stop()
    outcome = Outcome.model_validate(events[-1]["outcome"])
    assert (outcome.status, len(server.requests)) == ("cancelled", 1)


async def test_now_kills_the_running_command_and_the_thread_goes_on(workspace: Path) -> None:
    model = replies(bash("echo started >> log; sleep 60; echo ended >> log"), "ok")
    control = Control()
    result: Outcome | None = None

    waiter = asyncio.create_task(once(workspace / "log", control.now))
    async for event in astream_agent("x", model=model, workspace=workspace, control=control):
        if event["type"] == "end":
            result = Outcome.model_validate(event["outcome"])
    await waiter
    assert result
    assert result.status == "cancelled"
    assert [change.path for change in result.files] == ["log"], "the broken step's files are told"
    assert [(run.exit_code, run.why) for run in result.commands] == [(None, MAY_HAVE_RUN)]
    again = await arun_agent(None, model=model, workspace=workspace, thread_id=result.thread)
    assert again.status == "completed"
    assert (workspace / "log").read_text() == "started\n", "never silently repeated"
    assert json.loads(again.steps[0].observation or "")["error"] == "interrupted"


def test_a_model_that_repeats_a_message_object_loses_no_history() -> None:
    model = FakeMessagesListChatModel(responses=[AIMessage("same")])
    saver = InMemorySaver()
    first = run_agent("a", model=model, checkpointer=saver, thread_id="t", memory=True)
    second = run_agent("b", model=model, checkpointer=saver, thread_id="t", memory=True)
    assert (first.answer, second.answer) == ("same", "same")
    state = build_agent(model, checkpointer=saver, memory=True).get_state(
        {"configurable": {"thread_id": "t"}}
    )
    assert [m.text for m in state.values["messages"]] == ["a", "same", "b", "same"]
