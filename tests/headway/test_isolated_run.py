"""Isolated tools in a run: ended at the tool's time, with no word of something left running."""

import asyncio
import json
from pathlib import Path

import pytest
from isolated_support import all_gone, sleeps
from isolated_tools import doubled

from headway import Limits, Outcome, arun_agent, run_agent
from headway.run import Control, astream_agent
from headway_tools.kinds import declare
from policies import call, replies


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_result_is_an_observation(how: str) -> None:
    tools = [declare(doubled, "read", isolated=True)]
    model = replies(call("doubled", number=4), "8")
    if how == "sync":
        result = run_agent("x", model=model, tools=tools)
    else:
        result = asyncio.run(arun_agent("x", model=model, tools=tools))
    assert json.loads(result.steps[0].observation or "") == {"result": 8}


def test_one_that_never_returns_is_killed_and_the_run_goes_on(tmp_path: Path) -> None:
    model = replies(call("sleeps", marker=str(tmp_path / "pids")), "gave up")
    result = run_agent(
        "x",
        model=model,
        tools=[declare(sleeps, isolated=True)],
        limits=Limits(tool_timeout=1),
    )
    assert (result.status, result.warnings) == ("completed", [])
    told = json.loads(result.steps[0].observation or "")
    assert told["error"] == "timeout"
    assert "killed" in told["message"]


async def test_a_stop_kills_it_at_once(tmp_path: Path) -> None:
    marker, control = tmp_path / "pids", Control()
    model = replies(call("sleeps", marker=str(marker)), "never")

    async def stop_when_started() -> None:
        while not marker.exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        control.now()

    waiter = asyncio.create_task(stop_when_started())
    result: Outcome | None = None
    tools = [declare(sleeps, isolated=True)]
    async for event in astream_agent("x", model=model, tools=tools, control=control):
        if event["type"] == "end":
            result = Outcome.model_validate(event["outcome"])
    await waiter
    assert result
    assert result.status == "cancelled"
    assert all_gone(marker)
