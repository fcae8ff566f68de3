"""What a page of steps shows."""

import sqlite3
from typing import Any

import pytest
from debugger_support import Delta, build, chain
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from headway_debugger.backend import Backend, address
from headway_debugger.fork import fork
from headway_debugger.steps import Tokens, steps
from headway_debugger.tree import resolve
from headway_debugger.views import request, state, tree
from headway_tools.errors import HeadwayError


def test_a_step_shows_tools_tokens_and_seconds(finished: Any) -> None:
    backend = Backend(finished)
    found = tree(backend, "t")
    page = steps(backend, found, found.branches["main"].nodes)
    assert [step.tools for step in page] == [
        (), (), ("look",), (), ("look",), ("look",), (), ("look",), ()
    ]  # fmt: skip
    assert page[2].tokens == Tokens(10, 5)
    assert page[4].tokens == Tokens()
    assert page[0].seconds is None
    assert all(step.seconds is not None and step.seconds >= 0 for step in page[1:])
    assert [step.status for step in page] == ["done"] * 8 + ["ended"]
    assert page[8].next == ()


def test_a_copy_shows_nothing_as_its_own_work(finished: Any) -> None:
    backend = Backend(finished)
    fork(backend, "t", resolve(tree(backend, "t"), "5"))
    found = tree(backend, "t")
    (step,) = steps(backend, found, found.branches["b2"].nodes)
    assert (step.messages, step.seconds, step.next) == ((), None, ("approve",))
    assert step.status == "unfinished"


def test_a_waiting_question_and_a_failed_node_are_told_apart(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    backend = Backend(graph)
    found = tree(backend, "t")
    assert steps(backend, found, found.branches["main"].nodes[-1:])[0].status == "waiting"
    with pytest.raises(ValueError, match="empty"):
        graph.invoke({"messages": []}, address("empty"))
    found = tree(backend, "empty")
    assert steps(backend, found, found.branches["main"].nodes[-1:])[0].status == "failed"


def test_an_error_of_a_tool_is_shown_on_its_step(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    backend = Backend(graph)
    tip = tree(backend, "t").branches["main"].tip
    failed = ToolMessage("no", name="look", tool_call_id="c3", status="error")
    graph.update_state(address("t", tip.id), {"messages": [failed]}, as_node="tools")
    graph.invoke(None, address("t"))
    found = tree(backend, "t")
    statuses = [step.status for step in steps(backend, found, found.branches["main"].nodes)]
    assert statuses.count("tool_error") == 1


def test_the_slow_path_shows_the_same_steps(finished: Any) -> None:
    backend = Backend(finished)
    found = tree(backend, "t")
    nodes = found.branches["main"].nodes
    fast = steps(backend, found, nodes)
    backend._rows = None
    assert [(s.tools, s.tokens, s.next) for s in steps(backend, found, nodes)] == [
        (s.tools, s.tokens, s.next) for s in fast
    ]


def test_the_request_is_built_from_what_the_model_saw(finished: Any) -> None:
    backend = Backend(finished)
    found = tree(backend, "t")

    def build_request(values: Any) -> list[str]:
        return [message.text for message in values["messages"]]

    before = request(backend, found, resolve(found, "4"), build_request)
    after = request(backend, found, resolve(found, "5"), build_request)
    assert before == after == ["task", "", "seen0"]
    with pytest.raises(HeadwayError, match="step 3 asked no model"):
        request(backend, found, resolve(found, "3"), build_request)


def test_the_state_of_a_step_is_the_state_then(finished: Any) -> None:
    backend = Backend(finished)
    found = tree(backend, "t")
    assert [state(backend, found, resolve(found, s)).get("count") for s in "1258"] == [
        None, 1, 2, 3
    ]  # fmt: skip


def test_the_last_page_of_3000_checkpoints_reads_only_its_own_messages() -> None:
    """Rows of the whole thread, but values of the page alone are decoded."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        saver = _Counting(connection)
        chain(saver, 3000)
        saver.loads = 0
        backend = Backend(build(saver, Delta))
        found = tree(backend, "t")
        assert len(found.nodes) == 3000
        assert saver.loads == 0
        page = steps(backend, found, found.branches["main"].nodes[-51:-1])
        assert [len(step.messages) for step in page] == [1] * 50
        assert saver.loads <= 60
    finally:
        connection.close()


class _Counting(SqliteSaver):
    """Counts what is decoded."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.loads = 0
        self.serde = _CountingSerde(self, self.serde)  # type: ignore[assignment]


class _CountingSerde:
    def __init__(self, owner: _Counting, inner: Any) -> None:
        self.owner, self.inner = owner, inner

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return self.inner.dumps_typed(value)  # type: ignore[no-any-return]

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        self.owner.loads += 1
        return self.inner.loads_typed(data)


def test_async_savers_are_read_from_a_thread(tmp_path: Any) -> None:
    import asyncio

    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async def run() -> tuple[list[str], list[str]]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.sqlite")) as saver:
            graph = build(saver)
            await graph.ainvoke({"messages": [HumanMessage("task")]}, address("t"))
            await graph.ainvoke(Command(resume="yes"), address("t"))
            backend = Backend(graph)
            found = await asyncio.to_thread(tree, backend, "t")
            made = await asyncio.to_thread(fork, backend, "t", resolve(found, "5"))
            await graph.ainvoke(None, address("t", made.head))
            found = await asyncio.to_thread(tree, backend, "t")
            return [n.name for n in found.branches["main"].nodes], list(found.branches)

    names, branches = asyncio.run(run())
    assert names == [str(n) for n in range(9)]
    assert branches == ["main", "b2"]
