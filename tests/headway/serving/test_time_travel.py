"""Every verb of time travel over the SDK: history, fork, replay, update."""

from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient
from serving_support import Served, task

NODES = ["__start__", "enter", "agent", "tools", "progress", "truncate", "agent", "verify"]


@pytest.fixture
async def history(client: LangGraphClient, thread: str) -> list[Any]:
    """The states of a finished run, the oldest first."""
    await client.runs.wait(thread, "headway", input=task("bash: echo 1 >> log", "say: one"))
    return list(reversed(await client.threads.get_history(thread, limit=100)))


def at(history: list[Any], node: str) -> Any:
    """The first state behind which `node` comes next."""
    return next(state for state in history if state["next"] == [node])


async def test_history_has_a_state_before_each_node_and_nothing_raw(history: list[Any]) -> None:
    assert [state["next"] for state in history] == [[node] for node in NODES] + [[]]
    parents = [state["parent_checkpoint"] for state in history]
    assert parents[0] is None
    assert [p["checkpoint_id"] for p in parents[1:]] == [
        state["checkpoint"]["checkpoint_id"] for state in history[:-1]
    ]


async def test_a_fork_with_another_task_runs_beside_the_original(
    client: LangGraphClient, served: Served, thread: str, history: list[Any]
) -> None:
    first = history[1]
    message = {**first["values"]["messages"][0], "content": "bash: echo 2 >> log\nsay: two"}
    fork: Any = await client.threads.update_state(
        thread, {"messages": [message]}, checkpoint=first["checkpoint"], as_node="__start__"
    )
    values: Any = await client.runs.wait(
        thread, "headway", input=None, checkpoint_id=fork["checkpoint"]["checkpoint_id"]
    )
    assert values["messages"][-1]["content"] == "two"
    assert (served.workspace(thread) / "log").read_text() == "1\n2\n"
    states = await client.threads.get_history(thread, limit=100)
    known = {state["checkpoint"]["checkpoint_id"]: state for state in states}
    original = known[history[-1]["checkpoint"]["checkpoint_id"]]
    assert original["values"]["messages"][-1]["content"] == "one"


async def test_a_replay_runs_again_from_that_state_on(
    client: LangGraphClient, served: Served, thread: str, history: list[Any]
) -> None:
    before = at(history, "tools")["checkpoint"]["checkpoint_id"]
    values: Any = await client.runs.wait(thread, "headway", input=None, checkpoint_id=before)
    assert values["outcome"]["status"] == "completed"
    assert (served.workspace(thread) / "log").read_text() == "1\n1\n", "a new branch runs its own"


async def test_an_edited_call_runs_instead_of_the_models(
    client: LangGraphClient, served: Served, thread: str, history: list[Any]
) -> None:
    state = at(history, "tools")
    message = dict(state["values"]["messages"][-1])
    (call,) = message["tool_calls"]
    message["tool_calls"] = [{**call, "args": {"command": "echo edited >> log"}}]
    fork: Any = await client.threads.update_state(
        thread, {"messages": [message]}, checkpoint=state["checkpoint"], as_node="agent"
    )
    values: Any = await client.runs.wait(
        thread, "headway", input=None, checkpoint_id=fork["checkpoint"]["checkpoint_id"]
    )
    assert values["messages"][2]["tool_call_id"] == call["id"]
    assert (served.workspace(thread) / "log").read_text() == "1\nedited\n"


async def test_new_input_at_an_old_state_says_that_the_files_differ(
    client: LangGraphClient, served: Served, thread: str, history: list[Any]
) -> None:
    before = at(history, "tools")["checkpoint"]["checkpoint_id"]
    await client.runs.wait(thread, "headway", input=task("say: noticed"), checkpoint_id=before)
    told = str(served.model.requests[-1].messages)
    assert "changed from outside: log" in told
    assert "interrupted: no result recorded" in told, "the call of that state is closed"


async def test_a_copied_thread_has_its_own_files(
    client: LangGraphClient, served: Served, thread: str, history: list[Any]
) -> None:
    copied: Any = await client.threads.copy(thread)
    if copied is None:
        copied = (await client.threads.search(limit=1))[0]
    other = copied["thread_id"]
    values: Any = await client.runs.wait(
        other, "headway", input=task("bash: cat log; ls", "say: looked")
    )
    assert values["outcome"]["status"] == "completed"
    assert (served.workspace(thread) / "log").read_text() == "1\n"
    assert not (served.workspace(other) / "log").exists()
