"""A run from its task to its outcome: every status and what it carries."""

import asyncio
import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from headway import Limits, arun_agent, run_agent
from headway.models.retry import RetryPolicy
from headway.status import exit_code
from policies import EDIT, bash, call, each_time, replies


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


def test_a_command_ends_with_the_runs_time(workspace: Path) -> None:
    model = replies(bash("sleep 60"), "late")
    result = run_agent("x", model=model, workspace=workspace, limits=Limits(seconds=1.5))
    assert (result.status, result.limit) == ("limit", "seconds")
    assert result.usage.seconds < 30
    assert result.commands[0].timed_out
