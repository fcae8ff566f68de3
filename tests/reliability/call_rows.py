"""Rows: the calls that come back from a model."""

import json
from typing import Any

from openai_server import (
    Reply,
    chunk,
    raw_calls,
    says,
    streams,
    wire_call,
)
from reliability.scenario import (
    DONE,
    Row,
    arguments,
    either,
    last_text,
    mended,
    notes,
    noting,
    ping,
    provided,
)

END = "data: [DONE]\n\n"


def written(*values: object) -> list[Row]:
    """Arguments that are no object of the right form."""
    return [mended(_shown(value), arguments(value)) for value in values]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text if len(text) <= 48 else text[:45] + '…'}`"


def pinged(value: object) -> Row:
    """The same for a tool without parameters, where nothing is missing."""
    return Row(
        f"{_shown(value)} for a tool without parameters",
        [arguments(value, "ping"), DONE],
        ran=["ping"],
        told=["ok"],
        tools=[ping],
    )


def indexed(index: int | None, *ids: str | None) -> Reply:
    """Two calls in pieces that all carry the same index, or none."""

    def piece(call_id: str | None, **function: str) -> dict[str, Any]:
        entry: dict[str, Any] = {"function": function}
        entry |= {} if index is None else {"index": index}
        return chunk({"tool_calls": [entry | ({"id": call_id} if call_id is not None else {})]})

    pieces: list[Any] = []
    for line, call_id in zip(("one", "two"), ids, strict=True):
        pieces.append(piece(call_id, name="note", arguments=""))
        pieces += [piece(None, arguments='{"line": '), piece(None, arguments=f'"{line}"}}')]
    return streams(*pieces, chunk({}, "tool_calls"), END)


def in_pieces(name: str, index: int | None, *ids: str | None) -> Row:
    reply = either(indexed(index, *ids), notes("one", "two"))
    return Row(name, [reply, DONE], ran=["one", "two"], told=["ok", "ok"])


def whole_in_chunks(name: str, index: int | None, *ids: str) -> Row:
    """Each call whole in a chunk of its own."""
    entries = [noting("one", ids[0]), noting("two", ids[1])]
    extra = {} if index is None else {"index": index}
    pieces = [chunk({"tool_calls": [{**extra, **entry}]}) for entry in entries]
    reply = either(streams(*pieces, chunk({}, "tool_calls"), END), notes("one", "two"))
    return Row(name, [reply, DONE], ran=["one", "two"], told=["ok", "ok"])


def mixed(name: str, *calls: dict[str, Any], told: list[str], ran: list[str]) -> Row:
    return Row(name, [raw_calls(*calls), DONE], told=told, ran=ran)


def printed(name: str, text: str) -> Row:
    return Row(name, [says(text), DONE], ran=["one"], told=["ok"])


TALLY = '<tool_call>\n{"name": "note", "arguments": {"line": "one"}}\n</tool_call>'
CALL_ROWS: dict[str, list[Row]] = {
    "arguments: malformed JSON": [
        *written('{"line": "o', '{"line": "one"', "{bad", "{'line': 'one'}", '{"line": "one"}}'),
        *written("line=one", '{"line": "one", "more": NaN', "\x00", '{"line": ' + "[" * 2000),
    ],
    "arguments: an object": [
        Row("an object instead of a text", [arguments({"line": "one"}), DONE],
            ran=["one"], told=["ok"]),
        Row("an object written twice over", [arguments('"{\\"line\\": \\"one\\"}"'), DONE],
            ran=["one"], told=["ok"]),
        Row("an object between blanks", [arguments(' \n{"line": "one"}\n '), DONE],
            ran=["one"], told=["ok"]),
        mended("the empty object where a field is missing", arguments({})),
    ],
    "arguments: a scalar": written('"one"', "3", "true", 7, False, "1.5e3"),
    "arguments: a list": written("[1]", '["one"]', ["one"], '[{"line": "one"}]', []),
    "arguments: null": [*written("null", None), pinged("null"), pinged(None)],
    "arguments: an empty string": [*written("", "  \n"), pinged(""), pinged(" ")],
    "extra keys": [
        mended("one more key", arguments('{"line": "one", "colour": "red"}')),
        mended("only unknown keys", arguments('{"text": "one"}')),
        mended("the call's own name among them", arguments('{"name": "note", "line": "one"}')),
    ],
    "wrong-typed keys": [
        *written('{"line": 3}', '{"line": null}', '{"line": ["one"]}', '{"line": {"a": 1}}'),
        mended("a lone surrogate", arguments('{"line": "\\ud800"}')),
        mended("a NUL", arguments('{"line": "a\\u0000b"}')),
        mended("a number beyond 64 bits",
               raw_calls(wire_call("read_file", '{"path": "a.txt", "limit": 1' + "0" * 40 + "}"))),
    ],
    "unknown tool": [
        mended("a name that was never offered", arguments("{}", "no_such_tool"), "unknown_tool"),
        mended("nearly an offered name", arguments('{"line": "x"}', "notes"), "unknown_tool"),
        mended("an empty name", arguments("{}", ""), "unknown_tool"),
        mended("a name that no server allows", arguments("{}", "né/à b\n" * 30), "unknown_tool"),
        Row("an offered name with its namespace", [arguments('{"line": "one"}', "functions.note"),
            DONE], ran=["one"], told=["ok"]),
    ],
    "ids: missing": [
        Row("one call", [raw_calls(noting("one", None)), DONE], ran=["one"], told=["ok"]),
        Row("two calls", [raw_calls(noting("one", None), noting("two", None)), DONE],
            ran=["one", "two"], told=["ok", "ok"]),
        mended("a bad call", raw_calls(wire_call("note", "{", None))),
    ],
    "ids: null": [
        Row("one call", [raw_calls({**noting("one"), "id": None}), DONE], ran=["one"], told=["ok"]),
        Row("beside a good one", [raw_calls({**noting("one"), "id": None}, noting("two")), DONE],
            ran=["one", "two"], told=["ok", "ok"]),
        mended("a bad call", raw_calls({**wire_call("note", "{"), "id": None})),
    ],
    "ids: empty": [
        Row("one call", [raw_calls(noting("one", "")), DONE], ran=["one"], told=["ok"]),
        Row("two calls", [raw_calls(noting("one", ""), noting("two", "")), DONE],
            ran=["one", "two"], told=["ok", "ok"]),
        Row("in two turns", [raw_calls(noting("one", "")), raw_calls(noting("two", "")), DONE],
            ran=["one", "two"], told=["ok", "ok"]),
    ],
    "ids: duplicate in a turn": [
        Row("two good calls", [raw_calls(noting("one", "x"), noting("two", "x")), DONE],
            ran=["one", "two"], told=["ok", "ok"]),
        Row("a bad and a good call", [raw_calls(wire_call("note", "{", "x"), noting("two", "x")),
            DONE], ran=["two"], told=["invalid_arguments", "ok"]),
        Row("three, of two tools", [raw_calls(noting("one", "x"), wire_call("ping", "{}", "x"),
            noting("two", "x")), DONE], ran=["one", "ping", "two"], told=["ok"] * 3, tools=[ping]),
    ],
    "ids: duplicate across turns": [
        Row("the second turn numbers anew", [raw_calls(noting("one", "0")),
            raw_calls(noting("two", "0")), DONE], ran=["one", "two"], told=["ok", "ok"]),
        Row("after a bad call", [raw_calls(wire_call("note", "{", "0")),
            raw_calls(noting("two", "0")), DONE], ran=["two"], told=["invalid_arguments", "ok"]),
        Row("both calls of two turns", [raw_calls(noting("one", "0"), noting("two", "1")),
            raw_calls(noting("three", "0"), noting("four", "1")), DONE],
            ran=["one", "two", "three", "four"], told=["ok"] * 4),
    ],
    "ids: very long": [
        Row("1,500 characters", [raw_calls(noting("one", "x" * 1500)), DONE],
            ran=["one"], told=["ok"]),
        Row("two that begin alike", [raw_calls(noting("one", "x" * 99), noting("two", "x" * 98)),
            DONE], ran=["one", "two"], told=["ok", "ok"]),
        Row("a path, blanks, an emoji", [raw_calls(noting("one", "../../etc/📁 x")), DONE],
            ran=["one"], told=["ok"]),
    ],
    "stream chunks: index 0 for several calls": [
        in_pieces("with ids", 0, "a", "b"),
        in_pieces("without ids", 0, None, None),
        whole_in_chunks("a whole call a chunk", 0, "a", "b"),
        whole_in_chunks("whole, with the same id", 0, "x", "x"),
    ],
    "stream chunks: no index": [
        in_pieces("with ids", None, "a", "b"),
        in_pieces("without ids", None, None, None),
        in_pieces("with empty ids", None, "", ""),
        whole_in_chunks("a whole call a chunk", None, "a", "b"),
    ],
    "good and bad calls in one message": [
        mixed("good, cut, unknown, good", noting("one", "a"), wire_call("note", '{"li', "b"),
              wire_call("nope", "{}", "c"), noting("two", "d"),
              told=["ok", "invalid_arguments", "unknown_tool", "ok"], ran=["one", "two"]),
        mixed("bad first", wire_call("note", "[1]", "a"), noting("two", "b"),
              told=["invalid_arguments", "ok"], ran=["two"]),
        mixed("all bad", wire_call("note", "", "a"), wire_call("note", "3", "b"),
              told=["invalid_arguments"] * 2, ran=[]),
        mixed("one good call twice", noting("one", "a"), noting("one", "b"),
              told=["ok", "ok"], ran=["one", "one"]),
    ],
    "lying `finish_reason`": [
        Row(f"`{finish}` beside a call", [notes("one").but(finish=finish), DONE],
            ran=["one"], told=["ok"]) for finish in ("stop", "function_call", "strange", None)
    ] + [Row("`tool_calls` beside an answer", [DONE.but(finish="tool_calls")])],
    "a call cut by `length`": [
        Row(name, [raw_calls(wire_call("note", text), finish="length"),
                   provided(lambda r: "smaller" in last_text(r), notes("one")), DONE],
            ran=["one"], told=["cut", "ok"])
        for name, text in {
            "in the middle of its arguments": '{"line": "unfin',
            "where a parser could repair it": '{"line": "whole"',
            "behind whole-looking arguments": '{"line": "whole"}',
        }.items()
    ] + [
        Row("the second of two", [raw_calls(noting("one", "a"), wire_call("note", '{"l', "b"),
            finish="length"), DONE], told=["cut", "cut"]),
        Row("a call printed as text", [says(TALLY[:40], "length"), DONE]),
    ],
}  # fmt: skip
