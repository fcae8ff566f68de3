"""Thoughts: where a step's thought comes from, asking for them, and thinking that goes nowhere."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from headway import Context, build_agent, run_agent
from headway.prompt import THOUGHTS
from headway.steps import trace
from headway.testing import PolicyModel
from headway_tools.think import think_tool
from policies import call, each_time, replies

STOCK = {"found": "two files", "missing": "the third", "enough": False}


def look(place: str) -> str:
    """Look somewhere."""
    return f"{place} is empty"


def read(message: AIMessage, *answers: str) -> list[tuple[str, str | None, str | None]]:
    """(thought, tool, observation) of each step."""
    calls = [c["id"] for c in message.tool_calls]
    pairs = zip(calls, answers, strict=True)
    said = [ToolMessage(text, tool_call_id=call_id) for call_id, text in pairs]
    steps = trace([HumanMessage("task"), message, *said])
    return [(s.thought, s.tool_call.name if s.tool_call else None, s.observation) for s in steps]


def test_the_text_of_a_reply_is_its_thought() -> None:
    both = [call("look", "1", place="a"), call("look", "2", place="b")]
    assert read(AIMessage("I look at both.", tool_calls=both), "x", "y") == [
        ("I look at both.", "look", "x"),
        ("", "look", "y"),
    ]


def test_without_text_the_reasoning_of_the_model_is_the_thought() -> None:
    hidden: dict[str, Any] = {"reasoning_content": "a first, then b"}
    message = AIMessage("", tool_calls=[call("look", "1", place="a")], additional_kwargs=hidden)
    assert read(message, "x") == [("a first, then b", "look", "x")]
    said = message.model_copy(update={"content": "I look."})
    assert read(said, "x") == [("I look.", "look", "x")]


def test_a_think_call_is_a_thought_and_no_action() -> None:
    message = AIMessage("Hm.", tool_calls=[call("think", "1", **STOCK)])
    assert read(message, "ok") == [
        ("Hm.\nfound: two files; missing: the third; enough: False", None, "ok")
    ]


def test_think_answers_whether_it_is_enough() -> None:
    model = replies(call("think", "t1", **STOCK), "not all of it")
    outcome = run_agent("?", model=model, tools=[think_tool()])
    assert '"next_step": "get what is missing"' in (outcome.steps[0].observation or "")


@pytest.mark.parametrize(
    ("built", "asked", "wanted"),
    [(False, None, False), (True, None, True), (False, True, True), (True, False, False)],
)
def test_a_thought_is_asked_for_where_operator_or_caller_want_it(
    built: bool, asked: bool | None, wanted: bool
) -> None:
    seen: list[str] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        seen.append(str(messages[0].text))
        return AIMessage("done")

    agent = build_agent(PolicyModel(policy=policy), tools=[look], thoughts=built)
    agent.invoke({"messages": [HumanMessage("x")]}, context=Context(thoughts=asked))
    assert (THOUGHTS in seen[0]) is wanted


def test_several_thinks_in_a_row_are_a_monologue() -> None:
    thinks = each_time(lambda n: call("think", f"t{n}", **{**STOCK, "found": f"{n} things"}))
    outcome = run_agent("?", model=thinks, tools=[think_tool(), look])
    assert outcome.status == "no_progress"
    assert (outcome.evidence or {})["rule"] == "monologue"
    assert outcome.usage.model_calls < 8


def test_thinking_between_steps_that_bring_something_is_free() -> None:
    def step(n: int) -> Any:
        if n == 20:
            return "done"
        return (
            call("look", f"l{n}", place=f"room {n}") if n % 2 else call("think", f"t{n}", **STOCK)
        )

    outcome = run_agent("?", model=each_time(step), tools=[think_tool(), look])
    assert outcome.status == "completed"
