"""A small agent and a parent graph around it."""

from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph

from headway import build_agent
from policies import call, replies

THREAD: Any = {"configurable": {"thread_id": "t"}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def adder(**options: Any) -> Any:
    return build_agent(replies(call("add", a=1, b=2), "3"), tools=[add], name="adder", **options)


class Parent(MessagesState):
    status: int
    outcome: str


def parent_of(node: Any, schema: Any = Parent, **compile_options: Any) -> Any:
    graph = StateGraph(schema).add_node("kid", node)
    graph.add_edge(START, "kid").add_edge("kid", END)
    return graph.compile(**compile_options)


def texts(result: dict[str, Any]) -> list[str]:
    return [str(message.text) for message in result["messages"]]
