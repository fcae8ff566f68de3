"""Streams as servers really send them: call indexes that are missing or always 0, odd framing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from wire_support import QUICK, ask, bash, opened, read_file

from headway.models.body import StreamReader
from headway.models.failure import BadReply, Dropped
from headway.models.sse import EventReader
from headway.reply import settle
from openai_server import OpenAIServer, chunk, says, sends, streams

DONE = "data: [DONE]\n\n"
BOTH = pytest.mark.parametrize("way", ["sync stream", "async stream"])


def piece(index: int | None, **fields: Any) -> dict[str, Any]:
    function = {k: fields[k] for k in ("name", "arguments") if k in fields}
    entry = {k: v for k, v in fields.items() if k not in function} | {"function": function}
    return chunk({"tool_calls": [entry if index is None else {"index": index, **entry}]})


def calls_in(*events: object, way: str) -> list[tuple[str, dict[str, Any]]]:
    with OpenAIServer([streams(*events, chunk({}, "tool_calls"), DONE)]) as server:
        reply = ask(opened(server.url), way)
    tools = {"read_file": read_file, "bash": bash}
    message = settle(reply, tools=tools, known_ids=set())
    assert message.response_metadata["headway"]["call_errors"] == {}
    ids = [call["id"] for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    return [(call["name"], call["args"]) for call in message.tool_calls]


TWO = [("bash", {"command": "ls"}), ("read_file", {"path": "a"})]


@BOTH
@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("ids", [("a", "b"), (None, None), ("", "")])
def test_two_calls_of_one_index_are_two_calls(
    way: str, index: int | None, ids: tuple[str | None, str | None]
) -> None:
    pieces = [
        piece(index, id=ids[0], name="bash", arguments=""),
        piece(index, arguments='{"command": '),
        piece(index, arguments='"ls"}'),
        piece(index, id=ids[1], name="read_file", arguments='{"path": "a"}'),
    ]
    assert calls_in(*pieces, way=way) == TWO


@BOTH
@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_in_one_chunk_each(way: str, index: int | None) -> None:
    whole = [
        piece(index, name=name, arguments=json.dumps(args), id=f"c{n}")
        for n, (name, args) in enumerate(TWO)
    ]
    assert calls_in(*whole, way=way) == TWO


@BOTH
def test_two_calls_in_one_chunk_without_indexes(way: str) -> None:
    entries = [{"function": {"name": name, "arguments": json.dumps(args)}} for name, args in TWO]
    assert calls_in(chunk({"tool_calls": entries}), way=way) == TWO


@BOTH
def test_interleaved_pieces_go_to_their_index(way: str) -> None:
    pieces = [
        piece(0, id="a", name="bash", arguments=""),
        piece(1, id="b", name="read_file", arguments=""),
        piece(0, arguments='{"command": "l'),
        piece(1, arguments='{"path": '),
        piece(0, arguments='s"}'),
        piece(1, arguments='"a"}'),
    ]
    assert calls_in(*pieces, way=way) == TWO


@BOTH
def test_name_and_id_repeated_in_each_piece_are_one_call(way: str) -> None:
    texts = ['{"command"', ': "ls', '"}', ""]
    pieces = [piece(0, id="a", name="bash", arguments=text) for text in texts]
    assert calls_in(*pieces, way=way) == TWO[:1]


@BOTH
def test_the_same_id_for_two_calls_makes_two(way: str) -> None:
    pieces = [
        piece(0, id="x", name=name, arguments=json.dumps(args)) for name, args in (TWO[0], TWO[1])
    ]
    assert calls_in(*pieces, way=way) == TWO


@BOTH
def test_a_legacy_function_call_is_a_call(way: str) -> None:
    pieces = [
        chunk({"function_call": {"name": "bash", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"command": '}}),
        chunk({"function_call": {"arguments": '"ls"}'}}),
    ]
    assert calls_in(*pieces, way=way) == TWO[:1]


@BOTH
@pytest.mark.parametrize(
    "events",
    [
        (": keepalive\n\n", chunk({"content": "ok"}, "stop"), DONE),
        ("event: message\nid: 3\n", chunk({"content": "ok"}, "stop"), DONE),
        (chunk({"content": "ok"}), DONE),
        (chunk({"content": "ok"}, "stop"),),
        (chunk(None), {"choices": []}, chunk({"content": "ok"}, "stop"), DONE),
        ('data:{"choices":\r\ndata:[{"delta": {"content": "ok"}}]}\r\n\r\n', "data: [DONE]"),
        (chunk({"content": "ok"}, "stop"), DONE, "data: {never read\n\n"),
    ],
)
def test_odd_framing_is_read(way: str, events: tuple[object, ...]) -> None:
    with OpenAIServer([streams(*events)]) as server:
        assert ask(opened(server.url), way).content == "ok"


@BOTH
def test_a_connection_that_breaks_behind_the_reply_does_no_harm(way: str) -> None:
    whole = streams(chunk({"content": "ok"}, "stop"), ": more\n\n" * 20).but(cut=12)
    with OpenAIServer([whole]) as server:
        assert ask(opened(server.url), way).content == "ok"


@BOTH
def test_a_connection_that_stays_open_behind_the_reply_is_left(way: str) -> None:
    whole = streams(chunk({"content": "ok"}, "stop"), DONE, ": more\n\n" * 20)
    with OpenAIServer([whole.but(drip=0.02, pieces=150)]) as server:
        assert ask(opened(server.url), way, timeout=20).content == "ok"


@BOTH
def test_a_server_that_ignores_the_wish_to_stream_is_read(way: str) -> None:
    body = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    with OpenAIServer([sends(json.dumps(body))]) as server:
        assert ask(opened(server.url), way).content == "ok"


@BOTH
@pytest.mark.parametrize(
    "events",
    [
        (chunk({"content": "half"}),),
        (chunk({"content": "half"}), 'data: {"error": {"message": "engine overloaded"}}\n\n'),
        (chunk({"content": "half"}), "data: {broken\n\n"),
        (DONE,),
        ({"choices": []}, DONE),
    ],
)
def test_a_stream_without_a_whole_reply_is_asked_for_again(
    way: str, events: tuple[object, ...]
) -> None:
    with OpenAIServer([streams(*events), says("whole")]) as server:
        reply = ask(opened(server.url), way, retries=QUICK)
        assert len(server.requests) == 2
    assert reply.content == "whole"


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1),
    cuts=st.lists(st.integers(0, 400), max_size=12),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_events_do_not_depend_on_where_the_bytes_are_cut(
    texts: list[str], cuts: list[int], newline: str
) -> None:
    data = [json.dumps({"t": text}, ensure_ascii=False) for text in texts]
    body = "".join(f"data: {line}{newline}{newline}" for line in data).encode()
    reader = EventReader()
    edges = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    parts = [body[a:b] for a, b in zip(edges, edges[1:], strict=False)]
    found = [event for part in parts for event in reader.feed(part)]
    assert [*found, *reader.close()] == data


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "message", "tool_calls", "function", "content", "arguments"]
                + ["name", "id", "index", "finish_reason", "usage", "error", "reasoning_content"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=4), st.booleans())
def test_any_json_is_a_reply_or_a_named_failure(events: list[object], done: bool) -> None:
    reader = StreamReader()
    body = "".join(f"data: {json.dumps({'choices': [event]})}\n\n" for event in events)
    try:
        parts = list(reader.feed((body + (DONE if done else "")).encode()))
        parts += list(reader.close())
    except (BadReply, Dropped):
        return
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    message = settle(whole, tools={"bash": bash}, known_ids=set())
    assert type(message) is AIMessage
    assert all(call["id"] for call in message.tool_calls)
