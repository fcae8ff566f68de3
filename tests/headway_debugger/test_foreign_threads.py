"""Threads shaped by others: subgraphs, LangGraph's own replays, edits from a studio."""

from typing import Any

from debugger_support import map_reduce, parent_graph, stored_rows, texts
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.types import Command

from headway_debugger.backend import Backend, address
from headway_debugger.compare import Side, diff
from headway_debugger.fork import continue_from, fork
from headway_debugger.steps import steps
from headway_debugger.tree import resolve
from headway_debugger.views import tree


def test_a_fork_before_a_finished_subgraph_runs_it_again_and_asks_again(saver: Any) -> None:
    graph = parent_graph(saver)
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    graph.invoke(Command(resume="yes"), address("t"))
    backend, before = Backend(graph), stored_rows(saver)
    for node in list(tree(backend, "t").nodes.values()):
        made = fork(backend, "t", node)
        if not made.next:
            continue
        asked = graph.invoke(None, address("t", made.head))
        assert asked["__interrupt__"]
        branch = list(tree(backend, "t").branches)[-1]
        ended = graph.invoke(Command(resume="no"), continue_from(tree(backend, "t"), branch))
        assert "refused" in texts(ended["messages"])
    after = stored_rows(saver)
    assert {key: after[key] for key in before} == before


def test_a_question_inside_a_subgraph_waits_on_its_branch(saver: Any) -> None:
    graph = parent_graph(saver)
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    backend = Backend(graph)
    made = fork(backend, "t", resolve(tree(backend, "t"), "1"))
    graph.invoke(None, address("t", made.head))
    found = tree(backend, "t")
    for name in ("main", "b2"):
        (step,) = steps(backend, found, [found.branches[name].tip])
        assert step.status == "waiting"
        ended = graph.invoke(Command(resume="yes"), continue_from(found, name))
        assert ended["messages"][-1].text == "task: seen0 seen1"


def test_every_step_of_a_map_reduce_can_be_forked_and_ends_the_same(saver: Any) -> None:
    graph = map_reduce(saver)
    expected = graph.invoke({"items": ["a", "b", "c"]}, address("t"))
    backend = Backend(graph)
    for node in list(tree(backend, "t").nodes.values()):
        made = fork(backend, "t", node)
        if made.next:
            assert graph.invoke(None, address("t", made.head)) == expected


def test_a_replay_by_langgraph_is_a_branch_with_the_writers_of_its_origin(finished: Any) -> None:
    backend = Backend(finished)
    finished.invoke(None, address("t", resolve(tree(backend, "t"), "7").id))
    found = tree(backend, "t")
    first = found.branches["b2"].start
    assert (first.source, first.writers) == ("fork", ("tools",))
    assert found.branches["b2"].forked_from == resolve(found, "7")
    sides = [Side(found, resolve(found, name)) for name in ("main", "b2")]
    assert diff(backend, *sides).same


def test_an_edit_by_a_studio_is_shown_and_can_be_forked(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    backend = Backend(graph)
    answer = ToolMessage("by hand", name="look", tool_call_id="c3")
    graph.update_state(address("t"), {"messages": [answer]}, as_node="tools")
    found = tree(backend, "t")
    tip = found.branches["main"].tip
    (step,) = steps(backend, found, [tip])
    assert (tip.source, texts(list(step.messages)), step.next) == (
        "update",
        ["by hand"],
        ("agent",),
    )
    made = fork(backend, "t", tip)
    ended = graph.invoke(None, address("t", made.head))
    assert ended["messages"][-1].text == "task: seen0 by hand"


def test_what_came_with_an_answer_is_asked_for_again_with_it(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    graph.invoke(Command(resume="yes", update={"count": 40}), address("t"))
    backend = Backend(graph)
    node = resolve(tree(backend, "t"), "5")
    made = fork(backend, "t", node)
    assert backend.snapshot("t", made.head).values["count"] == 2
    assert backend.snapshot("t", resolve(tree(backend, "t"), "main").id).values["count"] == 41
