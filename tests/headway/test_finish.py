"""The end of a run: a partial result, or the question whether to go on."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from headway import Limits, Outcome, build_agent, run_agent
from policies import bash, call, each_time, replies


def stuck(until: int = 10_000) -> Any:
    """Repeats itself for ever, or until it was told `until` times by the user to go on."""

    def make(n: int) -> Any:
        return bash("cat a.txt", f"c{n}")

    model = each_time(make)
    inner = model.policy

    def policy(messages: list[Any], tools: list[Any]) -> AIMessage:
        said = [m for m in messages if isinstance(m, HumanMessage) and "The user says" in m.text]
        return AIMessage("I see.") if len(said) >= until else inner(messages, tools)

    model.policy = policy
    return model


def ask(workspace: Path, model: Any, thread: str | None = None, decisions: Any = None) -> Outcome:
    task = None if thread else "x"
    return run_agent(
        task, model=model, workspace=workspace, on_stop="ask", thread_id=thread, decisions=decisions
    )


def answer(text: str) -> list[dict[str, str]]:
    return [{"type": "respond", "message": text}]


def test_a_stop_waits_for_a_person_with_the_evidence(workspace: Path) -> None:
    first = ask(workspace, stuck())
    assert first.status == "needs_approval"
    [waiting] = first.pending
    assert waiting["status"] == "no_progress"
    assert waiting["evidence"]["call"]["name"] == "bash"
    [action] = waiting["action_requests"]
    assert action["name"] == "ask_user"
    assert "no_progress" in action["args"]["question"]


@pytest.mark.parametrize("said", [answer("stop"), answer(""), [{"type": "reject"}]])
def test_an_answer_ends_the_run(workspace: Path, said: Any) -> None:
    first = ask(workspace, stuck())
    last = ask(workspace, stuck(), first.thread, said)
    assert last.status == "no_progress"
    assert last.evidence
    assert last.usage.model_calls == first.usage.model_calls


def test_a_message_goes_back_to_the_model_as_often_as_it_takes(workspace: Path) -> None:
    result = ask(workspace, stuck(until=3))
    spent = [result.usage.model_calls]
    for text in ("look closer", "closer still", "closest"):
        assert result.status == "needs_approval"
        result = ask(workspace, stuck(until=3), result.thread, answer(text))
        spent.append(result.usage.model_calls)
    assert (result.status, result.answer) == ("completed", "I see.")
    first, second, third, end = spent
    assert second - first == third - second == first, "each time the detector starts afresh"
    assert end == third + 1
    assert len(result.steps) == end, "it is still the same run"


def test_an_answer_that_does_not_fit_is_asked_again(workspace: Path) -> None:
    first = ask(workspace, stuck())
    again = ask(workspace, stuck(), first.thread, [{"type": "approve"}])
    assert again.status == "needs_approval"
    assert "respond" in again.pending[0]["error"]


def test_a_message_to_a_waiting_thread_starts_a_new_run(workspace: Path) -> None:
    first = ask(workspace, stuck())
    second = run_agent(
        "do something else", model=replies("fine"), workspace=workspace, thread_id=first.thread
    )
    assert (second.status, second.usage.model_calls) == ("completed", 1)


def test_a_red_check_asks_and_gets_new_patience(workspace: Path) -> None:
    options: dict[str, Any] = {"workspace": workspace, "on_stop": "ask", "check": "exit 1"}
    first = run_agent("x", model=replies("done"), **options)
    assert first.pending[0]["status"] == "check_failed"
    second = run_agent(
        None, model=replies("done"), thread_id=first.thread, decisions=answer("again"), **options
    )
    assert second.status == "needs_approval"
    assert second.usage.model_calls == first.usage.model_calls + 2


def test_a_limit_is_no_question(workspace: Path) -> None:
    model = each_time(lambda n: bash(f"echo {n}", f"c{n}"))
    result = run_agent(
        "x", model=model, workspace=workspace, on_stop="ask", limits=Limits(model_calls=2)
    )
    assert (result.status, result.limit) == ("limit", "model_calls")


async def test_a_graph_of_somebody_else_may_answer_with_a_word(workspace: Path) -> None:
    agent = build_agent(
        stuck(until=1), workspace=workspace, on_stop="ask", checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    first = await agent.ainvoke({"messages": [HumanMessage("x")]}, config)
    assert first["__interrupt__"]
    last = await agent.ainvoke(Command(resume="look closer"), config)
    assert last["outcome"]["status"] == "completed"


def test_the_partial_result_is_facts_and_leaves_no_call_open(workspace: Path) -> None:
    def make(n: int) -> Any:
        return [bash(f"echo {n} >> log", f"a{n}"), call("read_file", f"b{n}", path="a.txt")]

    saver = InMemorySaver()
    result = run_agent(
        "x", model=each_time(make), workspace=workspace, checkpointer=saver, thread_id="t",
        limits=Limits(model_calls=2, tool_calls=100),
    )  # fmt: skip
    assert result.status == "limit"
    state = build_agent(replies("x"), checkpointer=saver).get_state(
        {"configurable": {"thread_id": "t"}}
    )
    messages = state.values["messages"]
    asked = {c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
    assert asked == {m.tool_call_id for m in messages if m.type == "tool"}
    partial = messages[-1].text
    assert partial.startswith("Stopped: limit (model_calls). Missing:")
    assert "- log was added" in partial
    assert "`echo 0 >> log` exited with 0" in partial


def test_a_resume_after_a_stop_starts_the_detector_afresh(workspace: Path) -> None:
    first = run_agent("x", model=stuck(), workspace=workspace)
    again = run_agent(None, model=stuck(), workspace=workspace, thread_id=first.thread)
    assert first.status == again.status == "no_progress"
    assert again.usage.model_calls == 2 * first.usage.model_calls
