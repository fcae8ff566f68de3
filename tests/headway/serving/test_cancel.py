"""Cancelled runs and runs that meet: commands are gone, the thread goes on, files are noticed."""

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError
from serving_support import Served, task

Strategy = Literal["interrupt", "rollback", "enqueue"]


def running(mark: str) -> list[str]:
    """Processes of this machine whose command line holds `mark`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if line.startswith("sleep") and mark in line:
            found.append(line)
    return found


async def until(condition: Any) -> None:
    """Wait for `condition()`, at most some 20 seconds."""
    for _ in range(400):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not happen")


class Sleeper:
    """A run that makes a file and then sleeps in a command."""

    def __init__(self, client: LangGraphClient, served: Served, thread: str) -> None:
        self.client, self.thread = client, thread
        self.file = served.workspace(thread) / "half"
        self.seconds = f"{3000 + int(thread[-6:], 16) / 1e8:.8f}"

    async def start(self) -> str:
        run = await self.client.runs.create(
            self.thread, "headway", input=task(f"bash: touch half; sleep {self.seconds}", "say: no")
        )
        await until(lambda: self.file.exists() and running(self.seconds))
        return run["run_id"]

    async def gone(self) -> None:
        await until(lambda: not running(self.seconds))


@pytest.fixture
async def sleeper(client: LangGraphClient, served: Served, thread: str) -> Sleeper:
    """On a thread that has finished a first run."""
    await client.runs.wait(thread, "headway", input=task("say: first"))
    return Sleeper(client, served, thread)


def texts(values: Any) -> list[str]:
    return [str(message["content"]) for message in values["messages"]]


@pytest.mark.parametrize("action", ["interrupt", "rollback"])
async def test_a_cancelled_runs_command_is_gone_and_the_thread_goes_on(
    client: LangGraphClient, served: Served, sleeper: Sleeper, action: Any
) -> None:
    run = await sleeper.start()
    await client.runs.cancel(sleeper.thread, run, wait=True, action=action)
    await sleeper.gone()
    values: Any = await client.runs.wait(sleeper.thread, "headway", input=task("say: next"))
    assert texts(values)[-1] == "next"
    told = str(served.model.requests[-1].messages)
    if action == "interrupt":
        assert any("interrupted: no result recorded" in text for text in texts(values))
    else:
        assert not any("sleep" in text for text in texts(values)), "the run's messages are gone"
    assert "changed from outside: half" in told, "its file is not, and the model is told"


async def test_a_cancelled_run_continues_without_repeating_its_call(
    client: LangGraphClient, served: Served, sleeper: Sleeper
) -> None:
    run = await sleeper.start()
    await client.runs.cancel(sleeper.thread, run, wait=True)
    sleeper.file.unlink()
    values: Any = await client.runs.wait(sleeper.thread, "headway", input=None)
    assert values["outcome"]["status"] == "completed"
    assert any("it may have run" in text for text in texts(values))
    assert not sleeper.file.exists()


async def test_a_run_that_is_rejected_changes_nothing(
    client: LangGraphClient, sleeper: Sleeper
) -> None:
    run = await sleeper.start()
    with pytest.raises(ConflictError):
        await client.runs.create(
            sleeper.thread, "headway", input=task("say: b"), multitask_strategy="reject"
        )
    assert running(sleeper.seconds)
    await client.runs.cancel(sleeper.thread, run, wait=True)
    await sleeper.gone()


async def test_a_run_that_is_enqueued_comes_second(
    client: LangGraphClient, served: Served, thread: str
) -> None:
    first = await client.runs.create(
        thread, "headway", input=task("bash: sleep 1; echo a >> log", "say: one")
    )
    await client.runs.wait(
        thread,
        "headway",
        input=task("bash: echo b >> log", "say: two"),
        multitask_strategy="enqueue",
    )
    assert (await client.runs.get(thread, first["run_id"]))["status"] == "success"
    assert (served.workspace(thread) / "log").read_text() == "a\nb\n"


@pytest.mark.parametrize("strategy", ["interrupt", "rollback"])
async def test_a_run_that_takes_the_place_of_another_knows_what_it_left(
    client: LangGraphClient, served: Served, sleeper: Sleeper, strategy: Any
) -> None:
    await sleeper.start()
    values: Any = await client.runs.wait(
        sleeper.thread, "headway", input=task("say: second"), multitask_strategy=strategy
    )
    await sleeper.gone()
    assert (texts(values)[-1], values["outcome"]["status"]) == ("second", "completed")
    assert "changed from outside: half" in str(served.model.requests[-1].messages)
    calls = [c["id"] for m in values["messages"] for c in m.get("tool_calls") or ()]
    answers = [m["tool_call_id"] for m in values["messages"] if m["type"] == "tool"]
    assert answers == calls
    assert len(calls) == (1 if strategy == "interrupt" else 0)


async def test_files_of_a_first_run_that_was_rolled_back_are_noticed(
    client: LangGraphClient, served: Served, thread: str
) -> None:
    sleeper = Sleeper(client, served, thread)
    run = await sleeper.start()
    await client.runs.cancel(thread, run, wait=True, action="rollback")
    await client.runs.wait(thread, "headway", input=task("say: new"))
    assert "no longer part of this conversation: half" in str(served.model.requests[-1].messages)
