"""Small scripted graphs over every saver that needs no server."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from debugger_support import Delta, Plain, build
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command


@pytest.fixture
def sqlite_saver(tmp_path: Any) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "threads.sqlite", check_same_thread=False)
    connection.execute("PRAGMA synchronous = OFF")
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, sqlite_saver: SqliteSaver) -> BaseCheckpointSaver[Any]:
    return InMemorySaver() if request.param == "memory" else sqlite_saver


@pytest.fixture
def graph(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Every kind of saver, both kinds of messages channel."""
    return build(saver, Plain if isinstance(saver, InMemorySaver) else Delta)


@pytest.fixture
def finished(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Any:
    """A graph whose thread `t` asked once, was answered, and ended."""
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("task", id="h1")]}, config)
    graph.invoke(Command(resume="yes"), config)
    return graph
