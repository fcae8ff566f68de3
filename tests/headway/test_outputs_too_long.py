"""A request that the endpoint refuses as too long is shortened and sent once more."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from outputs_support import ASK, CONFIG, served, texts

from openai_server import OpenAIServer, calls, fails, says
from too_long import TOO_LONG

IN_THE_FAST_SUITE = ("Anthropic", "Gemini", "Groq, a minute's tokens", "llama.cpp", "vLLM", "xAI")
VENDORS = [
    pytest.param(vendor, marks=() if vendor in IN_THE_FAST_SUITE else pytest.mark.slow)
    for vendor in TOO_LONG
]


def requested(server: OpenAIServer) -> list[int]:
    return [len(json.dumps(request.messages)) for request in server.requests]


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_request_that_is_too_long_is_shortened_once_and_sent_once_more(vendor: str) -> None:
    looks = [calls("big", f"c{n}", number=n, size=9_000) for n in range(6)]
    refusal = fails(*TOO_LONG[vendor])
    script = [*looks, refusal, says("enough seen"), says("and more")]
    with OpenAIServer(script) as server:
        agent = served(server, checkpointer=InMemorySaver(), memory=True)
        parts: list[Any] = list(agent.stream(ASK, CONFIG, stream_mode=["custom"]))
        first = agent.get_state(CONFIG).values
        second = agent.invoke({"messages": [("user", "go on")]}, CONFIG)
    sizes = requested(server)
    assert (first["outcome"]["status"], first["outcome"]["answer"]) == ("completed", "enough seen")
    assert len(sizes) == len(script)
    assert sizes[7] < 0.7 * sizes[6]
    assert sizes[8] < sizes[6], "what was too long once is not tried again"
    assert [p["about"] for _, p in parts if p["type"] == "note"] == ["context"]
    assert len(texts(first)) == 6
    assert second["outcome"]["answer"] == "and more"
    assert not server.refused


def test_a_server_that_refuses_the_shorter_request_too_ends_the_run_in_a_usable_thread() -> None:
    script = [calls("big", number=1, size=9_000), *[fails(*TOO_LONG["OpenAI"])] * 2, says("ok")]
    with OpenAIServer(script) as server:
        agent = served(server, checkpointer=InMemorySaver(), memory=True)
        first = agent.invoke(ASK, CONFIG)
        second = agent.invoke({"messages": [("user", "go on")]}, CONFIG)
    assert first["outcome"]["status"] == "model_error"
    assert first["outcome"]["evidence"]["kind"] == "context_length"
    assert second["outcome"]["status"] == "completed"
    assert len(server.requests) == 4


def test_a_request_that_was_shortened_just_now_and_is_refused_is_shortened_further() -> None:
    looks = [calls("big", f"c{n}", number=n, size=9_000) for n in range(4)]
    refusals = [fails(*TOO_LONG["vLLM"])] * 2
    with OpenAIServer([*looks, *refusals, says("ok")]) as server:
        agent = served(server, checkpointer=InMemorySaver(), memory=True, window=8_000)
        first = agent.invoke(ASK, CONFIG)
        second = agent.invoke({"messages": [("user", "go on")]}, CONFIG)
    sizes = requested(server)
    assert first["outcome"]["status"] == "model_error"
    assert sizes[4] < sizes[3]
    assert sizes[5] < 0.8 * sizes[4]
    assert sizes[6] < 0.8 * sizes[4], "the refused size is remembered though the run ended"
    assert second["outcome"]["status"] == "completed"


def test_a_refused_request_of_which_nothing_can_be_shortened_is_not_sent_again() -> None:
    with OpenAIServer([fails(*TOO_LONG["vLLM"])]) as server:
        result = served(server).invoke({"messages": [("user", "long " * 20_000)]})
    assert result["outcome"]["evidence"]["kind"] == "context_length"
    assert len(server.requests) == 1
