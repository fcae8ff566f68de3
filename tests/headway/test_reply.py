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

from headway.arguments import BadArguments, check_arguments, parse_arguments, tool_schema
from headway.history import mend, problems
from headway.printed import find_printed
from headway.promise import is_promise
from headway.reply import ORIGINAL_LIMIT, RAW_CALLS, settle
from openai_server import wire_problems


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


CALL = '{"name": "bash", "arguments": {"command": "ls"}}'
PRINTED = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"I will look.\n<tool_call>{CALL}</tool_call>",
    f"The file has 3 lines.\n<tool_call>{CALL}</tool_call>",
    f"<tool_call>{CALL}",
    f"```\n<tool_call>{CALL}</tool_call>\n```",
    f"```json\n{CALL}\n```",
    f"Let me check the folder first:\n```json\n{CALL}\n```",
    f"I'll run it now.\n{CALL}",
    CALL,
    f"[{CALL}]",
    '{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}',
    '{"tool": "bash", "args": {"command": "ls"}}',
    '{"function": {"name": "bash", "arguments": {"command": "ls"}}}',
    '<function=bash>{"command": "ls"}</function>',
    "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n'
    "</function_calls>",
    f"[TOOL_CALLS][{CALL}]",
    '[TOOL_CALLS] bash[ARGS]{"command": "ls"}',
    '<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}<|eom_id|>',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n"
    '{"command": "ls"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "ls"}'
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0"
    '<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>',
    '<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command": "ls"}<|call|>',
]


@pytest.mark.parametrize("text", PRINTED)
def test_a_call_printed_in_a_known_envelope_is_a_call(text: str) -> None:
    message = settled(AIMessage(text))
    assert [(c["name"], c["args"]) for c in message.tool_calls] == [("bash", {"command": "ls"})]
    assert "ls" not in str(message.content)
    assert notes(message)["problem"] is None


def test_two_printed_calls_are_two_calls() -> None:
    other = '{"name": "read_file", "arguments": {"path": "a"}}'
    text = f"<tool_call>{CALL}</tool_call>\n<tool_call>{other}</tool_call>"
    assert [c["name"] for c in settled(AIMessage(text)).tool_calls] == ["bash", "read_file"]


QUOTED = [
    f"A call in Hermes format looks like this:\n<tool_call>{CALL}</tool_call>",
    f"The log shows <tool_call>{CALL}</tool_call> which never ran. Fix the parser.",
    f"The model wrote:\n```json\n{CALL}\n```",
    f"The parser looks for `<tool_call>` and then {CALL} behind it.",
    "The `<tool_call>` tag is missing.",
    "Use the <tool_call> tag around the JSON.",
    '{"name": "Alice", "arguments": [1, 2]}',
    '{"result": 3}',
    'Here is package.json:\n```json\n{"name": "app", "version": "1"}\n```',
]


@pytest.mark.parametrize("text", QUOTED)
def test_an_answer_that_quotes_a_call_is_an_answer(text: str) -> None:
    message = settled(AIMessage(text))
    assert (message.tool_calls, message.content) == ([], text)
    assert notes(message)["problem"] is None


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "bash", "arguments": {"command": "l',
        '<tool_call>{"name": "no_tool", "arguments": {}}</tool_call>',
        '{"name": "bash", "arguments": {"comm',
        "<tool_call>\nbash ls\n</tool_call>",
        "<function=bash>ls</function>",
        f"The answer is 3.\n```json\n{CALL}\n```",
    ],
)
def test_a_call_that_cannot_be_read_safely_is_named(text: str) -> None:
    message = settled(AIMessage(text))
    assert (message.tool_calls, notes(message)["problem"]) == ([], "printed_call")


def test_a_printed_call_with_bad_arguments_is_an_error_of_that_call() -> None:
    message = settled(AIMessage('{"name": "bash", "arguments": {"cmd": "ls"}}'))
    (error,) = notes(message)["call_errors"].values()
    assert error["code"] == "invalid_arguments"


def test_action_lines_count_only_in_the_text_protocol() -> None:
    text = 'I look first.\nAction: bash\nAction Input: {"command": "ls"}'
    assert settled(AIMessage(text)).tool_calls == []
    found = settled(AIMessage(text), text_protocol=True)
    assert (found.tool_calls[0]["args"], found.content) == ({"command": "ls"}, "I look first.")


@pytest.mark.parametrize(
    "text",
    [
        "I'll now run the tests.",
        "I’ll now run the tests.",
        "Next I will run the tests.",
        "Let me check the file:",
        "The file is broken. I'll fix it now.",
        "Now I'm going to edit x.py",
        "First, I need to look at main.py.",
        "Now running the tests...",
        "Two tests fail.\n\n**Next, I will fix the parser.**",
    ],
)
def test_a_promise_is_one(text: str) -> None:
    assert is_promise(text)
    assert notes(settled(AIMessage(text)))["problem"] == "promise"


@pytest.mark.parametrize(
    "text",
    [
        "You can now run the tests.",
        "Done. Let me know if you want me to run more.",
        "I'll be happy to help.",
        "Should I run the tests?",
        "If you like, I'll run the tests.",
        "The function will run the tests next.",
        "I will not run it.",
        "I fixed the bug; you can now run `pytest`.",
        'The tests print "I\'ll run the check".',
        "I've now run the tests and they pass.",
        "I'll now run the tests.\n\nAll 12 tests pass.",
        "42",
        "",
    ],
)
def test_an_answer_is_no_promise(text: str) -> None:
    assert not is_promise(text)


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


@given(st.text(alphabet='<>{}[]"`:=/|_ \nabcinotl_TOOLCALS', max_size=60))
def test_any_text_is_searched_without_an_exception(text: str) -> None:
    found = find_printed(text, TOOLS.keys(), react=True)
    assert found.thought in (text, found.thought)
    assert not (found.calls and found.looks_like_call)


@given(st.text(), st.text())
def test_a_printed_call_is_found_behind_any_argument(command: str, path: str) -> None:
    args = {"command": command, "path": path}
    text = f"<tool_call>{json.dumps({'name': 'bash', 'arguments': args})}</tool_call>"
    try:
        parse_arguments(args)
    except BadArguments:
        return
    assert [call.args for call in find_printed(text, {"bash"}).calls] == [args]


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
