"""Every form in which servers send a reply, by HTTP, in the four ways to call a model."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from wire_support import QUICK, SAMPLED_WAYS, ask, bash, opened, read_file

from headway.models.failure import ModelFailure
from headway.reply import settle
from openai_server import (
    OpenAIServer,
    Reply,
    calls,
    chunk,
    raw_calls,
    says,
    sends,
    streams,
    wire_call,
)

pytestmark = pytest.mark.parametrize("way", SAMPLED_WAYS)
TOOLS = {"read_file": read_file, "bash": bash}


def reply_to(*replies: Reply, way: str, **options: Any) -> AIMessage:
    with OpenAIServer(replies) as server:
        message = ask(opened(server.url), way, **options)
        assert server.refused == []
        assert [request.streamed for request in server.requests] == ["stream" in way] * len(replies)
    return settle(message, tools=TOOLS, known_ids=set())


def errors_of(message: AIMessage) -> dict[str, Any]:
    return dict(message.response_metadata["headway"]["call_errors"])


def problem_of(message: AIMessage) -> object:
    return message.response_metadata["headway"]["problem"]


def test_a_text_answer_arrives_with_its_usage(way: str) -> None:
    message = reply_to(says("It holds 3 lines."), way=way)
    assert message.content == "It holds 3 lines."
    assert problem_of(message) is None
    assert message.usage_metadata == {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


def test_a_good_call_arrives_whole(way: str) -> None:
    message = reply_to(calls("read_file", path="a.txt", limit=3), way=way)
    assert [(c["name"], c["args"], c["id"]) for c in message.tool_calls] == [
        ("read_file", {"path": "a.txt", "limit": 3}, "call_a")
    ]
    assert errors_of(message) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        '{"path": "a.txt", "lim',
        '{"path": "a.txt"',
        "{bad",
        "{'path': 'a.txt'}",
        '{"path": "a.txt"}}',
        "path=a.txt",
        '"a.txt"',
        "[1]",
        "3",
        "true",
        ["a.txt"],
        7,
        False,
        "null",
        "",
        None,
        {},
        '{"path": "a", "lines": 3}',
        '{"path": 3}',
        '{"path": "a", "limit": "many"}',
        '{"limit": 3}',
        '{"path": "\\ud800"}',
        '{"path": "a\\u0000b"}',
        '{"path": "a", "limit": NaN}',
        '{"path": "a", "limit": 123456789012345678901234567890}',
        '{"path": ' + "[" * 2000 + "}",
    ],
)
def test_bad_arguments_stay_with_their_call(way: str, arguments: object) -> None:
    message = reply_to(raw_calls(wire_call("read_file", arguments)), way=way)
    assert [(c["name"], c["args"]) for c in message.tool_calls] == [("read_file", {})]
    error = errors_of(message)["call_a"]
    assert error["code"] == "invalid_arguments"
    assert "path (string)" in error["next_step"]
    assert len(error["original"]) <= 500


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ({"path": "a"}, {"path": "a"}),
        ('{"path": "a", "limit": "5"}', {"path": "a", "limit": 5}),
        ('{"path": "a", "limit": 5.0}', {"path": "a", "limit": 5}),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}),
        ('{"path": "two\nlines"}', {"path": "two\nlines"}),
        ('  {"path": "é \\u2028 \U0001f4c1"}\n', {"path": "é \u2028 \U0001f4c1"}),
    ],
)
def test_harmless_forms_of_arguments_run(way: str, arguments: object, args: dict[str, Any]) -> None:
    message = reply_to(raw_calls(wire_call("read_file", arguments)), way=way)
    assert errors_of(message) == {}
    assert message.tool_calls[0]["args"] == args


def test_good_and_bad_calls_of_one_message_keep_their_order(way: str) -> None:
    message = reply_to(
        raw_calls(
            wire_call("bash", '{"command": "ls"}', "c1"),
            wire_call("bash", '{"command": "l', "c2"),
            wire_call("no_such_tool", "{}", "c3"),
            wire_call("bash", '{"command": "pwd"}', "c4"),
        ),
        way=way,
    )
    assert [c["id"] for c in message.tool_calls] == ["c1", "c2", "c3", "c4"]
    assert {k: e["code"] for k, e in errors_of(message).items()} == {
        "c2": "invalid_arguments",
        "c3": "unknown_tool",
    }
    assert "bash" in errors_of(message)["c3"]["next_step"]


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("x", "x"), ("x" * 1500, "../../etc")])
def test_ids_become_short_and_unique(way: str, ids: tuple[str | None, str | None]) -> None:
    message = reply_to(
        raw_calls(*(wire_call("bash", json.dumps({"command": str(n)}), ids[n]) for n in (0, 1))),
        way=way,
    )
    new = [c["id"] or "" for c in message.tool_calls]
    assert len(set(new)) == 2
    assert all(0 < len(call_id) <= 40 and "/" not in call_id for call_id in new)
    assert [c["args"]["command"] for c in message.tool_calls] == ["0", "1"]


def test_an_id_null_is_no_id(way: str) -> None:
    entry = {"id": None, **wire_call("bash", '{"command": "ls"}', None)}
    assert reply_to(raw_calls(entry), way=way).tool_calls[0]["id"]


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "strange", None])
def test_a_lying_finish_reason_changes_nothing_about_a_call(way: str, finish: str | None) -> None:
    reply = calls("bash", command="ls").but(finish=finish)
    message = reply_to(reply, way=way)
    assert message.tool_calls[0]["args"] == {"command": "ls"}
    assert errors_of(message) == {}


@pytest.mark.parametrize("arguments", ['{"command": "echo unfin', '{"command": "echo a"}'])
def test_nothing_of_a_reply_cut_by_length_runs(way: str, arguments: str) -> None:
    message = reply_to(raw_calls(wire_call("bash", arguments), finish="length"), way=way)
    assert message.tool_calls[0]["args"] == {}
    assert errors_of(message)["call_a"]["code"] == "cut"
    assert "smaller" in errors_of(message)["call_a"]["next_step"]


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


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
        "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n"
        "</tool_call>",
        '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```',
        '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls"}}]',
        '{"name": "bash", "parameters": {"command": "ls"}}',
    ],
)
def test_a_call_printed_as_text_is_taken(way: str, text: str) -> None:
    message = reply_to(says(text), way=way)
    assert [(c["name"], c["args"]) for c in message.tool_calls] == [("bash", {"command": "ls"})]
    assert message.content == ""


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


def test_thirty_calls_of_one_reply_arrive(way: str) -> None:
    entries = [wire_call("bash", json.dumps({"command": f"echo {n}"}), f"c{n}") for n in range(30)]
    message = reply_to(raw_calls(*entries), way=way)
    assert [c["args"]["command"] for c in message.tool_calls] == [f"echo {n}" for n in range(30)]
