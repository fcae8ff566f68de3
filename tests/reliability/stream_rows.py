"""Rows: forms of streams that servers take liberties with, and replies that they break off."""

import json
from typing import Any

from openai_server import Reply, chunk, fails, says, sends, streams
from reliability.scenario import DONE, Row, either, notes, noting

END = "data: [DONE]\n\n"


def piece(index: object, arguments: object = None, name: str = "", call_id: str = "") -> Any:
    """A chunk with a piece of one call; what is empty is left out."""
    function = {"name": name, "arguments": arguments}
    entry: dict[str, Any] = {"function": {k: v for k, v in function.items() if v is not None and v}}
    entry |= {} if index == "" else {"index": index}
    return chunk({"tool_calls": [entry | ({"id": call_id} if call_id else {})]})


def noted(name: str, *pieces: object, lines: tuple[str, ...] = ("one",), end: bool = True) -> Row:
    """A stream that means calls of `note` with these lines."""
    last = [chunk({}, "tool_calls"), END] if end else []
    reply = either(streams(*pieces, *last), notes(*lines))
    return Row(name, [reply, DONE], ran=lines, told=["ok"] * len(lines))


def told(name: str, *events: object, answer: str = "Hello.") -> Row:
    return Row(name, [either(streams(*events), says(answer))], answer=answer)


def broken_off(name: str, *events: object, finish: str | None = None) -> Row:
    """Half a text, then trouble: another attempt, and nothing of the half is kept."""
    whole = says("Half an ans", finish) if finish else fails(503, "gone")
    half = either(streams(chunk({"content": "Half an ans"}), *events, END), whole)
    return Row(name, [notes("one"), half, DONE], ran=["one"], told=["ok"],
               answer="All of it is done.")  # fmt: skip


def whole_message(content: str | None, *calls: dict[str, Any], finish: str) -> dict[str, Any]:
    """A last chunk that repeats the whole message besides an empty delta."""
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return {"choices": [{"index": 0, "delta": {}, "message": message, "finish_reason": finish}]}


HELLO = chunk({"content": "Hello."})
STOP = chunk({}, "stop")
FIRST, SECOND = '{"line": "one"}', '{"line": "two"}'
BROKEN = {"object": "error", "message": "the engine died", "code": 500}

STREAM_ROWS: dict[str, list[Row]] = {
    "stream chunks: an index of another kind": [
        noted("null", piece(None, "", "note", "a"), piece(None, FIRST[:9]), piece(None, FIRST[9:])),
        noted("texts, in turns", piece("0", FIRST[:9], "note", "a"),
              piece("1", SECOND[:9], "note", "b"), piece("0", FIRST[9:]), piece("1", SECOND[9:]),
              lines=("one", "two")),
        noted("floats", piece(0.0, FIRST[:9], "note", "a"), piece(0.0, FIRST[9:])),
        noted("numbers that jump", piece(7, FIRST, "note", "a"), piece(3, SECOND, "note", "b"),
              lines=("one", "two")),
        noted("none, but ids in turns", piece("", FIRST[:9], "note", "a"),
              piece("", SECOND[:9], "note", "b"), piece("", FIRST[9:], call_id="a"),
              piece("", SECOND[9:], call_id="b"), lines=("one", "two")),
        noted("an object in the place of the list", chunk({"tool_calls": noting("one", "a")})),
    ],
    "stream chunks: pieces cut anywhere": [
        noted("in an escape", piece(0, '{"line": "\\u00', "note", "a"), piece(0, 'e9"}'),
              lines=("é",)),
        noted("between halves of a pair", piece(0, '{"line": "\ud83d', "note", "a"),
              piece(0, '\ude00"}'), lines=("😀",)),
        told("between halves of a pair in text", chunk({"content": "Yes \ud83d"}),
             chunk({"content": "\ude00."}), STOP, END, answer="Yes 😀."),
        noted("in the name", piece(0, "", "no", "a"), piece(0, "", "te"), piece(0, FIRST)),
        noted("the id last", piece(0, "", "note"), piece(0, FIRST), piece(0, "", call_id="late")),
        noted("the name last", piece(0, FIRST, "", "a"), piece(0, "", "note")),
        noted("the name each time", piece(0, FIRST[:9], "note", "a"),
              piece(0, FIRST[9:], "note", "a")),
    ],
    "stream chunks: besides the reply": [
        told("the last one twice", HELLO, STOP, STOP, END),
        told("the whole text once more", HELLO, whole_message("Hello.", finish="stop"), END),
        noted("the whole call once more", piece(0, FIRST, "note", "a"),
              whole_message(None, noting("one", "a"), finish="tool_calls"), END, end=False),
        told("comments", ": keep-alive\n\n", "event: ping\ndata: \n\n", HELLO, ":\n\n", STOP, END),
        told("no end", HELLO, STOP),
        told("a byte order mark", f"\ufeffdata: {json.dumps(HELLO)}\n\n", STOP, END),
    ],
    "a reply that the server breaks off": [
        *(broken_off(f"`{finish}`", chunk({}, finish), finish=finish)
          for finish in ("error", "abort", "insufficient_system_resource")),
        broken_off("an error without an envelope", BROKEN),
        broken_off("a detail", {"detail": "worker died"}),
        broken_off("an error in the choice", {"choices": [{"index": 0, "delta": {"content": ""},
            "error": {"code": 502, "message": "upstream"}, "finish_reason": "error"}]}),
        broken_off("a line that is no JSON", 'data: {"choices": [{"del\n\n'),
        Row("an error without an envelope, with HTTP 200", [sends(json.dumps(BROKEN)), DONE]),
        Row("a body that is not what its header says",
            [Reply(raw=b"{}", headers=(("content-encoding", "gzip"),)), DONE]),
    ],
}  # fmt: skip
