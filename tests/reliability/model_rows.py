"""Rows: what else comes back from a model."""

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
    mended,
    notes,
    noting,
    provided,
)

END = "data: [DONE]\n\n"


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
        Row("in another's words", [says("I can", "sensitive")], "model_refused"),
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
        Row("without an envelope", [sends(
            '{"detail": "the context length is 10 tokens: maximum context length"}')],
            "model_error", evidence="context_length"),
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
