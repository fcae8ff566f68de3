"""Every form in which servers send tool calls, by HTTP, in the four ways to call a model."""

import json
from typing import Any

import pytest
from reply_support import errors_of, reply_to
from wire_support import SAMPLED_WAYS

from openai_server import calls, raw_calls, says, wire_call

pytestmark = pytest.mark.parametrize("way", SAMPLED_WAYS)


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


def test_thirty_calls_of_one_reply_arrive(way: str) -> None:
    entries = [wire_call("bash", json.dumps({"command": f"echo {n}"}), f"c{n}") for n in range(30)]
    message = reply_to(raw_calls(*entries), way=way)
    assert [c["args"]["command"] for c in message.tool_calls] == [f"echo {n}" for n in range(30)]
