"""What a request holds for any server, and what is adapted once a server has refused it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from wire_support import WAYS, ask, bash, opened, read_file

from openai_server import OpenAIServer, Reply, Request, chunk, fails, says, streams

pytestmark = pytest.mark.parametrize("way", WAYS)


def _refusing(field: str, text: str) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        return fails(400, text) if field in json.dumps(request.body) else says("ok")

    return answer


@pytest.mark.parametrize(
    ("field", "text", "options"),
    [
        ("stream_options", "Unrecognized request argument supplied: stream_options", {}),
        ("parallel_tool_calls", "parallel_tool_calls is not supported", {"parallel": True}),
        ("strict", "tools.0.function.strict: Extra inputs are not permitted", {"strict": True}),
        ("max_completion_tokens", "Unsupported parameter: max_completion_tokens", {}),
        (
            '"max_tokens"',
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            {},
        ),
        ("developer", "Unexpected role developer", {}),
        ("tool_choice", "tool_choice is not supported by this server", {"choice": "auto"}),
    ],
)
def test_a_field_that_a_server_refuses_costs_one_request_at_most(
    way: str, field: str, text: str, options: dict[str, Any]
) -> None:
    tools: list[Any] = [read_file, bash]
    if "strict" in options:
        declared = {"name": "t", "description": "d", "parameters": {"type": "object"}}
        tools = [{"type": "function", "function": {**declared, "strict": True}}]
    extra = {"model_kwargs": {"parallel_tool_calls": True}} if "parallel" in options else {}
    with OpenAIServer(_refusing(field, text)) as server:
        model = opened(server.url, max_tokens=50, **extra)
        for _ in range(2):
            reply = ask(model, way, tools=tools, tool_choice=options.get("choice"))
            assert reply.content == "ok"
        assert len(server.requests) in (2, 3)
        assert field not in json.dumps(server.requests[-1].body)


def test_a_model_that_wants_the_developer_role_is_sent_none_by_a_local_server(way: str) -> None:
    with OpenAIServer([says("ok")]) as server:
        ask(opened(server.url, model="o3-local"), way)
        assert [m["role"] for m in server.requests[0].messages] == ["system", "user"]


HISTORY = [
    SystemMessage("Be brief."),
    HumanMessage("Count."),
    AIMessage(
        "",
        tool_calls=[{"name": "count_all", "args": {}, "id": "c1"}],
        additional_kwargs={"reasoning_content": "because"},
    ),
    ToolMessage("unknown_tool: there is no tool count_all", tool_call_id="c1"),
]


def test_reasoning_goes_back_only_where_it_is_demanded(way: str) -> None:
    def demanding(request: Request) -> Reply:
        said = [m for m in request.messages if m["role"] == "assistant"]
        if any("reasoning_content" not in m for m in said):
            return fails(400, "The reasoning_content in the thinking mode must be passed back")
        return says("ok")

    def refusing(request: Request) -> Reply:
        if "reasoning_content" in json.dumps(request.messages):
            return fails(400, "Extra inputs are not permitted: reasoning_content")
        return says("ok")

    for answer, expected in ((demanding, 2), (refusing, 1)):
        with OpenAIServer(answer, strict=False) as server:
            assert ask(opened(server.url), way, HISTORY).content == "ok"
            assert len(server.requests) == expected


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (500, "The model produced output that does not match the expected peg-native format"),
        (500, "Unknown function: count_all"),
        (400, "tool count_all not found in request.tools"),
    ],
)
def test_a_server_that_knows_only_declared_tools_gets_one_adapted_request(
    way: str, status: int, text: str
) -> None:
    def answer(request: Request) -> Reply:
        declared = [tool["function"]["name"] for tool in request.body.get("tools", [])]
        return says("ok") if "count_all" in declared else fails(status, text)

    with OpenAIServer(answer) as server:
        model = opened(server.url)
        assert ask(model, way, HISTORY).content == "ok"
        assert ask(model, way, HISTORY).content == "ok"
        assert ask(model, way, HISTORY, tools=()).content == "ok"
        assert len(server.requests) == 4
        assert server.requests[-1].body["tool_choice"] == "none"


def test_a_reply_that_the_server_could_not_read_is_asked_for_with_a_hint(way: str) -> None:
    def answer(request: Request) -> Reply:
        hinted = "could not be read" in json.dumps(request.messages)
        unread = "model produced output that does not match the expected peg-native format"
        return says("ok") if hinted else fails(500, unread)

    with OpenAIServer(answer) as server:
        model = opened(server.url)
        assert ask(model, way).content == "ok"
        assert "bash" in server.requests[1].messages[-1]["content"]
        ask(model, way)
        assert "could not be read" not in json.dumps(server.requests[2].body)


def test_names_and_text_lists_are_written_as_every_server_reads_them(way: str) -> None:
    history = [HumanMessage([{"type": "text", "text": "Hi"}], name="headway")]
    with OpenAIServer([says("ok")]) as server:
        ask(opened(server.url), way, history)
        assert server.requests[0].messages == [{"role": "user", "content": "Hi"}]


def test_usage_of_a_stream_is_asked_for_and_cumulative_counts_are_not_added(way: str) -> None:
    if "stream" not in way:
        with OpenAIServer([says("ok")]) as server:
            ask(opened(server.url), way)
            assert "stream_options" not in server.requests[0].body
        return
    counts = [{"prompt_tokens": 100, "completion_tokens": n} for n in (1, 2, 3)]
    pieces = [chunk({"content": "x"}, usage=usage) for usage in counts]
    with OpenAIServer([streams(*pieces, chunk({}, "stop"), "data: [DONE]\n\n")]) as server:
        reply = ask(opened(server.url), way)
        assert server.requests[0].body["stream_options"] == {"include_usage": True}
    assert reply.usage_metadata is not None
    assert (reply.usage_metadata["input_tokens"], reply.usage_metadata["output_tokens"]) == (100, 3)


def test_chat_completions_are_used_for_every_model_name(way: str) -> None:
    for name in ("gpt-5-codex", "gpt-6", "gpt-5-pro"):
        with OpenAIServer([says("ok")]) as server:
            assert ask(opened(server.url, model=name), way).content == "ok"
