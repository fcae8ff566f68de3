"""Scripted graphs, and what tests read from savers behind the debugger's back."""

import operator
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict


class Plain(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    count: int


class Delta(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]
    count: int


class OnlyMessages(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]


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


def build(
    saver: Any, schema: Any = Delta, input_schema: Any = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """START → agent → approve → tools → agent … → END."""
    graph = StateGraph(schema, input_schema=input_schema)
    graph.add_node("agent", _agent)
    graph.add_node("approve", _approve, destinations=("tools", "agent"))
    graph.add_node("tools", _tools)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", _after, ["approve", END])
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=saver)


def texts(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def stored_rows(saver: Any, thread: str = "t") -> dict[tuple[str, ...], Any]:
    """Every stored row of a thread, by (table, checkpoint id, thread, namespace, …), as bytes."""
    if isinstance(saver, InMemorySaver):
        found: dict[tuple[str, ...], Any] = {}
        for ns, checkpoints in saver.storage.get(thread, {}).items():
            found |= {("checkpoints", i, thread, ns): row for i, row in checkpoints.items()}
        for (owner, ns, i), writes in saver.writes.items():
            if owner == thread:
                found |= {("writes", i, thread, ns, str(k)): row for k, row in writes.items()}
        return found
    if not isinstance(saver, SqliteSaver):
        return _postgres_rows(saver, thread)
    query = "SELECT * FROM {} WHERE thread_id = ?"
    rows = saver.conn.execute(query.format("checkpoints"), (thread,)).fetchall()
    found = {("checkpoints", row[2], row[0], row[1]): row for row in rows}
    for row in saver.conn.execute(query.format("writes"), (thread,)).fetchall():
        found["writes", row[2], row[0], row[1], row[3], str(row[5])] = row
    return found


def _postgres_rows(saver: Any, thread: str) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for table in ("checkpoints", "checkpoint_writes"):
        query = f"SELECT * FROM {table} WHERE thread_id = %s"
        for row in saver.conn.execute(query, (thread,)).fetchall():
            key = (row["checkpoint_id"], row["thread_id"], row["checkpoint_ns"])
            found[table, *key, row.get("task_id", ""), str(row.get("idx"))] = row
    return found


class Items(TypedDict, total=False):
    items: list[str]
    done: Annotated[list[str], operator.add]


def map_reduce(saver: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Each item goes to `work` by a Send, twice in a row."""

    def split(state: Any) -> list[Send]:
        return [Send("work", {"items": [item]}) for item in state["items"]]

    graph = StateGraph(Items)
    graph.add_node("plan", lambda state: {})
    graph.add_node("again", lambda state: {})
    graph.add_node("work", lambda state: {"done": state["items"]})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", split, ["work"])
    graph.add_conditional_edges(
        "work", lambda state: "again" if len(state["done"]) < 6 else END, ["again", END]
    )
    graph.add_conditional_edges("again", split, ["work"])
    return graph.compile(checkpointer=saver)


class Files(TypedDict, total=False):
    hw_files: str


def file_graph(saver: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """One step that changes the files."""
    graph = StateGraph(Files)
    graph.add_node("tools", lambda state: {"hw_files": "s1"})
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=saver)


def chain(saver: Any, length: int) -> None:
    """Thread `t` of that many checkpoints, written straight to the saver, one message a step."""
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for step in range(length):
        checkpoint = {**empty_checkpoint(), "id": str(uuid6(clock_seq=step))}
        metadata = {"source": "loop" if step else "input", "step": step - 1}
        config = saver.put(config, checkpoint, metadata, {})
        write = ("messages", [AIMessage(f"m{step}", id=f"m{step}")])
        saver.put_writes(config, [write], f"task{step}", "~__pregel_pull, agent")


def parent_graph(saver: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph as a node of another one, whose saver it uses."""
    graph = StateGraph(Delta)
    graph.add_node("child", build(None, Delta))
    graph.add_edge(START, "child")
    graph.add_edge("child", END)
    return graph.compile(checkpointer=saver)
