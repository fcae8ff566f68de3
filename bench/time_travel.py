"""Reads of a thread of 3,000 checkpoints (SQLite file, 1,000 rounds of 2 KB), side by side.

`.venv/bin/python bench/time_travel.py`: the tree with the last page of 50 steps, as
`headway show` reads it, against the same page of LangGraph's own history.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from headway.messages import merge
from headway_debugger.backend import Backend, address
from headway_debugger.fork import fork
from headway_debugger.steps import steps
from headway_debugger.tree import resolve
from headway_debugger.upkeep import last_steps, prune
from headway_debugger.views import tree

ROUNDS = 1000


class Delta(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(merge, snapshot_frequency=2000)]
    rounds: int


def _graph(saver: SqliteSaver) -> Any:
    graph = StateGraph(Delta)
    graph.add_node("agent", lambda s: {"messages": [AIMessage("x" * 2000)]})
    graph.add_node("tools", lambda s: {"rounds": s.get("rounds", 0) + 1})
    graph.add_node("progress", lambda s: {})
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "tools")
    graph.add_edge("tools", "progress")
    graph.add_conditional_edges(
        "progress", lambda s: END if s["rounds"] >= ROUNDS else "agent", [END, "agent"]
    )
    return graph.compile(checkpointer=saver)


def _timed(name: str, work: Callable[[], Any]) -> None:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name:<28}{wall:8.3f} s{processor:8.3f} s of processor time")


def _page(backend: Backend) -> int:
    found = tree(backend, "t")
    return len(steps(backend, found, found.branches["main"].nodes[-50:]))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "threads.sqlite"
        connection = sqlite3.connect(file, check_same_thread=False)
        connection.execute("PRAGMA synchronous = OFF")
        graph = _graph(SqliteSaver(connection))
        graph.invoke({"messages": [HumanMessage("go")]}, address("t"))
        backend = Backend(graph)
        found = tree(backend, "t")
        node = resolve(found, str(ROUNDS))
        print(f"{len(found.nodes)} checkpoints, {file.stat().st_size / 1e6:.1f} MB")
        _timed("tree", lambda: tree(backend, "t"))
        _timed("tree and last page of 50", lambda: _page(backend))
        history = graph.get_state_history(address("t"), limit=50)
        _timed("get_state_history, 50", lambda: list(history))
        _timed("one state", lambda: backend.snapshot("t", node.id))
        _timed("one fork", lambda: fork(backend, "t", node))
        _timed("prune to the last 50", lambda: prune(backend, found, last_steps(found, 50)))
        connection.close()


if __name__ == "__main__":
    main()
