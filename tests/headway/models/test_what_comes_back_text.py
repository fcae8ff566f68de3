"""Every form of text, reasoning, refusal and usage, by HTTP, in the four ways to call a model."""

from typing import Any

import pytest
from reply_support import problem_of, reply_to
from wire_support import QUICK, SAMPLED_WAYS, ask, opened

from headway.models.failure import ModelFailure
from openai_server import OpenAIServer, Reply, calls, chunk, says, sends, streams

pytestmark = pytest.mark.parametrize("way", SAMPLED_WAYS)


def test_a_text_answer_arrives_with_its_usage(way: str) -> None:
    message = reply_to(says("It holds 3 lines."), way=way)
    assert message.content == "It holds 3 lines."
    assert problem_of(message) is None
    assert message.usage_metadata == {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (says("The first half of", "length"), "cut"),
        (says("", "length"), "cut"),
        (says("I can't", "content_filter"), "refused"),
        (says("", "content_filter"), "refused"),
        (says(None, refusal="I cannot help with that."), "refused"),
        (calls("bash", command="rm -rf /").but(finish="content_filter"), "refused"),
        (says(""), "empty"),
        (says(None), "empty"),
        (says("  \n "), "empty"),
        (says([]), "empty"),
        (says("<think>hm</think>"), "empty"),
        (says("I'll now run the tests."), "promise"),
        (says("Next I will run the tests."), "promise"),
        (says("Let me look at the file:"), "promise"),
        (says('<tool_call>{"name": "bash", "argu'), "printed_call"),
        (says('<tool_call>{"name": "nothing", "arguments": {}}</tool_call>'), "printed_call"),
        (says('{"name": "bash", "arguments": {"comm'), "printed_call"),
        (says("Done. You can now run the tests."), None),
        (says("Should I run the tests?"), None),
        (says("The model wrote `<tool_call>` where JSON was due."), None),
    ],
)
def test_a_reply_without_calls_is_named(way: str, reply: Reply, problem: str | None) -> None:
    message = reply_to(reply, way=way)
    assert message.tool_calls == []
    assert problem_of(message) == problem


def test_a_refusal_is_shown(way: str) -> None:
    assert reply_to(says(None, refusal="I cannot."), way=way).content == "I cannot."


def test_content_in_parts_is_text(way: str) -> None:
    parts = [{"type": "text", "text": "Three "}, {"type": "text", "text": "lines."}]
    assert reply_to(says(parts), way=way).content == "Three lines."


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_beside_the_text(way: str, key: str) -> None:
    reply = streams(chunk({key: "so "}), chunk({key: "it is"}), chunk({"content": "3"}, "stop"))
    if "stream" not in way:
        reply = says("3", **{key: "so it is"})
    message = reply_to(reply, way=way)
    assert message.content == "3"
    assert message.additional_kwargs == {"reasoning_content": "so it is"}


def test_reasoning_tags_in_the_text_are_reasoning(way: str) -> None:
    message = reply_to(says("<think>\nhm, 3\n</think>\n\nIt is 3."), way=way)
    assert (message.content, message.additional_kwargs["reasoning_content"]) == (
        "It is 3.",
        "hm, 3",
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        (
            {
                "prompt_tokens": 1000,
                "completion_tokens": 100,
                "total_tokens": 1100,
                "prompt_tokens_details": {"cached_tokens": 800},
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            (1000, 100, 800, 60),
        ),
        (
            {
                "prompt_tokens": 1000,
                "completion_tokens": 100,
                "total_tokens": 1160,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            (1000, 160, 0, 60),
        ),
        (
            {"prompt_tokens": 90, "completion_tokens": 7, "prompt_cache_hit_tokens": 64},
            (90, 7, 64, 0),
        ),
        ({"prompt_tokens": None, "completion_tokens": "7"}, None),
    ],
)
def test_usage_is_counted_once(
    way: str, usage: dict[str, Any] | None, expected: tuple[int, int, int, int] | None
) -> None:
    found = reply_to(says("ok").but(usage=usage), way=way).usage_metadata
    if expected is None:
        assert found is None
        return
    assert found is not None
    inside, outside = found.get("input_token_details", {}), found.get("output_token_details", {})
    counts = (inside.get("cache_read", 0), outside.get("reasoning", 0))
    assert (found["input_tokens"], found["output_tokens"], *counts) == expected
    assert found["total_tokens"] == found["input_tokens"] + found["output_tokens"]


@pytest.mark.parametrize(
    "broken",
    [
        sends('{"choices": []}'),
        sends('{"choices": null}'),
        sends("{}"),
        sends("[]"),
        sends("null"),
        sends('{"choices": [{"index": 0, "message": null, "finish_reason": "stop"}]}'),
        sends('{"choices": [null]}'),
        sends("<html><body>502 Bad Gateway</body></html>", content_type="text/html"),
        sends("<html>busy</html>", status=502, content_type="text/html"),
        sends(""),
        sends('{"error": {"message": "model is loading", "code": 503}}'),
        sends('{"error": "the engine died"}'),
        sends('{"choices": [{"mess'),
    ],
)
def test_what_is_no_completion_is_asked_for_again(way: str, broken: Reply) -> None:
    message = reply_to(broken, says("ok"), way=way, retries=QUICK)
    assert message.content == "ok"


def test_what_is_never_a_completion_becomes_a_failure(way: str) -> None:
    page = sends("<html>hello</html>", content_type="text/html")
    with OpenAIServer([page], repeat=True) as server, pytest.raises(ModelFailure) as caught:
        ask(opened(server.url), way, retries=QUICK)
    assert (caught.value.kind, caught.value.attempts) == ("bad_response", 4)
    assert "<html>hello" in caught.value.message
