"""LangGraph's own recursion limit ends a run softly, from the smallest limit that can work."""

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from headway import build_agent
from headway_tools.errors import HeadwayError
from policies import bash, each_time


@pytest.mark.parametrize("limit", range(5, 24))
@pytest.mark.parametrize("answers", [False, True], ids=["calls", "promises"])
def test_every_outer_limit_ends_with_a_partial_result(
    workspace: Path, limit: int, answers: bool
) -> None:
    def reply(n: int) -> object:
        return AIMessage(f"I will look at part {n} now.") if answers else bash(f"echo {n}", f"c{n}")

    agent = build_agent(each_time(reply), workspace=workspace)  # type: ignore[arg-type]
    values = agent.invoke({"messages": [("user", "go")]}, {"recursion_limit": limit})
    assert values["outcome"]["status"] in ("limit", "invalid_answer")
    assert values["messages"][-1].response_metadata["headway"]["partial"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_smaller_limit_is_refused_before_a_model_call(workspace: Path, limit: int) -> None:
    agent = build_agent(each_time(lambda n: "never"), workspace=workspace)
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
