"""Two runs on one thread: one works, the other is told; nothing runs twice."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from headway import build_agent
from headway.build import Agent
from headway.testing import PolicyModel
from headway_tools.errors import HeadwayError
from headway_tools.leases import Overtaken
from policies import bash, replies

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}
GO: Any = {"messages": [("user", "go")]}


def logging_agent(workspace: Path, seconds: float) -> Agent:
    model = replies(bash(f"sleep {seconds}; echo x >> log", "c1"), "done")
    return build_agent(model, workspace=workspace, checkpointer=InMemorySaver())


async def test_of_two_runs_at_once_one_works_and_one_is_refused(workspace: Path) -> None:
    agent = logging_agent(workspace, 5)
    first = asyncio.create_task(agent.ainvoke(GO, CONFIG))
    await asyncio.sleep(1)
    with pytest.raises(HeadwayError, match="this thread is busy"):
        await agent.ainvoke(GO, CONFIG)
    assert (await first)["outcome"]["status"] == "completed"
    assert (workspace / "log").read_text() == "x\n"


async def test_a_cancelled_run_leaves_the_thread_free(workspace: Path) -> None:
    agent = logging_agent(workspace, 3000)
    first = asyncio.create_task(agent.ainvoke(GO, CONFIG))
    await asyncio.sleep(1)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    values = await agent.ainvoke({"messages": [("user", "again")]}, CONFIG)  # type: ignore[call-overload]
    assert values["outcome"]["status"] == "completed"


def test_two_agents_of_one_parent_are_one_run(workspace: Path) -> None:
    """They have the parent's thread, and both work."""
    from langgraph.graph import START, MessagesState, StateGraph

    parent = StateGraph(MessagesState)
    for name in ("one", "two"):
        agent = build_agent(replies(bash("sleep 1", name), "done"), workspace=workspace, name=name)
        parent.add_node(name, agent)
        parent.add_edge(START, name)
    graph = parent.compile(checkpointer=InMemorySaver())
    names = [message.name for message in graph.invoke(GO, CONFIG)["messages"]]
    assert {"one", "two"} <= set(names)


def test_a_run_that_was_overtaken_writes_nothing_more(workspace: Path, own_home: Path) -> None:
    """The first run's model waits while its lease is lost; its reply is not written."""
    waiting, go_on = threading.Event(), threading.Event()

    def policy(messages: list[BaseMessage], tools: list[Any]) -> AIMessage:
        waiting.set()
        go_on.wait(60)
        return AIMessage("late")

    saver = InMemorySaver()
    slow = build_agent(PolicyModel(policy=policy), workspace=workspace, checkpointer=saver)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            slow.invoke(GO, CONFIG)
        except Overtaken as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    waiting.wait(60)
    quick = build_agent(replies("quick"), workspace=workspace, checkpointer=saver)
    (own_home / "threads" / "t" / "locks" / "main.lease").write_text("")
    quick.invoke({"messages": [("user", "second")]}, CONFIG)  # type: ignore[call-overload]
    go_on.set()
    thread.join()
    assert len(errors) == 1
    texts = [str(m.text) for m in quick.get_state(CONFIG).values["messages"]]
    assert texts == ["go", "second", "quick"]
