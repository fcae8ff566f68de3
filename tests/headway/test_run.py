"""A run from its task to its outcome: every status, what it carries, and how it goes on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from headway import Limits, Outcome, arun_agent, build_agent, run_agent, stream_agent
from headway.models.retry import RetryPolicy
from headway.run import Control, astream_agent
from headway.status import exit_code
from headway.testing import PolicyModel
from headway.threads import load_record, update_record
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from openai_server import OpenAIServer, fails, says
from policies import bash, call, each_time, replies

EDIT = call("edit", "e1", path="a.txt", old_text="world", new_text="there")


def test_a_finished_run_returns_answer_steps_files_and_commands(workspace: Path) -> None:
    model = replies([call("read_file", "r1", path="a.txt"), bash("exit 3", "b1")], EDIT, "done")
    result = run_agent("change it", model=model, workspace=workspace, check="grep there a.txt")

    assert (result.status, result.answer, result.verified) == ("completed", "done", True)
    assert [(s.turn, s.tool_call.name if s.tool_call else None) for s in result.steps] == [
        (1, "read_file"), (1, "bash"), (2, "edit"), (3, None),
    ]  # fmt: skip
    assert [(f.path, f.kind) for f in result.files] == [("a.txt", "changed")]
    assert [(c.command, c.exit_code, c.before_last_change) for c in result.commands] == [
        ("exit 3", 3, True)
    ]
    assert (result.usage.model_calls, result.usage.tool_calls) == (3, 3)
    assert (workspace / "a.txt").read_text() == "hello\nthere\n"


@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_same_run_ends_the_same_way_sync_and_async(workspace: Path, how: str) -> None:
    model = replies(bash("cat a.txt"), "hello world")
    if how == "sync":
        result = run_agent("read", model=model, workspace=workspace)
    else:
        result = asyncio.run(arun_agent("read", model=model, workspace=workspace))
    assert result.status == "completed"
    assert json.loads(result.steps[0].observation or "")["stdout"] == "hello\nworld\n"


def test_model_calls_end_with_limit_and_the_last_call_has_no_tools(workspace: Path) -> None:
    offered: list[int] = []
    model = each_time(lambda n: bash(f"echo {n}", f"c{n}"))
    inner = model.policy
    model.policy = lambda messages, tools: (offered.append(len(tools)), inner(messages, tools))[1]
    result = run_agent("loop", model=model, workspace=workspace, limits=Limits(model_calls=4))

    assert (result.status, result.limit) == ("limit", "model_calls")
    assert result.usage.model_calls == 4
    assert result.usage.tool_calls == 3, "a call in the reply without tools is not executed"
    assert offered[-1] == 0
    assert all(offered[:-1])


def test_a_forced_last_answer_is_a_partial_result_not_a_success(workspace: Path) -> None:
    model = replies(bash("echo 1", "c1"), bash("echo 2", "c2"), "as far as I know: 2")
    result = run_agent("count", model=model, workspace=workspace, limits=Limits(model_calls=3))
    assert (result.status, result.answer) == ("limit", "as far as I know: 2")


def test_a_forced_last_answer_that_the_check_proves_is_completed(workspace: Path) -> None:
    model = replies(EDIT, "done")
    result = run_agent(
        "edit",
        model=model,
        workspace=workspace,
        limits=Limits(model_calls=2),
        check="grep there a.txt",
    )
    assert (result.status, result.verified) == ("completed", True)


def test_one_call_is_enough_for_a_question_without_tools() -> None:
    result = run_agent("2+2?", model=replies("4"), limits=Limits(model_calls=1))
    assert (result.status, result.answer) == ("completed", "4")


def test_calls_over_the_tool_limit_are_answered_not_run(workspace: Path) -> None:
    model = replies([bash(f"echo {n} >> log", f"c{n}") for n in range(5)], "ok")
    result = run_agent("log", model=model, workspace=workspace, limits=Limits(tool_calls=2))
    assert (workspace / "log").read_text() == "0\n1\n"
    codes = [json.loads(s.observation or "{}").get("error") for s in result.steps[:5]]
    assert codes == [None, None, "not_run", "not_run", "not_run"]
    assert (result.status, result.limit, result.answer) == ("limit", "tool_calls", "ok")


def test_seconds_end_the_run_with_limit_and_124(workspace: Path) -> None:
    model = each_time(lambda n: bash(f"sleep 0.4; echo {n}", f"c{n}"))
    result = run_agent("wait", model=model, workspace=workspace, limits=Limits(seconds=1))
    assert (result.status, result.limit) == ("limit", "seconds")
    assert exit_code(result.status, result.limit) == 124


def test_tokens_are_checked_before_a_call_is_sent(workspace: Path) -> None:
    model = each_time(lambda n: bash(f"seq {n}00", f"c{n}"))
    result = run_agent("x", model=model, workspace=workspace, limits=Limits(tokens=4000))
    assert (result.status, result.limit) == ("limit", "tokens")
    assert result.usage.input_tokens + result.usage.output_tokens <= 4000


def test_the_same_call_with_the_same_result_ends_with_no_progress(workspace: Path) -> None:
    result = run_agent(
        "x", model=each_time(lambda n: bash("cat nope", f"c{n}")), workspace=workspace
    )
    assert result.status == "no_progress"
    assert result.usage.model_calls <= 6
    assert result.evidence
    assert result.evidence["call"]["name"] == "bash"


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_answer_is_never_success(text: str) -> None:
    result = run_agent("x", model=replies(text))
    assert (result.status, result.answer) == ("invalid_answer", "")
    assert result.usage.model_calls == 3


def test_an_empty_answer_is_asked_again_and_left_out_of_history() -> None:
    seen: list[int] = []

    def policy(messages: list, tools: list) -> AIMessage:
        seen.append(len(messages))
        return AIMessage("here" if len(seen) > 1 else "")

    model = replies("x")
    model.policy = policy
    result = run_agent("x", model=model)
    assert (result.status, result.answer, len(seen)) == ("completed", "here", 2)


def test_a_red_check_goes_back_to_the_model_and_a_green_one_ends(workspace: Path) -> None:
    model = replies("done", EDIT, "now really done")
    result = run_agent("edit", model=model, workspace=workspace, check="grep there a.txt")
    assert (result.status, result.verified, result.answer) == ("completed", True, "now really done")


def test_a_check_that_stays_red_ends_with_check_failed(workspace: Path) -> None:
    result = run_agent("x", model=replies("done"), workspace=workspace, check="exit 1")
    assert (result.status, result.verified, result.usage.model_calls) == ("check_failed", False, 3)
    assert result.best
    assert result.best["checkpoint"]


def test_a_callable_check_says_what_is_wrong() -> None:
    def verify(answer: str, workspace: Path | None) -> bool | str:
        return True if answer == "42" else "the answer is a number above 40"

    result = run_agent("x", model=replies("7", "42"), verify=verify)
    assert (result.status, result.answer, result.verified) == ("completed", "42", True)


class City(BaseModel):
    name: str
    people: int


def test_a_structured_answer_is_data(workspace: Path) -> None:
    model = replies("Paris", '```json\n{"name": "Paris", "people": 2100000}\n```')
    result = run_agent("x", model=model, response_format=City)
    assert result.status == "completed"
    assert result.structured == {"name": "Paris", "people": 2100000}


def test_without_progress_of_the_endpoint_the_run_ends_with_model_error() -> None:
    def policy(messages: list, tools: list) -> AIMessage:
        raise ConnectionError("refused")

    model = replies("x")
    model.policy = policy
    result = run_agent("x", model=model, retries=RetryPolicy(attempts=2, first_wait=0.01))
    assert result.status == "model_error"
    assert result.evidence
    assert result.evidence["attempts"] == 2


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


async def test_now_kills_the_running_command_and_the_thread_goes_on(workspace: Path) -> None:
    model = replies(bash("echo started >> log; sleep 60; echo ended >> log"), "ok")
    control = Control()
    result: Outcome | None = None

    async def cancel_when_started() -> None:
        while not (workspace / "log").exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        control.now()

    waiter = asyncio.create_task(cancel_when_started())
    async for event in astream_agent("x", model=model, workspace=workspace, control=control):
        if event["type"] == "end":
            result = Outcome.model_validate(event["outcome"])
    await waiter
    assert result
    assert result.status == "cancelled"
    assert [change.path for change in result.files] == ["log"], "the broken step's files are told"
    again = await arun_agent(None, model=model, workspace=workspace, thread_id=result.thread)
    assert again.status == "completed"
    assert (workspace / "log").read_text() == "started\n", "never silently repeated"
    assert json.loads(again.steps[0].observation or "")["error"] == "interrupted"


def test_events_tell_the_run_in_order(workspace: Path) -> None:
    events = list(stream_agent("x", model=replies(bash("true"), "ok"), workspace=workspace))
    kinds = [event["type"] for event in events if event["type"] != "token"]
    assert kinds == ["start", "call", "observation", "end"]


@pytest.mark.parametrize(
    ("task", "options", "says"),
    [
        (None, {}, "give a task"),
        ("  ", {}, "empty"),
        ("x", {"model": None}, "--model"),
        ("x", {"workspace": "/nonexistent/folder"}, "nonexistent"),
        ("x", {"check": "true"}, "workspace"),
        ("x", {"window": 0}, "window takes a number of tokens above 0"),
    ],
)
def test_wrong_use_is_one_line_before_any_model_call(
    task: str | None, options: dict, says: str
) -> None:
    given = {"model": replies("never asked"), **options}
    with pytest.raises(HeadwayError, match=says):
        run_agent(task, **given)


def test_a_key_of_the_host_never_reaches_model_journal_or_trace(
    workspace: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123456789")
    (workspace / "leak.txt").write_text("key: sk-test-123456789\n")
    model = replies([bash("env; cat leak.txt"), call("read_file", "r1", path="leak.txt")], "ok")
    result = run_agent("x", model=model, workspace=workspace, check="cat leak.txt; false")
    assert "sk-test-123456789" not in result.model_dump_json()
    written = [
        path.read_bytes() for path in own_home.rglob("*.sqlite*") if "snapshots" not in str(path)
    ]
    assert written
    assert not any(b"sk-test-123456789" in data for data in written)


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


def test_a_command_ends_with_the_runs_time(workspace: Path) -> None:
    model = replies(bash("sleep 60"), "late")
    result = run_agent("x", model=model, workspace=workspace, limits=Limits(seconds=1.5))
    assert (result.status, result.limit) == ("limit", "seconds")
    assert result.usage.seconds < 30
    assert result.commands[0].timed_out


def test_a_refused_key_is_named_as_the_cause_and_never_quoted(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123456789")
    refused = fails(401, "Incorrect API key provided: sk-test-123456789", "invalid_api_key")
    with OpenAIServer([refused]) as server:
        result = run_agent("x", model="openai:m", base_url=server.url)
    assert result.status == "model_error"
    assert "Incorrect API key" in result.missing
    assert "OPENAI_API_KEY" in result.next_step
    assert "sk-test-123456789" not in result.model_dump_json()
    stored = [path.read_bytes() for path in own_home.rglob("*.sqlite*")]
    assert not any(b"sk-test-123456789" in data for data in stored)


def test_waiting_for_another_try_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123456789")
    with OpenAIServer([fails(503, "busy"), says("here")]) as server:
        events = list(
            stream_agent(
                "x", model="openai:m", base_url=server.url, retries=RetryPolicy(first_wait=0.01)
            )
        )
    assert [e["text"] for e in events if e["type"] == "note" and e["about"] == "retry"]
    assert events[-1]["outcome"]["answer"] == "here"
