"""Removing, pruning and copying threads, with what delta channels need."""

from typing import Any

import pytest
from debugger_support import Delta, Plain, build, parent_graph, stored_rows, texts
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from headway.heads import Heads
from headway_debugger.backend import Backend, address
from headway_debugger.fork import continue_from, fork
from headway_debugger.tree import build_tree, resolve
from headway_debugger.upkeep import copy, delete, heads_after_prune, last_steps, prune
from headway_debugger.views import tree
from headway_tools.errors import HeadwayError


@pytest.fixture(params=[Plain, Delta], ids=["add_messages", "delta"])
def backend(request: pytest.FixtureRequest, saver: Any) -> Backend:
    """Thread `t`: main waited, was answered and ended; b2 waits for another answer."""
    graph = build(saver, request.param)
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    graph.invoke(Command(resume="yes"), address("t"))
    made = Backend(graph)
    copied = fork(made, "t", resolve(tree(made, "t"), "4"))
    graph.invoke(None, address("t", copied.head))
    graph.invoke({"messages": [HumanMessage("task")]}, address("other"))
    return made


def _states(backend: Backend, ids: Any, thread: str = "t") -> dict[str, Any]:
    found = {i: backend.snapshot(thread, i) for i in ids}
    return {i: (s.values, s.next, s.interrupts and s.interrupts[0].value) for i, s in found.items()}


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_prune_keeps_is_as_it_was(backend: Backend, count: int) -> None:
    before = tree(backend, "t")
    keep = last_steps(before, count)
    expected = _states(backend, keep)
    others = stored_rows(backend.saver, thread="other")
    done = prune(backend, before, keep)
    heads = heads_after_prune(Heads(), before, keep)
    after = build_tree("t", backend.rows("t"), heads.names)
    assert (done.kept, done.removed) == (len(keep), len(before.nodes) - len(keep))
    assert set(after.nodes) == keep
    assert _states(backend, keep) == expected
    assert [after.nodes[i].name for i in after.nodes] == [before.nodes[i].name for i in after.nodes]
    assert stored_rows(backend.saver, thread="other") == others


def test_a_pruned_thread_goes_on_on_both_branches(backend: Backend) -> None:
    before = tree(backend, "t")
    keep = last_steps(before, 1)
    prune(backend, before, keep)
    names = heads_after_prune(Heads(), before, keep).names
    after = build_tree("t", backend.rows("t"), names)
    graph = backend.graph
    ended = graph.invoke(Command(resume="yes"), continue_from(after, "b2"))
    assert texts(ended["messages"]) == ["task", "", "seen0", "", "seen1", "task: seen0 seen1"]
    more = graph.invoke({"messages": [HumanMessage("again")]}, continue_from(after, "main"))
    assert texts(more["messages"])[:7] == [*texts(ended["messages"]), "again"]
    copied = fork(backend, "t", after.branches["main"].tip)
    assert len(backend.snapshot("t", copied.head).values["messages"]) == 6


def test_a_branch_can_be_dropped_and_its_name_stays_taken(backend: Backend) -> None:
    before = tree(backend, "t")
    keep = last_steps(before, 100, ["b2"]) | {before.nodes[before.branches["b2"].start.parent].id}
    prune(backend, before, keep)
    heads = heads_after_prune(Heads(), before, keep)
    assert list(build_tree("t", backend.rows("t"), heads.names).branches) == ["main", "b2"]


def test_a_naive_prune_is_caught(saver: Any) -> None:
    backend = Backend(build(saver, Delta))
    backend.graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    nodes = tree(backend, "t").nodes
    latest = max(nodes)
    assert len(backend.snapshot("t", latest).values["messages"]) == 4
    backend.require_rows("prune").prune("t", frozenset({latest}), {})
    assert backend.snapshot("t", latest).values["messages"] == []
    with pytest.raises(HeadwayError, match="pruned without what messages is rebuilt from"):
        tree(backend, "t")


def test_a_second_prune_finds_the_copies_of_the_first(backend: Backend) -> None:
    before = tree(backend, "t")
    prune(backend, before, last_steps(before, 3))
    middle = tree(backend, "t")
    keep = last_steps(middle, 1)
    expected = _states(backend, keep)
    prune(backend, middle, keep)
    assert _states(backend, tree(backend, "t").nodes) == expected


def test_nothing_to_keep_or_an_unknown_checkpoint_removes_nothing(backend: Backend) -> None:
    before = tree(backend, "t")
    for keep in ((), ("1f-unknown",)):
        with pytest.raises(HeadwayError):
            prune(backend, before, keep)
    with pytest.raises(HeadwayError, match="no branch b9"):
        last_steps(before, 1, ["b9"])
    assert list(tree(backend, "t").nodes) == list(before.nodes)


def test_a_copy_reads_and_goes_on_like_its_original(backend: Backend) -> None:
    before = stored_rows(backend.saver, thread="t")
    copy(backend, "t", "u")
    assert [n.name for n in tree(backend, "u").nodes.values()] == [
        n.name for n in tree(backend, "t").nodes.values()
    ]
    ids = list(tree(backend, "t").nodes)
    assert _states(backend, ids, "u") == _states(backend, ids, "t")
    ended = backend.graph.invoke(Command(resume="yes"), continue_from(tree(backend, "u"), "b2"))
    assert ended["messages"][-1].text == "task: seen0 seen1"
    assert stored_rows(backend.saver, thread="t") == before
    with pytest.raises(HeadwayError, match="thread u exists"):
        copy(backend, "t", "u")


def test_a_removed_thread_leaves_nothing_and_the_others_alone(backend: Backend) -> None:
    others = stored_rows(backend.saver, thread="other")
    delete(backend, "t")
    assert stored_rows(backend.saver, thread="t") == {}
    assert stored_rows(backend.saver, thread="other") == others
    with pytest.raises(HeadwayError, match="no thread t"):
        delete(backend, "t")


def test_subgraphs_go_with_the_step_they_belong_to(saver: Any) -> None:
    backend = Backend(parent_graph(saver))
    for number in range(2):
        backend.graph.invoke({"messages": [HumanMessage(f"task{number}")]}, address("t"))
        if number == 0:
            backend.graph.invoke(Command(resume="yes"), address("t"))
    before = tree(backend, "t")
    tip = before.branches["main"].tip
    prune(backend, before, last_steps(before, 1))
    inner = backend.snapshot("t", tip.id, subgraphs=True).tasks[0].state
    assert texts(inner.values["messages"])[-1] == ""
    spaces = {key[3] for key in stored_rows(backend.saver, thread="t")}
    assert len(spaces) == 2
    ended = backend.graph.invoke(Command(resume="yes"), address("t"))
    assert ended["messages"][-1].text == "task1: seen0 seen1"
