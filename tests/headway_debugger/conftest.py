"""Small scripted graphs over every saver that needs no server."""

import os
import sqlite3
import uuid
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


@pytest.fixture
def postgres_saver() -> Iterator[BaseCheckpointSaver[Any]]:
    """A database of its own on the server that `.ci/services` starts."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    server, name = os.environ["HEADWAY_TEST_POSTGRES"], f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    with PostgresSaver.from_conn_string(f"{server.rpartition('/')[0]}/{name}") as saver:
        saver.setup()
        yield saver
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def saver(request: pytest.FixtureRequest) -> BaseCheckpointSaver[Any]:
    if request.param == "memory":
        return InMemorySaver()
    return request.getfixturevalue(f"{request.param}_saver")  # type: ignore[no-any-return]


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
