"""Differences between checkpoints, named by the first step that differs."""

from typing import Any

import pytest
from debugger_support import build, texts
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from headway_debugger.backend import Backend, address
from headway_debugger.compare import MISSING, Side, diff, first_difference, state_difference
from headway_debugger.edits import result_edit
from headway_debugger.fork import fork
from headway_debugger.steps import Tokens
from headway_debugger.tree import resolve
from headway_debugger.views import tree


def _side(backend: Backend, step: str, thread: str = "t") -> Side:
    found = tree(backend, thread)
    return Side(found, resolve(found, step))


def test_a_branch_differs_from_its_original_at_the_edited_step(finished: Any) -> None:
    backend = Backend(finished)
    values = backend.snapshot("t", resolve(tree(backend, "t"), "7").id).values
    made = fork(backend, "t", resolve(tree(backend, "t"), "7"), result_edit(values, "", "changed"))
    finished.invoke(None, address("t", made.head))
    found = diff(backend, _side(backend, "main"), _side(backend, "b2"))
    assert found.first is not None
    assert [node and node.name for node in found.first] == ["7", "b2.8"]
    assert found.same_messages == 4
    assert texts(list(found.messages[0])) == ["seen1", "task: seen0 seen1"]
    assert texts(list(found.messages[1])) == ["changed", "task: seen0 changed"]
    assert found.status == ("ended", "ended")
    assert not found.same


@pytest.mark.parametrize("step", ["0", "3", "5", "8"])
def test_a_plain_fork_run_again_differs_in_nothing(finished: Any, step: str) -> None:
    backend = Backend(finished)
    made = fork(backend, "t", resolve(tree(backend, "t"), step))
    finished.invoke(None, address("t", made.head))
    waiting = tree(backend, "t").branches["b2"].tip
    if "interrupt" in waiting.marks:
        finished.invoke(Command(resume="yes"), address("t", waiting.id))
    found = diff(backend, _side(backend, "main"), _side(backend, "b2"))
    assert found.same
    assert found.tokens == (Tokens(90, 15), Tokens(90, 15))


def test_the_same_task_in_two_threads_of_two_savers_is_the_same(finished: Any) -> None:
    backend = Backend(finished)
    graph = build(InMemorySaver())
    graph.invoke({"messages": [HumanMessage("task")]}, address("u"))
    graph.invoke(Command(resume="yes"), address("u"))
    other = Backend(graph)
    found = diff(backend, _side(backend, "main"), _side(other, "main", "u"), other=other)
    assert found.same


def test_a_line_that_ended_before_has_no_step_there(finished: Any) -> None:
    backend = Backend(finished)
    first = first_difference(backend, _side(backend, "5"), _side(backend, "main"))
    assert first is not None
    assert first[0] is None
    assert first[1] is not None
    assert first[1].name == "6"


def test_plain_channels_are_shown_with_both_values() -> None:
    found = state_difference(
        {"a": 1, "b": [1], "c": 3, "m": 0}, {"a": 2, "b": [1], "d": 4, "m": 1}, leave_out={"m"}
    )
    assert found == {"a": (1, 2), "c": (3, MISSING), "d": (MISSING, 4)}


def test_files_are_compared_by_the_snapshots_that_the_states_name(tmp_path: Any) -> None:
    from debugger_support import file_graph

    class Store:
        def diff(self, before: str, after: str) -> list[str]:
            return [f"{before}→{after}"]

        def patch(self, before: str, after: str) -> str:
            return "patch"

    backend = Backend(file_graph(InMemorySaver()))
    backend.graph.invoke({"hw_files": "s0"}, address("t"))
    found = diff(backend, _side(backend, "1"), _side(backend, "main"), files=Store())
    assert found.files == ["s0→s1"]
    assert found.patch == "patch"
    assert "hw_files" not in found.state
    same = diff(backend, _side(backend, "main"), _side(backend, "main"), files=Store())
    assert same.files is None
    assert same.same


def test_a_reply_differs_by_its_calls_but_not_by_ids() -> None:
    from headway_debugger.compare import message_signature

    def reply(call_id: str, at: int, message_id: str) -> AIMessage:
        call = {"name": "look", "args": {"at": at}, "id": call_id}
        return AIMessage("", tool_calls=[call], id=message_id)

    assert message_signature(reply("1", 0, "a")) == message_signature(reply("2", 0, "b"))
    assert message_signature(reply("1", 0, "a")) != message_signature(reply("1", 1, "a"))
    good = ToolMessage("x", tool_call_id="1")
    bad = ToolMessage("x", tool_call_id="1", status="error")
    assert message_signature(good) != message_signature(bad)
