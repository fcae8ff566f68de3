"""A thread grows with its rounds, not with their square, whatever a step adds to it."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from outputs_support import noise

from headway import Limits, build_agent
from headway.testing import PolicyModel
from policies import call

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
PAYLOAD = 200


@tool
def look(number: int) -> str:
    """A result that was not seen before."""
    return noise(number, 40_000)[: PAYLOAD - 8] + f"{number:08}"


@contextmanager
def thread(folder: Path, rounds: int) -> Iterator[tuple[Any, SqliteSaver]]:
    """A finished run of so many rounds in SQLite, and its saver."""

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        past = sum(isinstance(m, AIMessage) for m in messages)
        last_is_new = isinstance(messages[-1], HumanMessage) and past
        if past >= rounds or last_is_new:
            return AIMessage("done")
        return AIMessage("", tool_calls=[call("look", f"c{past}", number=past)])

    limits = Limits(model_calls=2_000, tool_calls=None, seconds=None)
    folder.mkdir()
    with closing(sqlite3.connect(folder / "c.sqlite", check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        agent: Any = build_agent(
            PolicyModel(policy=policy),
            tools=[look],
            checkpointer=saver,
            limits=limits,
            window=10_000_000,
            memory=True,
        )
        result = agent.invoke({"messages": [("user", "look at all")]}, CONFIG)
        assert result["outcome"]["status"] == "completed"
        assert result["outcome"]["usage"]["tool_calls"] == rounds
        yield agent, saver


def size(saver: SqliteSaver) -> int:
    """Bytes of the database file."""
    saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    saver.conn.execute("VACUUM")
    pages, page = (
        saver.conn.execute(f"PRAGMA page_{of}").fetchone()[0] for of in ("count", "size")
    )
    return int(pages * page)


def inline(saver: SqliteSaver) -> list[int]:
    """Bytes that each checkpoint holds by itself, oldest first."""
    rows = saver.conn.execute("SELECT length(checkpoint) FROM checkpoints ORDER BY checkpoint_id")
    return [int(row[0]) for row in rows]


def assert_linear(folder: Path, few: int, many: int, most: int) -> None:
    with thread(folder / "few", few) as (_, saver):
        small = size(saver)
    with thread(folder / "many", many) as (_, saver):
        large = size(saver)
        later = inline(saver)[len(inline(saver)) // 2 :]
    assert large <= most
    assert large <= 1.1 * many / few * small
    assert sorted(later)[-3] <= 5_000, "but for a full copy now and then"


def test_three_hundred_rounds_are_linear_and_small(tmp_path: Path) -> None:
    assert_linear(tmp_path, 30, 300, 7_500_000)


@pytest.mark.slow
def test_a_thousand_rounds_of_200_bytes_are_linear_and_at_most_25_megabytes(tmp_path: Path) -> None:
    assert_linear(tmp_path, 100, 1_000, 25_000_000)


def test_a_further_message_and_a_fork_cost_a_few_checkpoints(tmp_path: Path) -> None:
    with thread(tmp_path / "t", 100) as (agent, saver):
        before = size(saver)
        again = agent.invoke({"messages": [("user", "and now?")]}, CONFIG)
        resumed = size(saver)
        middle = [s for s in agent.get_state_history(CONFIG, limit=40) if s.next == ("agent",)][-1]
        forked = agent.update_state(middle.config, None, as_node="__copy__")
        end = agent.invoke(None, forked)
        after = size(saver)
        whole = len(JsonPlusSerializer().dumps_typed(again["messages"])[1])
    assert again["outcome"]["status"] == end["outcome"]["status"] == "completed"
    assert resumed - before < 100_000
    assert after - resumed < 2 * whole + 400_000


def test_a_run_that_changes_many_files_and_times_out_often_keeps_its_counters_small(
    workspace: Path, own_home: Path
) -> None:
    @tool
    def scatter(number: int) -> str:
        """Write many files, then hang."""
        for n in range(60):
            (workspace / f"{'long-name-' * 4}{n}.txt").write_text(str(number))
        time.sleep(0.3)
        return "never seen"

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        past = sum(isinstance(m, AIMessage) for m in messages)
        calls = [call("scatter", f"c{past}", number=past)] if past < 3 else []
        return AIMessage("" if calls else "done", tool_calls=calls)

    saver = InMemorySaver()
    agent: Any = build_agent(
        PolicyModel(policy=policy),
        tools=[scatter],
        checkpointer=saver,
        workspace=workspace,
        home=own_home,
        limits=Limits(tool_timeout=0.2),
    )
    result = agent.invoke({"messages": [("user", "scatter")]}, CONFIG)
    run = agent.get_state(CONFIG).values["hw_run"]
    assert len(result["outcome"]["files"]) == 60
    assert len(result["outcome"]["warnings"]) == 1
    assert len(JsonPlusSerializer().dumps_typed(run)[1]) < 3_000
