"""LangGraph's own recursion limit ends a run softly, from the smallest limit that can work."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from headway import build_agent
from headway.history import open_calls
from headway_tools.errors import HeadwayError
from policies import bash, call, each_time

SAMPLED = (4, 5, 6, 7, 8, 9, 13, 22, 69)
LIMITS = [
    pytest.param(limit, marks=[] if limit in SAMPLED else [pytest.mark.slow])
    for limit in range(4, 70)
]

CALLS = lambda n: call("echo", f"c{n}", text=str(n))  # noqa: E731 -- one of a row of policies
POLICIES: dict[str, tuple[Callable[[int], Any], dict[str, Any]]] = {
    "calls for ever": (CALLS, {}),
    "promises for ever": (lambda n: f"I will look at part {n} now.", {}),
    "a red check": (lambda n: f"Part {n} is done.", {"verify": lambda answer, workspace: "no"}),
    "approvals": (CALLS, {"ask": "all"}),
    "an answer at the third call": (lambda n: CALLS(n) if n < 2 else "It is 2.", {}),
}


def echo(text: str) -> str:
    """Say it again."""
    return text


class Outer(MessagesState):
    outcome: dict[str, Any]
    after: bool


def as_child(agent: Any) -> Any:
    graph = StateGraph(Outer)
    graph.add_node("agent", agent)
    graph.add_node("after", lambda state: {"after": True})
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "after")
    graph.add_edge("after", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("child", [False, True], ids=["alone", "child"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_outer_limit_ends_well(policy: str, child: bool, limit: int) -> None:
    make, options = POLICIES[policy]
    saver = None if child else InMemorySaver()
    agent = build_agent(each_time(make), tools=[echo], checkpointer=saver, memory=True, **options)
    graph: Any = as_child(agent) if child else agent
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": limit}
    values = graph.invoke({"messages": [("user", "go")]}, config)
    for _ in range(70):
        if "__interrupt__" not in values:
            break
        decisions = {"decisions": [{"type": "approve"}]}
        values = graph.invoke(Command(resume=decisions), config)
    status = values["outcome"]["status"]
    assert status in ("limit", "invalid_answer", "check_failed", "completed")
    assert status == "completed" or values["messages"][-1].response_metadata["headway"]["partial"]
    assert values.get("after") is (True if child else None)
    assert open_calls(values["messages"]).calls == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_smaller_limit_is_refused_before_a_model_call(limit: int) -> None:
    agent = build_agent(each_time(lambda n: "never"), tools=[])
    with pytest.raises(Exception, match="recursion") as caught:
        agent.invoke({"messages": [("user", "go")]}, {"recursion_limit": limit})
    assert limit == 1 or isinstance(caught.value, HeadwayError)


@pytest.mark.parametrize("node", ["agent", "verify"])
def test_a_state_edited_as_a_node_goes_on_as_that_node_would(workspace: Path, node: str) -> None:
    """An edit has no recursion limit; LangGraph hands its edges one of two steps."""
    agent = build_agent(
        each_time(lambda n: bash("echo 1") if n == 0 else "done"),
        workspace=workspace,
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "go")]}, config)  # type: ignore[call-overload]
    states = list(agent.get_state_history(config))  # type: ignore[arg-type]
    before = next(s for s in states if s.next == (("tools",) if node == "agent" else ("verify",)))
    fork = agent.update_state(before.config, {"outcome": {}}, as_node=node)
    assert agent.get_state(fork).next == (("tools",) if node == "agent" else ("agent",))
