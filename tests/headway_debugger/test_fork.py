"""Forks: valid from every checkpoint, the original's rows untouched."""

from typing import Any

import pytest
from debugger_support import Delta, OnlyMessages, build, stored_rows, texts
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from headway_debugger.backend import Backend, address
from headway_debugger.edits import human_edit, reply_edit, together, value_edit
from headway_debugger.fork import Edit, continue_from, fork
from headway_debugger.tree import resolve
from headway_debugger.views import tree
from headway_tools.errors import HeadwayError

STEPS = [str(step) for step in range(9)]


@pytest.mark.parametrize("step", STEPS)
def test_a_fork_has_the_state_and_the_next_nodes_of_its_original(finished: Any, step: str) -> None:
    backend = Backend(finished)
    node = resolve(tree(backend, "t"), step)
    made = fork(backend, "t", node)
    original, copy = backend.snapshot("t", node.id), backend.snapshot("t", made.head)
    assert copy.values == original.values
    assert made.next == tuple(original.next) == tuple(copy.next)


def test_no_fork_run_or_edit_changes_a_row_of_the_original(finished: Any) -> None:
    backend = Backend(finished)
    before = stored_rows(finished.checkpointer)
    for node in list(tree(backend, "t").nodes.values()):
        new_task = Edit({"messages": [HumanMessage("other", id="h1")]})
        for edit in (None, new_task):
            made = fork(backend, "t", node, edit)
            finished.invoke(None, address("t", made.head))
    after = stored_rows(finished.checkpointer)
    assert {key: after[key] for key in before} == before
    assert not {key for key in after if key[1] in {k[1] for k in before}} - set(before)


def test_an_unfinished_tip_keeps_its_own_future_after_an_edited_fork(graph: Any) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("task", id="h1")]}, config)
    backend = Backend(graph)
    tip = resolve(tree(backend, "t"), "main")
    fork(backend, "t", tip, Edit({"messages": [HumanMessage("other", id="h1")]}))
    result = graph.invoke(Command(resume="yes"), continue_from(tree(backend, "t"), "main"))
    assert texts(result["messages"])[-1] == "task: seen0 seen1"


def test_an_answered_question_is_asked_again_and_the_new_answer_counts(finished: Any) -> None:
    backend = Backend(finished)
    node = resolve(tree(backend, "t"), "5")
    assert "answer" in node.marks
    made = fork(backend, "t", node)
    asked = finished.invoke(None, address("t", made.head))
    assert [i.value for i in asked["__interrupt__"]] == [{"call": "c3"}]
    result = finished.invoke(Command(resume="no"), continue_from(tree(backend, "t"), "b2"))
    assert "refused" in texts(result["messages"])
    assert texts(backend.snapshot("t", resolve(tree(backend, "t"), "main").id).values["messages"])[
        -1
    ] == ("task: seen0 seen1")


@pytest.mark.parametrize("first", ["main", "b2"])
def test_two_waiting_branches_get_their_own_answers_in_either_order(graph: Any, first: str) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("task", id="h1")]}, config)
    backend = Backend(graph)
    made = fork(backend, "t", resolve(tree(backend, "t"), "5"))
    graph.invoke(None, address("t", made.head))
    answers = {"main": "yes", "b2": "no"}
    for branch in (first, *({"main", "b2"} - {first})):
        graph.invoke(Command(resume=answers[branch]), continue_from(tree(backend, "t"), branch))
    shown = {
        name: texts(backend.snapshot("t", branch.tip.id).values["messages"])
        for name, branch in tree(backend, "t").branches.items()
    }
    assert shown["main"] == ["task", "", "seen0", "", "seen1", "task: seen0 seen1"]
    assert shown["b2"][:5] == ["task", "", "seen0", "", "refused"]


def test_a_changed_result_is_what_the_branch_goes_on_from(finished: Any) -> None:
    backend = Backend(finished)
    node = resolve(tree(backend, "t"), "7")
    result = backend.snapshot("t", node.id).values["messages"][-1]
    assert isinstance(result, ToolMessage)
    changed = result.model_copy(update={"content": "changed"})
    made = fork(backend, "t", node, Edit({"messages": [changed]}))
    assert made.next == ("agent",)
    ended = finished.invoke(None, address("t", made.head))
    assert ended["messages"][-1].text == "task: seen0 changed"


def test_an_edit_behind_a_node_that_chose_by_command_keeps_the_next_node(finished: Any) -> None:
    backend = Backend(finished)
    node = resolve(tree(backend, "t"), "6")
    assert node.writers == ("approve",)
    made = fork(backend, "t", node, Edit({"messages": [HumanMessage("other", id="h1")]}))
    assert made.next == ("tools",)
    ended = finished.invoke(None, address("t", made.head))
    assert ended["messages"][-1].text == "other: seen0 seen1"


def test_an_edited_reply_is_routed_anew(finished: Any) -> None:
    backend = Backend(finished)
    node = resolve(tree(backend, "t"), "2")
    reply = backend.snapshot("t", node.id).values["messages"][-1]
    values = backend.snapshot("t", node.id).values
    made = fork(backend, "t", node, reply_edit(values, AIMessage("done")))
    assert made.next == ()
    assert backend.snapshot("t", made.head).values["messages"][-1].id == reply.id


def test_the_task_changed_at_the_very_start_keeps_the_rest_of_the_input(graph: Any) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("task", id="h1")], "count": 40}, config)
    backend = Backend(graph)
    node = resolve(tree(backend, "t"), "0")
    made = fork(backend, "t", node, Edit({"messages": [HumanMessage("other", id="h1")]}))
    graph.invoke(None, address("t", made.head))
    ended = graph.invoke(Command(resume="yes"), continue_from(tree(backend, "t"), "b2"))
    assert ended["messages"][-1].text == "other: seen0 seen1"
    assert ended["count"] == 43


def test_a_message_put_after_the_end_starts_a_new_run(finished: Any) -> None:
    backend = Backend(finished)
    edit = Edit({"messages": [HumanMessage("again", id="h2")]}, as_node="__start__")
    made = fork(backend, "t", resolve(tree(backend, "t"), "main"), edit)
    assert made.next == ("agent",)
    asked = finished.invoke(None, address("t", made.head))
    assert asked["messages"][-1].tool_calls


@pytest.mark.parametrize("step", STEPS)
def test_a_plain_value_is_set_without_changing_what_runs_next(finished: Any, step: str) -> None:
    backend = Backend(finished)
    node = resolve(tree(backend, "t"), step)
    expected = tuple(backend.snapshot("t", node.id).next)
    made = fork(backend, "t", node, value_edit("count", 100))
    again = fork(backend, "t", tree(backend, "t").nodes[made.head])
    assert made.next == again.next == expected
    for head in (made.head, again.head):
        assert backend.snapshot("t", head).values["count"] == 100
    if expected:
        finished.invoke(None, address("t", made.head))
        tip = tree(backend, "t").branches["b2"].tip
        assert backend.snapshot("t", tip.id).values["count"] >= 100


def test_a_new_message_and_a_value_the_input_cannot_carry_go_in_together(saver: Any) -> None:
    graph = build(saver, Delta, input_schema=OnlyMessages)
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    backend = Backend(graph)
    edit = together([human_edit("more"), value_edit("count", 50)])
    for step in ("0", "1", "main"):
        made = fork(backend, "t", resolve(tree(backend, "t"), step), edit)
        assert made.next == ("agent",)
        values = backend.snapshot("t", made.head).values
        assert (values["messages"][-1].text, values["count"]) == ("more", 50)
        assert graph.invoke(None, address("t", made.head))["count"] > 50


def test_a_value_that_is_part_of_the_input_replaces_it(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage("task")], "count": 40}, address("t"))
    backend = Backend(graph)
    made = fork(backend, "t", resolve(tree(backend, "t"), "0"), value_edit("count", 7))
    assert graph.invoke(None, address("t", made.head))["count"] == 9


def test_an_edit_without_a_known_writer_wants_as_node_and_writes_nothing(finished: Any) -> None:
    backend = Backend(finished)
    config = finished.update_state(address("t"), {"count": 1}, as_node="agent")
    node = tree(backend, "t").nodes[config["configurable"]["checkpoint_id"]]
    count = len(backend.rows("t"))
    with pytest.raises(HeadwayError, match="as_node"):
        fork(backend, "t", node, Edit({"messages": [HumanMessage("x")]}, reroute=True))
    assert len(backend.rows("t")) == count


def test_an_unknown_branch_is_named_with_those_that_exist(finished: Any) -> None:
    with pytest.raises(HeadwayError, match="no branch b7: it has main"):
        continue_from(tree(Backend(finished), "t"), "b7")
