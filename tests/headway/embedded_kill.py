"""A parent graph with headway as a node; its tool kills the process within its first call.

Usage: embedded_kill.py FOLDER DURABILITY. Started again it resumes, and prints one JSON object;
`test_crash.py` reads it.
"""

import json
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from headway.build import build_agent
from headway.testing import PolicyModel, spoken


def main(folder: Path, durability: Any) -> None:
    def pay(what: str) -> str:
        """Pay once."""
        with (folder / "paid").open("a") as file:
            file.write(f"{what}\n")
        if not (folder / "killed").exists():
            (folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "paid"

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        call = {"name": "pay", "args": {"what": "p0"}, "id": "p0"}
        return AIMessage("done") if spoken(messages) else AIMessage("", tool_calls=[call])

    agent = build_agent(PolicyModel(policy=policy), tools=[pay], home=folder / "home")
    graph = StateGraph(MessagesState)
    graph.add_node("headway", agent)
    graph.add_edge(START, "headway")
    connection = sqlite3.connect(folder / "db.sqlite", check_same_thread=False)
    parent = graph.compile(checkpointer=SqliteSaver(connection))
    address: Any = {"configurable": {"thread_id": "t"}}
    kept = bool(parent.get_state(address).next)
    given: Any = None if kept else {"messages": [HumanMessage("pay")]}
    result = parent.invoke(given, address, durability=durability)
    connection.close()
    said = [m.text for m in result["messages"] if m.type == "tool"]
    paid = (folder / "paid").read_text().split()
    print(json.dumps({"kept": kept, "said": said, "paid": paid}))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
