"""Plan and execute: each hard step is a headway; the plan is made anew when one gets stuck."""

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from models import call, decides
from typing_extensions import TypedDict

from headway import build_agent


class State(TypedDict):
    goal: str
    steps: list[str]
    done: list[str]
    stuck: str


def page(name: str) -> str:
    """A page of the archive."""
    return {"index": "see page two", "two": "the answer is 42"}.get(name, "404 not found")


def acting(request: str, past: int) -> str | AIMessage:
    if "mirror" in request:
        return call("page", name="mirror")
    return call("page", name=request.split()[-1]) if past == 0 else "found it"


def plan(state: State) -> dict[str, list[str] | str]:
    """A planner's place: the first plan relies on a mirror, the second goes to the source."""
    steps = ["read mirror"] if not state["stuck"] else ["read index", "read two"]
    return {"steps": steps, "stuck": ""}


def execute(state: State) -> dict[str, list[str] | str]:
    step, *rest = state["steps"]
    outcome = AGENT.invoke({"messages": [("user", step)]})["outcome"]
    if outcome["status"] in ("no_progress", "limit"):
        return {"stuck": f"{step}: {outcome['status']}"}
    return {"steps": rest, "done": [*state["done"], f"{step}: {outcome['answer']}"]}


def route(state: State) -> str:
    return "plan" if state["stuck"] else "execute" if state["steps"] else END


AGENT = build_agent(decides(acting), tools=[page])


def main() -> None:
    graph = StateGraph(State).add_node("plan", plan).add_node("execute", execute)
    graph.add_edge(START, "plan").add_edge("plan", "execute")
    graph.add_conditional_edges("execute", route, ["plan", "execute", END])
    start: State = {"goal": "find the answer", "steps": [], "done": [], "stuck": ""}
    for update in graph.compile().stream(start, {"recursion_limit": 25}, stream_mode="updates"):
        print(update)


if __name__ == "__main__":
    main()
