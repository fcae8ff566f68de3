"""Rows: what comes back from a model."""

import json
from typing import Any

from headway.limits import Limits
from openai_server import (
    Reply,
    Request,
    chunk,
    fails,
    raw_calls,
    says,
    sends,
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


def asked_again(name: str, reply: Reply, **expected: Any) -> Row:
    """A reply without a call that is sent back once."""
    return Row(name, [reply, DONE], answer="All of it is done.", **expected)


def printed(name: str, text: str) -> Row:
    return Row(name, [says(text), DONE], ran=["one"], told=["ok"])


def quoted(name: str, text: str) -> Row:
    return Row(name, [says(text)], answer=text)


def used(name: str, usage: dict[str, int] | None, **expected: Any) -> Row:
    """A reply with this usage, and what the outcome says of it."""

    def same(played: Any) -> bool:
        found = played.outcome.usage.model_dump()
        return {key: found[key] for key in expected} == expected

    return Row(name, [DONE.but(usage=usage)], also=same)


def counted(*counts: int, last: int | None = None) -> Reply:
    """A stream whose every chunk carries the sum so far; `last` stands in a chunk of its own."""
    sums = [{"prompt_tokens": 100, "completion_tokens": count} for count in (*counts, last)]
    pieces = [chunk({"content": "word "}, usage=usage) for usage in sums[:-1]]
    end = [] if last is None else [{"choices": [], "usage": sums[-1]}]
    return streams(*pieces, chunk({}, "stop"), *end, END)


def cumulative(name: str, reply: Reply, total: int) -> Row:
    usage = {"prompt_tokens": 100, "completion_tokens": total}
    whole = says("word word").but(usage=usage)

    def same(played: Any) -> bool:
        found = played.outcome.usage
        return (found.input_tokens, found.output_tokens) == (100, total)

    return Row(name, [either(reply, whole)], also=same)


def back(request: Request) -> bool:
    """Whether each earlier reply carries its reasoning."""
    replies = [m for m in request.messages if m["role"] == "assistant"]
    return all("reasoning_content" in m for m in replies)


WANTS_REASONING = fails(400, "The reasoning_content in the thinking mode must be passed back")
DETAILS = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 800},
    "completion_tokens_details": {"reasoning_tokens": 60},
}
CUT = says("The first half of the", "length")
TALLY = '<tool_call>\n{"name": "note", "arguments": {"line": "one"}}\n</tool_call>'
LAST_OF_TWO = {"limits": Limits(model_calls=2)}

MODEL_ROWS: dict[str, list[Row]] = {
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
    "text cut by `length`": [
        asked_again("then shorter", CUT),
        Row("again and again", [CUT, CUT], "invalid_answer", answer="The first half of the",
            evidence="cut"),
        Row("before its first word", [says("", "length"), DONE]),
        Row("after work was done", [notes("one"), CUT, DONE], ran=["one"], told=["ok"]),
        Row("in the kept last reply", [notes("one"), CUT], "limit", limit="model_calls",
            answer="The first half of the", ran=["one"], told=["ok"], options=LAST_OF_TWO),
    ],
    "`content_filter`": [
        Row("with half an answer", [says("I can", "content_filter")], "model_refused"),
        Row("with nothing", [says("", "content_filter")], "model_refused", answer=""),
        Row("with a call", [notes("one").but(finish="content_filter")], "model_refused"),
        Row("after work was done", [notes("one"), says(None, "content_filter")], "model_refused",
            ran=["one"], told=["ok"]),
    ],
    "refusal": [
        Row("in its own field", [says(None, refusal="I cannot help.")], "model_refused",
            answer="I cannot help."),
        Row("beside a call", [raw_calls(noting("one")).but(message={"role": "assistant",
            "content": None, "refusal": "I cannot.", "tool_calls": [noting("one")]})],
            "model_refused"),
        Row("after work was done", [notes("one"), says("", refusal="No more.")], "model_refused",
            answer="No more.", ran=["one"], told=["ok"]),
    ],
    "empty content": [
        asked_again("once", says("")),
        asked_again("only blanks", says("  \n ")),
        asked_again("only thinking", says("<think>hm</think>")),
        Row("for ever", [says("")] * 3, "invalid_answer", answer="", evidence="empty"),
        Row("after work was done", [notes("one"), says(""), DONE], ran=["one"], told=["ok"]),
    ],
    "content `null`": [
        asked_again("once", says(None)),
        Row("for ever", [says(None)] * 3, "invalid_answer", evidence="empty"),
        Row("beside a call", [raw_calls(noting("one"), content=None), DONE],
            ran=["one"], told=["ok"]),
    ],
    "content as a list of parts": [
        Row("texts", [says([{"type": "text", "text": "It is "}, {"type": "text", "text": "3."}])],
            answer="It is 3."),
        asked_again("no part at all", says([])),
        Row("a text among unknown parts", [says([{"type": "card", "x": 1},
            {"type": "text", "text": "3."}])], answer="3."),
        Row("beside a call", [raw_calls(noting("one"), content=[{"type": "text", "text": "So."}]),
            DONE], ran=["one"], told=["ok"]),
    ],
    "a call printed as text": [
        printed("between `<tool_call>` tags", TALLY),
        printed("as tags of functions and parameters", "<tool_call>\n<function=note>\n"
                "<parameter=line>\none\n</parameter>\n</function>\n</tool_call>"),
        printed("fenced as JSON", '```json\n{"name": "note", "arguments": {"line": "one"}}\n```'),
        printed("behind `[TOOL_CALLS]`", '[TOOL_CALLS][{"name": "note", "arguments": '
                '{"line": "one"}}]'),
        printed("as bare JSON", '{"name": "note", "parameters": {"line": "one"}}'),
        printed("behind a lead", f"I will note it now.\n{TALLY}"),
        Row("broken, then right", [says('<tool_call>{"name": "note", "argu'), notes("one"), DONE],
            ran=["one"], told=["ok"]),
        Row("broken for ever", [says('<tool_call>{"name": "note", "argu')] * 2, "invalid_answer",
            evidence="printed_call"),
        asked_again("of an unknown tool",
                    says('<tool_call>{"name": "nope", "arguments": {}}</tool_call>')),
    ],
    "an honest answer that quotes a call": [
        quoted("in the middle of a sentence", "The model wrote `<tool_call>` where JSON was due."),
        quoted("as an example", 'A call looks like `{"name": "note", "arguments": {}}`.'),
        quoted("fenced, with prose behind", f"It printed\n```\n{TALLY}\n```\nand then stopped."),
    ],
    "a promise instead of a call": [
        Row("kept after one nudge", [says("Next I will write it down."), notes("one"), DONE],
            ran=["one"], told=["ok"]),
        Row("made twice", [says("I'll now run the tests.")] * 2, "invalid_answer",
            evidence="promise"),
        asked_again("with a colon", says("Let me look at the file:")),
        quoted("what the reader may do", "Done. You can now run the tests."),
        quoted("a question", "Should I run the tests?"),
    ],
    "reasoning content": [
        Row("kept, and not sent back", [notes("one").but(message={"role": "assistant",
            "content": None, "reasoning_content": "because", "tool_calls": [noting("one")]}),
            provided(lambda r: "reasoning_content" not in json.dumps(r.body), DONE)],
            ran=["one"], told=["ok"]),
        Row("sent back where the server wants it", [notes("one"),
            lambda r: DONE if back(r) else WANTS_REASONING, provided(back, DONE)],
            ran=["one"], told=["ok"], strict=False),
        Row("between tags in the text", [says("<think>\nhm\n</think>\n\nIt is 3.")],
            answer="It is 3."),
        asked_again("and nothing else", says(None, reasoning_content="hm")),
    ],
    "usage missing": [
        used("not a word of it", None, estimated=True, model_calls=1),
        used("an empty object", {}, estimated=True),
        used("zeros", {"prompt_tokens": 0, "completion_tokens": 0}, estimated=True),
        Row("the budget still ends the run", [notes("one").but(usage=None), DONE.but(usage=None)],
            "limit", limit="tokens", ran=["one"], told=["ok"],
            options={"limits": Limits(tokens=3_500)}, requests=2),
    ],
    "usage cumulative": [
        cumulative("in each chunk", counted(1, 2, 3), 3),
        cumulative("once more at the end", counted(1, 2, last=2), 2),
        cumulative("the same in each chunk", counted(5, 5, 5), 5),
    ],
    "usage with cached and reasoning tokens": [
        used("as parts of the sums", DETAILS, input_tokens=1000, output_tokens=100,
             cached_tokens=800, reasoning_tokens=60),
        used("reasoning beside the output", {**DETAILS, "total_tokens": 1160}, input_tokens=1000,
             output_tokens=160, reasoning_tokens=60),
        used("hits of a cache under another name", {"prompt_tokens": 90, "completion_tokens": 7,
             "prompt_cache_hit_tokens": 64}, input_tokens=90, output_tokens=7, cached_tokens=64),
    ],
    "what a client raises on: list arguments": [
        mended("an empty list", arguments("[]")),
        mended("a list of objects", arguments([{"line": "one"}])),
        Row("beside a good call", [raw_calls(wire_call("note", ["x"], "a"), noting("two", "b")),
            DONE], ran=["two"], told=["invalid_arguments", "ok"]),
    ],
    "what a client raises on: no choices": [
        Row("an empty list, then a reply", [sends('{"choices": []}'), DONE]),
        Row("null, then a reply", [sends('{"choices": null}'), DONE]),
        Row("no message, then a reply", [sends('{"choices": [{"index": 0, "message": null}]}'),
            DONE]),
        Row("for ever", [sends('{"choices": []}')] * 4, "model_error", evidence="bad_response"),
    ],
    "what a client raises on: an error object with HTTP 200": [
        Row("overloaded, then a reply", [sends('{"error": {"message": "Overloaded", "code": 503}}'),
            DONE]),
        Row("no quota", [sends('{"error": {"message": "insufficient_quota", "code": 429}}')],
            "model_error", evidence="quota"),
        Row("a bad key", [sends('{"error": {"message": "Incorrect API key", "code": 401}}')],
            "model_error", evidence="auth"),
        Row("in the middle of a stream", [either(streams(chunk({"content": "The fi"}),
            {"error": {"message": "Internal error", "code": 500}}),
            sends('{"error": {"message": "Internal error", "code": 500}}')), DONE],
            answer="All of it is done."),
    ],
    "what a client raises on: an HTML page": [
        Row("with HTTP 200, then a reply", [sends("<html>busy</html>", content_type="text/html"),
            DONE]),
        Row("with HTTP 502, then a reply", [sends("<html>502</html>", 502, "text/html"), DONE]),
        Row("for ever", [sends("<html>Log in</html>", content_type="text/html")] * 4,
            "model_error", evidence="bad_response"),
        Row("nothing at all, then a reply", [sends(""), DONE]),
    ],
}  # fmt: skip
