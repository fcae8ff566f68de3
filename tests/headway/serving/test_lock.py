"""A run of another process on a served thread meets headway's own lock."""

import asyncio
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient
from serving_support import Served, task

from headway import build_agent
from headway_tools.errors import HeadwayError
from policies import bash, replies


async def test_another_process_is_refused_while_a_served_run_works(
    client: LangGraphClient, served: Served, thread: str
) -> None:
    agent = build_agent(
        replies(bash("echo second >> log"), "done"),
        home=served.home,
        workspace_root=served.home / "workspaces",
    )
    config: Any = {"configurable": {"thread_id": thread}}
    run = await client.runs.create(thread, "headway", input=task("bash: sleep 3000", "say: no"))
    lease = served.home / "threads" / thread / "locks" / "main.lease"
    while not lease.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.05)
    with pytest.raises(HeadwayError, match="this thread is busy"):
        await agent.ainvoke({"messages": [("user", "go")]}, config)  # type: ignore[call-overload]
    await client.runs.cancel(thread, run["run_id"], wait=True)
    values = await agent.ainvoke({"messages": [("user", "go")]}, config)  # type: ignore[call-overload]
    assert values["outcome"]["status"] == "completed"
    assert (served.workspace(thread) / "log").read_text() == "second\n"
