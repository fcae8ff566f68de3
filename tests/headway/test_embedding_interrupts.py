"""headway as a node that waits or has finished: interrupts, edits and forks from the parent."""

import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from embedding_support import THREAD, Parent, adder, parent_of, texts
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from headway import build_agent
from headway.embed import answer_node
from headway_tools.errors import HeadwayError
from policies import bash, replies


class Spread(TypedDict):
    folders: list[str]
    messages: Annotated[list[BaseMessage], operator.add]


def test_instances_side_by_side_keep_folders_and_interrupts_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    def work(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        folder = Path(state["folder"])
        model = replies(bash(f"echo {folder.name} >> made.txt"), f"{folder.name} done")
        agent = build_agent(model, workspace=folder, ask="edits", name=folder.name)
        return answer_node(agent)({"messages": [HumanMessage("go")]}, config)

    graph = StateGraph(Spread).add_node("work", work)
    graph.add_conditional_edges(
        START, lambda s: [Send("work", {"folder": f}) for f in s["folders"]], ["work"]
    )
    compiled = graph.compile(checkpointer=InMemorySaver())
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    waiting = compiled.invoke({"folders": folders, "messages": []}, THREAD)["__interrupt__"]
    assert len(waiting) == 2
    assert not list(tmp_path.rglob("made.txt"))

    by_command = {i.value["action_requests"][0]["args"]["command"]: i.id for i in waiting}
    approve, reject = {"decisions": [{"type": "approve"}]}, {"decisions": [{"type": "reject"}]}
    result = compiled.invoke(
        Command(
            resume={
                by_command["echo one >> made.txt"]: approve,
                by_command["echo two >> made.txt"]: reject,
            }
        ),
        THREAD,
    )
    assert sorted(texts(result)) == ["one done", "two done"]
    assert (tmp_path / "one" / "made.txt").read_text() == "one\n"
    assert not (tmp_path / "two" / "made.txt").exists()


def test_inner_nodes_and_state_are_visible_to_the_parent(workspace: Path) -> None:
    kid = build_agent(replies(bash("ls"), "ok"), workspace=workspace, ask="all")
    graph = parent_of(kid, checkpointer=InMemorySaver())
    parts = list(
        graph.stream(
            {"messages": [HumanMessage("x")]}, THREAD, stream_mode="updates", subgraphs=True
        )
    )
    assert {node for ns, update in parts if ns for node in update} >= {"enter", "agent"}
    inner = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    assert inner.next == ("approve",)
    assert inner.values["messages"][-1].tool_calls


def test_a_fork_inside_a_finished_child_is_refused_instead_of_losing_its_edit() -> None:
    graph = parent_of(adder(), checkpointer=InMemorySaver())
    done = graph.invoke({"messages": [HumanMessage("1+2")]}, THREAD)
    before = next(state for state in graph.get_state_history(THREAD) if state.next == ("kid",))
    child = before.tasks[0].state
    step = next(s for s in graph.get_state_history(child) if s.next == ("agent",))
    fork = graph.update_state(step.config, {"messages": [HumanMessage("2+2")]}, as_node="enter")
    for config in (fork, step.config):
        with pytest.raises(HeadwayError, match="kid has finished.*fork the parent"):
            graph.invoke(None, config)

    edited = {"messages": [HumanMessage("2+2", id=before.values["messages"][0].id)]}
    beside = graph.update_state(before.config, edited, as_node="__start__")
    assert texts(graph.invoke(None, beside)) == ["2+2", *texts(done)[1:]]


def test_the_team_of_a_finished_child_is_refused_too() -> None:
    team = parent_of(adder())
    graph = StateGraph(Parent).add_node("team", team).add_edge(START, "team")
    parent = graph.compile(checkpointer=InMemorySaver())
    parent.invoke({"messages": [HumanMessage("1+2")]}, THREAD)
    before = next(state for state in parent.get_state_history(THREAD) if state.next == ("team",))
    child: Any = before.tasks[0].state
    step = next(s for s in parent.get_state_history(child) if s.next == ("kid",))
    with pytest.raises(HeadwayError, match="team has finished"):
        parent.invoke(None, step.config)


def test_a_child_that_waits_can_be_edited_and_continued(workspace: Path) -> None:
    kid = build_agent(replies(bash("echo 1 > made"), "done"), workspace=workspace, ask="all")
    graph = parent_of(kid, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("go")]}, THREAD)
    child = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    message = child.values["messages"][-1]
    edited = message.model_copy(update={"tool_calls": [bash("echo 2 > made")]})
    graph.update_state(child.config, {"messages": [edited]}, as_node="agent")
    (asked,) = graph.invoke(None, THREAD)["__interrupt__"]
    answer = {"decisions": [{"type": "approve"}]}
    graph.invoke(Command(resume={asked.id: answer}), THREAD)
    assert (workspace / "made").read_text() == "2\n"
