"""headway beside other agents: supervisor, swarm, and a tool of another one."""

from typing import Any

import pytest
from embedding_support import THREAD, add, adder, texts
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from headway import build_agent
from headway.history import problems
from headway.testing import PolicyModel
from policies import call, replies


def supervised(kid: Any, mode: str) -> Any:
    def boss(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        if any(isinstance(m, AIMessage) and m.tool_calls for m in messages):
            return AIMessage("the sum is 3")
        return AIMessage("", tool_calls=[call("transfer_to_adder", "t1")])

    model = PolicyModel(policy=boss)
    return create_supervisor([kid], model=model, output_mode=mode).compile()


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("mode", ["last_message", "full_history"])
def test_a_supervisor_hands_over_and_the_request_is_valid(mode: str) -> None:
    seen: list[list[str]] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        seen.append(problems(messages))
        done = any(m.type == "tool" and m.name == "add" for m in messages)
        return AIMessage("3") if done else AIMessage("", tool_calls=[call("add", a=1, b=2)])

    kid = build_agent(PolicyModel(policy=policy), tools=[add], name="adder")
    result = supervised(kid, mode).invoke({"messages": [HumanMessage("1+2")]})
    assert result["messages"][-1].text == "the sum is 3"
    assert seen == [[], []]


@pytest.mark.parametrize("extra", [[], [call("add", "a1", a=1, b=2)]], ids=["alone", "two calls"])
def test_a_hand_off_in_a_swarm_leaves_a_valid_history(extra: list[Any]) -> None:
    first = build_agent(
        replies([*extra, call("transfer_to_second", "h1")]),
        tools=[add, create_handoff_tool(agent_name="second")],
        name="first",
    )
    second = build_agent(
        replies("x", "second here"), tools=[create_handoff_tool(agent_name="first")], name="second"
    )
    graph = create_swarm([first, second], default_active_agent="first").compile(
        checkpointer=InMemorySaver()
    )
    result = graph.invoke({"messages": [HumanMessage("who?")]}, THREAD)
    assert result["active_agent"] == "second"
    assert result["messages"][-1].text == "second here"
    assert problems([*result["messages"], HumanMessage("next")]) == []


def test_a_hand_off_without_a_parent_is_an_observation() -> None:
    agent = build_agent(
        replies(call("transfer_to_other", "h1"), "alone"),
        tools=[create_handoff_tool(agent_name="other")],
    )
    result = agent.invoke({"messages": [HumanMessage("x")]})
    assert "no other agent" in texts(result)[2]
    assert result["messages"][-1].text == "alone"


def test_it_is_a_tool_of_another_agent_too() -> None:
    kid = adder()

    def sums(question: str) -> str:
        """Answer a question about sums."""
        return str(kid.invoke({"messages": [HumanMessage(question)]})["messages"][-1].text)

    boss = build_agent(replies(call("sums", question="1+2"), "it is 3"), tools=[sums])
    result = boss.invoke({"messages": [HumanMessage("x")]})
    assert texts(result)[2:] == ["3", "it is 3"]
