"""What comes back from any client, as a valid reply: calls, problems, usage, printed calls."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call_chunk
from langchain_core.tools import BaseTool, StructuredTool, tool
from pydantic import BaseModel, Field
from wire_support import sent

from headway.arguments import BadArguments, check_arguments, tool_schema
from headway.history import mend, problems
from headway.reply import ORIGINAL_LIMIT, RAW_CALLS, settle
from wire_rules import wire_problems


@tool
def bash(command: str, timeout: float | None = None, background: bool = False) -> str:
    """Run a command."""
    return command


@tool
def read_file(path: str, limit: int = 10) -> str:
    """Read a file."""
    return path


@tool
def ping() -> str:
    """No parameters."""
    return "pong"


class Place(BaseModel):
    line: int = Field(ge=1)
    kind: str


class Edits(BaseModel):
    places: list[Place]
    mode: str | None = None


edits = StructuredTool.from_function(
    lambda **_: "", name="edits", description="d", args_schema=Edits
)
remote: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "how": {"enum": ["fast", "slow"]}},
    "required": ["n"],
}
TOOLS: dict[str, Any] = {t.name: t for t in (bash, read_file, ping, edits)} | {"remote": remote}


def reply(raw: object, name: object = "read_file", call_id: object = "c1") -> AIMessage:
    return AIMessage(
        "", additional_kwargs={RAW_CALLS: [{"id": call_id, "name": name, "args": raw}]}
    )


def settled(message: AIMessage, known: set[str] | None = None, **options: Any) -> AIMessage:
    return settle(message, tools=TOOLS, known_ids=known or set(), **options)


def notes(message: AIMessage) -> dict[str, Any]:
    return dict(message.response_metadata["headway"])


def error_of(message: AIMessage) -> dict[str, str]:
    (error,) = notes(settled(message))["call_errors"].values()
    return dict(error)


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("read_file", '{"file": "a"}', ["unknown parameter file", "missing parameter path"]),
        ("read_file", '{"pth": "a"}', ["unknown parameter pth (did you mean path?)"]),
        ("read_file", '{"path": "a", "limit": true}', ["limit must be integer, not a boolean"]),
        ("read_file", '{"path": "a", "limit": 2.5}', ["limit must be integer, not a number"]),
        ("read_file", '{"path": ["a"]}', ["path must be string, not a list"]),
        ("bash", '{"command": null}', ["command must be string, not null"]),
        ("bash", '{"command": "x", "timeout": {}}', ["timeout must be number or null"]),
        ("edits", '{"places": [{"line": 1}]}', ["missing parameter places[0].kind"]),
        ("edits", '{"places": [{"line": 1, "kind": "a", "x": 1}]}', ["places[0].x"]),
        ("edits", '{"places": "all"}', ["places must be array, not a string"]),
        ("remote", '{"n": 1, "how": "quick"}', ['how must be one of ["fast", "slow"]']),
        ("remote", "{}", ["missing parameter n"]),
        ("ping", '{"x": 1}', ["unknown parameter x"]),
        ("read_file", "[1]", ["a list, not a JSON object"]),
        ("read_file", '"a"', ["a string, not a JSON object"]),
        ("read_file", "7", ["an integer, not a JSON object"]),
        ("read_file", '{"path": "a', ["not valid JSON"]),
    ],
)
def test_each_bad_argument_is_named(name: str, raw: str, words: list[str]) -> None:
    error = error_of(reply(raw, name))
    assert error["code"] == "invalid_arguments"
    assert all(word in error["message"] for word in words), error["message"]
    assert error["original"] == raw


@pytest.mark.parametrize(
    ("name", "raw", "args"),
    [
        ("ping", "", {}),
        ("ping", None, {}),
        ("ping", "null", {}),
        ("ping", "{}", {}),
        ("bash", '{"command": "x", "timeout": "2.5"}', {"command": "x", "timeout": 2.5}),
        ("bash", '{"command": "x", "timeout": null}', {"command": "x", "timeout": None}),
        ("bash", '{"command": "x", "background": "true"}', {"command": "x", "background": True}),
        ("remote", '{"n": "3", "how": "fast"}', {"n": 3, "how": "fast"}),
        (
            "edits",
            '{"places": [{"line": "4", "kind": "a"}]}',
            {"places": [{"line": 4, "kind": "a"}]},
        ),
    ],
)
def test_arguments_that_can_only_mean_one_thing_run(
    name: str, raw: object, args: dict[str, Any]
) -> None:
    message = settled(reply(raw, name))
    assert notes(message)["call_errors"] == {}
    assert message.tool_calls[0]["args"] == args


@pytest.mark.parametrize("name", ["no_tool", "", None, 5, "bad name!", "x" * 300, "\ud800"])
def test_an_unknown_tool_is_an_error_with_the_names(name: object) -> None:
    message = settled(reply("{}", name))
    (error,) = notes(message)["call_errors"].values()
    assert error["code"] == "unknown_tool"
    assert "read_file" in error["next_step"]
    assert 0 < len(message.tool_calls[0]["name"]) <= 64


@pytest.mark.parametrize(
    "name", ["functions.bash", "bash<|channel|>commentary", " bash ", "default_api.bash"]
)
def test_decorated_names_mean_the_tool(name: str) -> None:
    message = settled(reply('{"command": "ls"}', name))
    assert (message.tool_calls[0]["name"], notes(message)["call_errors"]) == ("bash", {})


@pytest.mark.parametrize("call_id", [None, "", 7, "a b", "x" * 41, "../etc", "known"])
def test_an_unusable_id_is_replaced_the_same_way_each_time(call_id: object) -> None:
    ids = {settled(reply("{}", "ping", call_id), {"known"}).tool_calls[0]["id"] for _ in range(2)}
    (new,) = ids
    assert new not in (None, "", call_id)


def test_a_good_id_is_kept() -> None:
    assert settled(reply("{}", "ping", "call_aB-9")).tool_calls[0]["id"] == "call_aB-9"


def test_the_original_of_a_bad_call_is_bounded() -> None:
    error = error_of(reply('{"path": "' + "x" * 50_000))
    assert len(error["original"]) <= ORIGINAL_LIMIT
    assert sum(map(len, error.values())) < 2_000


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", tool_calls=[{"name": "ping", "args": {}, "id": "c1"}]),
        AIMessage("", invalid_tool_calls=[invalid_tool_call(name="ping", args="{", id="c1")]),
        AIMessageChunk(
            content="",
            tool_call_chunks=[tool_call_chunk(name="ping", args='{"a": "b', id="c1", index=0)],
        ),
        AIMessage("", additional_kwargs={"function_call": {"name": "ping", "arguments": "{}"}}),
        AIMessage(
            "",
            additional_kwargs={
                "tool_calls": [{"id": "c1", "function": {"name": "ping", "arguments": "{}"}}]
            },
        ),
        AIMessage(
            [{"type": "tool_use", "id": "c1", "name": "ping", "input": {}}],
            tool_calls=[{"name": "ping", "args": {}, "id": "c1"}],
        ),
    ],
)
def test_calls_of_every_client_are_found_once(message: AIMessage) -> None:
    found = settled(message)
    assert type(found) is AIMessage
    assert [call["name"] for call in found.tool_calls] == ["ping"]
    assert (found.invalid_tool_calls, found.additional_kwargs, found.content) == ([], {}, "")


def test_a_cut_stream_chunk_is_not_repaired() -> None:
    chunk = AIMessageChunk(
        content="",
        tool_call_chunks=[
            tool_call_chunk(name="read_file", args='{"path": "unfin', id="c1", index=0)
        ],
    )
    assert chunk.tool_calls[0]["args"] == {"path": "unfin"}
    assert error_of(chunk)["code"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("refusal", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
@pytest.mark.parametrize("key", ["finish_reason", "stop_reason"])
def test_reasons_of_every_provider_become_one_vocabulary(
    key: str, reason: object, finish: str
) -> None:
    message = AIMessage("text", response_metadata={key: reason})
    assert notes(settled(message))["finish"] == finish


def test_usage_beside_the_message_is_read() -> None:
    raw = {"prompt_tokens": 5, "completion_tokens": 2}
    message = AIMessage("x", response_metadata={"token_usage": raw, "logprobs": [1]})
    found = settled(message)
    assert found.usage_metadata == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    assert set(found.response_metadata) == {"headway"}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_RAW = _VALUES | _VALUES.map(lambda value: json.dumps(value)) | st.text()
_CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.none() | st.text(max_size=5) | st.sampled_from(["a", "b"]),
            "name": st.none() | st.text(max_size=5) | st.sampled_from(list(TOOLS)),
            "args": _RAW,
        }
    ),
    max_size=4,
)


@given(_CALLS, st.text() | st.none(), st.sampled_from(["stop", "length", "content_filter", None]))
@settings(deadline=None)
def test_whatever_comes_back_becomes_a_valid_reply(
    calls: list[dict[str, Any]], text: str | None, finish: str | None
) -> None:
    message = settled(
        AIMessage(
            text or "",
            additional_kwargs={RAW_CALLS: calls},
            response_metadata={"finish_reason": finish},
        ),
        {"a"},
    )
    errors = notes(message)["call_errors"]
    assert all(call["args"] == {} for call in message.tool_calls if call["id"] in errors)
    if message.tool_calls or str(message.content).strip():
        answers = [ToolMessage("r", tool_call_id=c["id"] or "") for c in message.tool_calls]
        history = [HumanMessage("task"), message, *(answers or [HumanMessage("and?")])]
        assert problems(history) == []
        assert mend(history) == history
        assert wire_problems({"messages": sent(history)}) == []


@pytest.mark.parametrize("one", [bash, read_file, ping, edits])
def test_the_schema_that_judges_is_the_one_that_is_shown(one: BaseTool) -> None:
    properties = tool_schema(one).get("properties", {})
    assert set(properties) == set(one.args)


def test_a_reference_in_a_schema_is_followed() -> None:
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Place"}},
        "$defs": {"Place": {"type": "object", "properties": {"line": {"type": "integer"}}}},
    }
    assert check_arguments({"at": {"line": "3"}}, schema) == {"at": {"line": 3}}
    with pytest.raises(BadArguments, match="at.line must be integer"):
        check_arguments({"at": {"line": "x"}}, schema)
