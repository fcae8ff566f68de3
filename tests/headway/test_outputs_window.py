"""Long runs in a small window, and what the requests have in common."""

import json
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from outputs_support import ASK, CONFIG, big, served, texts

from headway import Limits, build_agent, run_agent
from headway.testing import PolicyModel
from openai_server import OpenAIServer, calls, says
from policies import call, replies


@pytest.mark.parametrize(
    ("steps", "size", "window"),
    [
        (40, 2_000, 8_000),
        (30, 100_000, 8_000),
        pytest.param(100, 100_000, 8_000, marks=pytest.mark.slow),
    ],
)
def test_long_runs_finish_in_a_small_window_and_each_request_holds_the_exact_task(
    steps: int, size: int, window: int
) -> None:
    task = "Look at every number.\n\n  Keep data/ as it is; say 'done' at the end.  " * 3
    requests: list[list[BaseMessage]] = []
    notes: list[str] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        requests.append(messages)
        if len(requests) > steps:
            return AIMessage("done")
        number = len(requests)
        return AIMessage("", tool_calls=[call("big", f"c{number}", number=number, size=size)])

    agent: Any = build_agent(
        PolicyModel(policy=policy),
        tools=[big],
        window=window,
        checkpointer=InMemorySaver(),
        limits=Limits(model_calls=steps + 2),
    )
    for kind, part in agent.stream(
        {"messages": [("user", task)]}, CONFIG, stream_mode=["custom", "values"]
    ):
        if kind == "custom" and part["type"] == "note" and part["about"] == "context":
            notes.append(part["text"])
    state = agent.get_state(CONFIG).values

    assert state["outcome"]["status"] == "completed"
    assert len(requests) == steps + 1
    assert all(task in [m.content for m in request] for request in requests)
    assert all(size_of(request) < 3 * window for request in requests)
    assert len(notes) == state["hw_window"]["step"]
    assert 0 < len(notes) < steps / 3
    assert len(texts(state)) == steps, "history keeps what the model saw"


def size_of(request: list[BaseMessage]) -> int:
    """Characters; three for a token is on the safe side."""
    return sum(len(str(m.content)) + len(str(getattr(m, "tool_calls", ""))) for m in request)


def test_each_request_begins_with_the_bytes_of_the_one_before_over_forty_steps() -> None:
    script = [calls("big", f"c{n}", number=n, size=2_000) for n in range(40)]
    with OpenAIServer([*script, says("done")]) as server:
        result = served(server, memory=True).invoke(ASK)
    assert result["outcome"]["status"] == "completed"
    assert len(server.requests) == 41
    bodies = [[json.dumps(m) for m in request.messages] for request in server.requests]
    heads = [{**request.body, "messages": None} for request in server.requests]
    for earlier, later in pairwise(bodies):
        assert later[: len(earlier)] == earlier
    assert all(head == heads[0] for head in heads[1:])


def test_the_tools_count_towards_the_limit_of_tokens() -> None:
    @tool(description="A description of some length. " * 400)
    def long_winded() -> str:
        return ""

    model = replies("done")
    limits = Limits(tokens=2_500)
    assert run_agent("x", model=model, limits=limits).status == "completed"
    assert run_agent("x", model=model, tools=[long_winded], limits=limits).usage.model_calls == 1
    with_usage = run_agent("x", model=model, tools=[long_winded])
    assert with_usage.usage.estimated
    assert with_usage.usage.input_tokens > 3_000
