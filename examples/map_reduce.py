"""Map-reduce over files: a headway per file, side by side, each with a folder of its own."""

import operator
import tempfile
from pathlib import Path
from typing import Annotated

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from models import call, decides
from typing_extensions import TypedDict

from headway import build_agent


class State(TypedDict):
    folders: list[str]
    counts: Annotated[list[str], operator.add]
    report: str


def counting(request: str, past: int) -> str | AIMessage:
    return call("read_file", path="notes.txt") if past == 0 else "counted"


def fan_out(state: State) -> list[Send]:
    return [Send("count", folder) for folder in state["folders"]]


def count(folder: str) -> dict[str, list[str]]:
    agent = build_agent(decides(counting), workspace=folder, memory=True)
    result = agent.invoke({"messages": [("user", "Count the lines of notes.txt.")]})
    lines = next(m.text for m in result["messages"] if m.type == "tool").count("\\n") + 1
    return {"counts": [f"{Path(folder).name}: {lines}, {result['outcome']['status']}"]}


def reduce(state: State) -> dict[str, str]:
    return {"report": "; ".join(sorted(state["counts"]))}


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="headway-example-"))
    for number in (1, 2, 3):
        (root / f"part{number}").mkdir()
        (root / f"part{number}" / "notes.txt").write_text("line\n" * number)
    graph = StateGraph(State).add_node("count", count).add_node("reduce", reduce)
    graph.add_conditional_edges(START, fan_out, ["count"])
    graph.add_edge("count", "reduce").add_edge("reduce", END)
    folders = [str(folder) for folder in sorted(root.iterdir())]
    print(graph.compile().invoke({"folders": folders, "counts": [], "report": ""})["report"])


if __name__ == "__main__":
    main()
