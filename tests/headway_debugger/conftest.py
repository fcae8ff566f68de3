"""Small scripted graphs over every saver that needs no server."""

import sqlite3
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict


class Plain(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    count: int


class Delta(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
    count: int


def _agent(state: Any) -> dict[str, Any]:
    """Two calls, then an answer that repeats the results and the task."""
    messages = state["messages"]
    last_human = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
    done = [m.text for m in messages[last_human:] if isinstance(m, ToolMessage)]
    count = state.get("count", 0) + 1
    usage = {"input_tokens": 10 * len(messages), "output_tokens": 5}
    usage["total_tokens"] = sum(usage.values())
    if len(done) < 2:
        call = {"name": "look", "args": {"at": len(done)}, "id": f"c{len(messages)}"}
        reply = AIMessage("", tool_calls=[call], usage_metadata=usage)
    else:
        task = messages[last_human].text
        reply = AIMessage(f"{task}: {' '.join(done)}", usage_metadata=usage)
    return {"messages": [reply], "count": count}


def _after(state: Any) -> str:
    return "approve" if state["messages"][-1].tool_calls else END


def _approve(state: Any) -> Command[str]:
    """Asks for the second call only; decides by itself what follows."""
    call = state["messages"][-1].tool_calls[0]
    if call["args"]["at"] == 1 and interrupt({"call": call["id"]}) != "yes":
        return Command(goto="agent", update={"messages": [_result(call, "refused")]})
    return Command(goto="tools")


def _tools(state: Any) -> dict[str, Any]:
    call = state["messages"][-1].tool_calls[0]
    return {"messages": [_result(call, f"seen{call['args']['at']}")]}


def _result(call: Any, text: str) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"])


def build(saver: Any, schema: Any = Delta) -> CompiledStateGraph[Any, Any, Any, Any]:
    """START → agent → approve → tools → agent … → END."""
    graph = StateGraph(schema)
    graph.add_node("agent", _agent)
    graph.add_node("approve", _approve, destinations=("tools", "agent"))
    graph.add_node("tools", _tools)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", _after, ["approve", END])
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=saver)


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[BaseCheckpointSaver[Any]]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    connection = sqlite3.connect(tmp_path / "threads.sqlite", check_same_thread=False)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


@pytest.fixture(params=[Plain, Delta], ids=["add_messages", "delta"])
def graph(
    saver: BaseCheckpointSaver[Any], request: pytest.FixtureRequest
) -> CompiledStateGraph[Any, Any, Any, Any]:
    return build(saver, request.param)


@pytest.fixture
def finished(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Any:
    """A graph whose thread `t` asked once, was answered, and ended."""
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("task", id="h1")]}, config)
    graph.invoke(Command(resume="yes"), config)
    return graph
