"""What tests read from savers behind the debugger's back."""

import operator
from typing import Annotated, Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send
from typing_extensions import TypedDict


def texts(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def stored_rows(saver: Any) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """Every stored row of a saver, by (table, checkpoint id, …), as bytes."""
    if isinstance(saver, InMemorySaver):
        found: dict[tuple[str, ...], tuple[Any, ...]] = {}
        for thread, namespaces in saver.storage.items():
            for ns, checkpoints in namespaces.items():
                found |= {("checkpoints", i, thread, ns): row for i, row in checkpoints.items()}
        for (thread, ns, i), writes in saver.writes.items():
            found |= {("writes", i, thread, ns, str(k)): row for k, row in writes.items()}
        return found
    rows = saver.conn.execute("SELECT * FROM checkpoints").fetchall()
    found = {("checkpoints", row[2], row[0], row[1]): row for row in rows}
    for row in saver.conn.execute("SELECT * FROM writes").fetchall():
        found["writes", row[2], row[0], row[1], row[3], str(row[5])] = row
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
