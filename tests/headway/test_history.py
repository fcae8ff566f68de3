"""Requests that the strictest server accepts, from histories broken in every way."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from wire_support import sent

from headway.history import closed, mend, merged_names, open_calls, place, problems
from headway.messages import merge
from headway.testing import spoken
from wire_rules import wire_problems


def call(call_id: str | None, name: str = "bash", **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args, id=call_id, type="tool_call")


def ai(*calls: ToolCall, text: Any = "", **extra: Any) -> AIMessage:
    return AIMessage(text, tool_calls=list(calls), **extra)


def answer(call_id: str, text: str = "result") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id)


def kinds(messages: list[BaseMessage]) -> str:
    return " ".join(message.type for message in messages)


HUMAN = HumanMessage("Do it.", id="h")


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([answer("x"), HUMAN], "human"),
        ([HUMAN, answer("unknown")], "human"),
        ([HUMAN, ai(call("a"), call("b")), answer("a")], "human ai tool tool"),
        (
            [HUMAN, ai(call("a"), call("b")), answer("b"), answer("a")],
            "human ai tool tool",
        ),
        ([HUMAN, ai(call("a")), HumanMessage("stop"), answer("a")], "human ai tool human"),
        ([HUMAN, ai(call("a")), answer("a"), answer("a")], "human ai tool"),
        ([SystemMessage("A"), HUMAN, SystemMessage("B")], "system human"),
        ([HUMAN, HumanMessage("And that.")], "human"),
        ([HUMAN, AIMessage(""), HumanMessage("Hello?")], "human"),
        ([HUMAN, AIMessage("a"), AIMessage("b"), HUMAN], "human ai human"),
        ([HUMAN, AIMessage("a"), ai(call("c"))], "human ai tool"),
        ([AIMessage("Hi"), HUMAN], "human ai human"),
        ([HUMAN, AIMessage("Hi")], "human ai human"),
        ([HUMAN, ai(call("0")), answer("0"), ai(call("0")), answer("0")], "human ai tool ai tool"),
        ([HUMAN, ai(call("x"), call("x")), answer("x"), answer("x")], "human ai tool tool"),
        ([HUMAN, ai(call(None))], "human ai tool"),
        ([HUMAN, ai(call("")), answer("")], "human ai tool"),
        ([HumanMessage("")], "human"),
        ([HumanMessage(" \n")], "human"),
        ([HUMAN, ai(call("a")), answer("a", "")], "human ai tool"),
        ([HumanMessage("half \ud83d"), ai(call("a", path="\x00")), answer("a")], "human ai tool"),
        ([HUMAN, ai(call("a", n=float("nan"), m=2**90)), answer("a")], "human ai tool"),
        (
            [
                HUMAN,
                ai(text=[{"type": "text", "text": "t"}, {"type": "function_call", "name": "f"}]),
                HUMAN,
            ],
            "human ai human",
        ),
        ([HUMAN, ai(text=[{"type": "tool_use", "id": "t", "name": "f"}]), HUMAN], "human"),
        (
            [HUMAN, AIMessage("x", additional_kwargs={"tool_calls": [{"id": "q"}]}), HUMAN],
            "human ai human",
        ),
        (
            [HUMAN, AIMessage("x", additional_kwargs={"function_call": {"name": "f"}}), HUMAN],
            "human ai human",
        ),
        (
            [
                HUMAN,
                AIMessage(
                    "",
                    invalid_tool_calls=[
                        {
                            "name": "bash",
                            "args": "{",
                            "id": "i",
                            "error": "",
                            "type": "invalid_tool_call",
                        }
                    ],
                ),
                answer("i", "not JSON"),
            ],
            "human ai tool",
        ),
        ([ChatMessage("hi", role="critic"), FunctionMessage("r", name="f")], "human"),
        ([HUMAN, AIMessageChunk(content="Hi"), HUMAN], "human ai human"),
        ([HUMAN, RemoveMessage(id="h")], "human"),
    ],
)
def test_each_broken_history_becomes_a_valid_request(
    history: list[BaseMessage], expected: str
) -> None:
    before = [message.model_copy(deep=True) for message in history]
    request = mend(history)
    assert kinds(request) == expected
    assert problems(request) == []
    assert wire_problems({"messages": sent(request)}) == []
    assert mend(request) == request
    assert history == before


def test_answers_go_to_the_turn_they_belong_to() -> None:
    history = [
        HUMAN,
        ai(call("0")),
        answer("0", "first"),
        ai(call("0"), call("0")),
        answer("0", "second"),
        answer("0", "third"),
    ]
    request = mend(history)
    assert [m.content for m in request if isinstance(m, ToolMessage)] == [
        "first",
        "second",
        "third",
    ]
    assert wire_problems({"messages": sent(request)}) == []


def test_a_missing_answer_claims_nothing() -> None:
    request = mend([HUMAN, ai(call("a"))])
    told = request[-1]
    assert isinstance(told, ToolMessage)
    assert told.status == "error"
    assert "may or may not have run" in str(told.content)


def test_a_valid_history_is_the_request() -> None:
    history = [SystemMessage("S"), HUMAN, ai(call("a")), answer("a"), AIMessage("ok"), HUMAN]
    request = mend(history)
    assert all(left is right for left, right in zip(request, history, strict=True))


def test_merged_users_keep_their_names_for_scripts() -> None:
    request = mend([HUMAN, HumanMessage("Say more.", name="headway"), HumanMessage("!")])
    assert merged_names(request[0]) == [None, "headway", None]
    assert request[0].content == "Do it.\n\nSay more.\n\n!"
    assert spoken(request) == 1


def test_an_image_survives_a_merge() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    request = mend([HUMAN, HumanMessage([image])])
    assert request[0].content == [{"type": "text", "text": "Do it."}, image]


@pytest.mark.parametrize(
    ("history", "open_ids", "later"),
    [
        ([HUMAN], [], 0),
        ([HUMAN, AIMessage("ok")], [], 0),
        ([HUMAN, ai(call("a"), call("b"))], ["a", "b"], 0),
        ([HUMAN, ai(call("a"), call("b")), answer("b")], ["a"], 0),
        ([HUMAN, ai(call("a")), HumanMessage("new", id="n")], ["a"], 1),
        ([HUMAN, ai(call("a")), answer("a"), AIMessage("ok", id="z")], [], 1),
        ([HUMAN, ai(call("a")), answer("other")], ["a"], 1),
    ],
)
def test_open_calls_are_those_of_the_last_reply_with_calls(
    history: list[BaseMessage], open_ids: list[str], later: int
) -> None:
    found = open_calls(history)
    assert [c["id"] for c in found.calls] == open_ids
    assert len(found.later) == later


def test_place_moves_what_came_in_between_behind_the_answers() -> None:
    history: list[Any] = [
        HUMAN,
        ai(call("a"), call("b"), id="r"),
        ToolMessage("A", tool_call_id="a", id="ta"),
        HumanMessage("new", id="n"),
    ]
    answers = [closed(c, "cancelled") for c in open_calls(history).calls]
    state = merge(history, [place(history, answers)])
    assert kinds(list(state)) == "human ai tool tool human"
    assert problems(list(state)) == []


_IDS = st.sampled_from(["a", "b", "0", "", None])
_TEXT = st.sampled_from(["", " ", "x", "é\ud83d", "\x00", "two\nlines"])
_CONTENT = _TEXT | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, _TEXT)
    | st.just({"type": "function_call", "name": "f"})
    | st.just({"type": "tool_use", "id": "t", "name": "f", "input": {}}),
    max_size=2,
)
_CALLS = st.lists(st.builds(lambda i, v: call(i, v=v), _IDS, _TEXT), max_size=3)
_MESSAGES = st.one_of(
    st.builds(SystemMessage, _TEXT),
    st.builds(HumanMessage, _CONTENT),
    st.builds(lambda calls, text: ai(*calls, text=text), _CALLS, _CONTENT),
    st.builds(lambda i, text: answer(i or "", text), _IDS, _TEXT),
)


def _check_any_history(messages: list[BaseMessage]) -> None:
    request = mend([HumanMessage("task"), *messages])
    assert problems(request) == []
    assert wire_problems({"messages": sent(request)}) == []
    json.dumps(sent(request), ensure_ascii=False).encode()
    assert mend(request) == request


@given(st.lists(_MESSAGES, max_size=8))
@settings(deadline=None)
def test_any_history_becomes_a_valid_request(messages: list[BaseMessage]) -> None:
    _check_any_history(messages)


@pytest.mark.slow
@given(st.lists(_MESSAGES, max_size=24))
@settings(deadline=None, max_examples=5000)
def test_any_long_history_becomes_a_valid_request(messages: list[BaseMessage]) -> None:
    _check_any_history(messages)


@given(st.lists(_MESSAGES, max_size=6), st.lists(st.sampled_from("at"), max_size=6))
@settings(deadline=None)
def test_what_follows_does_not_change_the_request_so_far(
    messages: list[BaseMessage], turns: list[str]
) -> None:
    """A run appends whole turns; each request starts with the one before it."""
    history = [HumanMessage("task"), *messages, HumanMessage("go on")]
    before = mend(history)
    for at, turn in enumerate(turns):
        reply = ai(call(f"new{at}")) if turn == "t" else AIMessage("text")
        history += [reply, answer(f"new{at}") if turn == "t" else HumanMessage("and")]
        after = mend(history)
        assert after[: len(before)] == before
        before = after
