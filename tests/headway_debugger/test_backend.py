"""Damaged rows, newer versions, and graphs without threads: one clear error, nothing changed."""

import sqlite3
from typing import Any

import pytest
from debugger_support import build, stored_rows
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command

from headway_debugger.backend import Backend, address
from headway_debugger.fork import Edit, fork
from headway_debugger.steps import steps
from headway_debugger.tree import resolve
from headway_debugger.views import state, tree
from headway_tools.errors import HeadwayError


@pytest.fixture
def damaged(sqlite_saver: SqliteSaver) -> Any:
    """A finished thread and a way to damage its rows."""
    graph = build(sqlite_saver)
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    graph.invoke(Command(resume="yes"), address("t"))
    return graph


def _spoil(saver: SqliteSaver, sql: str, *values: Any) -> None:
    saver.conn.execute(sql, values)
    saver.conn.commit()


@pytest.mark.parametrize("metadata", [b"{", b"[]", b"\xff\xfe"])
def test_damaged_metadata_is_named_by_its_checkpoint(damaged: Any, metadata: bytes) -> None:
    backend = Backend(damaged)
    node = resolve(tree(backend, "t"), "4")
    _spoil(
        damaged.checkpointer,
        "UPDATE checkpoints SET metadata = ? WHERE checkpoint_id = ?",
        metadata,
        node.id,
    )
    with pytest.raises(HeadwayError, match=node.id):
        tree(backend, "t")


def test_a_damaged_state_hurts_its_own_step_only(damaged: Any) -> None:
    backend = Backend(damaged)
    found = tree(backend, "t")
    node, other = resolve(found, "8"), resolve(found, "3")
    _spoil(
        damaged.checkpointer,
        "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?",
        b"\xc1broken",
        node.id,
    )
    rows = stored_rows(damaged.checkpointer)
    for read in (state, lambda *args: fork(args[0], "t", args[2])):
        with pytest.raises(HeadwayError, match=f"checkpoint {node.id} is damaged") as error:
            read(backend, found, node)
        assert "\n" not in str(error.value)
    assert stored_rows(damaged.checkpointer) == rows
    assert state(backend, tree(backend, "t"), other)["count"] == 1
    assert fork(backend, "t", other).next == ("tools",)


def test_damaged_writes_are_named_where_they_are_shown(damaged: Any) -> None:
    backend = Backend(damaged)
    found = tree(backend, "t")
    node = resolve(found, "3")
    _spoil(
        damaged.checkpointer,
        "UPDATE writes SET value = ? WHERE checkpoint_id = ?",
        b"\xc1broken",
        node.id,
    )
    with pytest.raises(HeadwayError, match=node.id):
        steps(backend, found, found.branches["main"].nodes)


def test_a_database_that_is_none_is_one_clear_error(tmp_path: Any) -> None:
    path = tmp_path / "no.sqlite"
    path.write_bytes(b"this is no database, however long it is" * 100)
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        with pytest.raises(HeadwayError, match="damaged"):
            tree(Backend(build(SqliteSaver(connection))), "t")
    finally:
        connection.close()


def test_a_busy_database_is_not_called_damaged(damaged: Any, tmp_path: Any) -> None:
    damaged.checkpointer.conn.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(tmp_path / "threads.sqlite")
    try:
        other.execute("BEGIN EXCLUSIVE")
        backend = Backend(damaged)
        with pytest.raises(HeadwayError, match="cannot edit thread t .*locked.*as it was"):
            fork(backend, "t", resolve(tree(backend, "t"), "3"))
    finally:
        other.close()


def test_an_edit_that_the_graph_cannot_take_is_one_clear_error(damaged: Any) -> None:
    backend = Backend(damaged)
    node = resolve(tree(backend, "t"), "2")
    edit = Edit({"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}, as_node="agent")
    with pytest.raises(HeadwayError, match="cannot edit thread t .IndexError"):
        fork(backend, "t", node, edit)
    with pytest.raises(HeadwayError, match="does not fit the graph: Node nobody does not exist"):
        fork(backend, "t", node, Edit({"count": 1}, as_node="nobody"))


def test_a_server_that_does_not_answer_is_named_so() -> None:
    backend = Backend(RemoteGraph("any", url="http://127.0.0.1:9"))
    with pytest.raises(HeadwayError, match="cannot read thread t .ConnectError"):
        tree(backend, "t")


def test_a_state_of_a_newer_version_is_refused(damaged: Any) -> None:
    def check(values: Any) -> None:
        if values.get("count", 0) > 2:
            raise HeadwayError("written by a newer headway: update headway")

    backend = Backend(damaged, check=check)
    found = tree(backend, "t")
    assert state(backend, found, resolve(found, "5"))["count"] == 2
    count = len(backend.rows("t"))
    for read in (state, lambda *args: fork(args[0], "t", args[2])):
        with pytest.raises(HeadwayError, match="newer headway"):
            read(backend, found, resolve(found, "8"))
    assert len(backend.rows("t")) == count


def test_a_graph_without_a_checkpointer_is_refused() -> None:
    with pytest.raises(HeadwayError, match="compile it with a checkpointer"):
        Backend(build(None))


def test_an_unknown_checkpoint_is_one_clear_error(damaged: Any) -> None:
    with pytest.raises(HeadwayError, match="thread t has no checkpoint 1f"):
        Backend(damaged).snapshot("t", "1f000000-0000-6000-8000-000000000000")
