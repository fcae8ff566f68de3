"""Rows: the endpoint, and the way to it."""

import json
from collections.abc import Callable

from headway.limits import Limits
from openai_server import Answer, Reply, Request, chunk, fails, says, sends, streams
from reliability.scenario import DONE, Played, Row, Then, either, notes, provided

ENOUGH = {"limits": Limits(model_timeout=1.5)}
"""Time for a reply that is not held back, also on a busy machine."""

LATE = says("Too late.").but(delay=30)
DRIP = says("a b c d e f g h i j k l m n o p").but(drip=0.2, pieces=1)


def waits(played: Played) -> list[dict[str, object]]:
    """The attempts that a user saw fail."""
    return [event for event in played.events if event.get("about") == "retry"]


def outlived(name: str, *broken: Answer, retries: int | None = None, **options: object) -> Row:
    """Something that is tried again: everything around it happens once, and it is shown."""
    shown = len(broken) if retries is None else retries
    return Row(
        name,
        [notes("one"), *broken, notes("two"), DONE],
        ran=["one", "two"],
        told=["ok", "ok"],
        options=options,
        also=lambda played: len(waits(played)) == shown,
    )


def fatal(name: str, reply: Reply, kind: str, times: int = 1) -> Row:
    """Something that ends the run, which then goes on where it stopped."""
    return Row(
        name,
        [notes("one"), *[reply] * times, notes("two"), DONE],
        "model_error",
        ran=["one"],
        told=["ok"],
        evidence=kind,
        requests=1 + times,
        also=lambda played: (played.outcome.evidence or {})["attempts"] == times,
        then=Then(told=["ok", "ok"]),
    )


def refusing(name: str, field: str, text: str, *, model: str = "openai:m", **given: object) -> Row:
    """A server that knows `field` not: at most one request more in all, and never again."""

    def answer(reply: Reply) -> Callable[[Request], Reply]:
        return lambda r: fails(400, text) if field in json.dumps(r.body) else reply

    def gone(played: Played) -> bool:
        sent = [field in json.dumps(request.body) for request in played.server.requests]
        return sum(sent) <= 1 and not any(sent[1:])

    script = [answer(notes("one")), answer(notes("two")), answer(DONE)]

    def next_reply(request: Request) -> Reply:
        done = sum(message["role"] == "tool" for message in request.messages)
        return script[done](request)

    return Row(name, next_reply, ran=["one", "two"], told=["ok", "ok"], model=model,
               options={"model_args": given} if given else {}, also=gone)  # fmt: skip


def undeclared(name: str, status: int, text: str) -> Row:
    """A server that fails on calls of tools that were not declared."""

    def answer(request: Request) -> Reply:
        declared = [tool["function"]["name"] for tool in request.body.get("tools", [])]
        called = [c["function"]["name"] for m in request.messages for c in m.get("tool_calls", ())]
        if set(called) <= set(declared):
            return DONE if called else _CALLS_NOTHING
        return fails(status, text)

    return Row(name, answer, told=["unknown_tool"])


_CALLS_NOTHING = says(
    None,
    "tool_calls",
    tool_calls=[
        {"id": "c", "type": "function", "function": {"name": "count_all", "arguments": "{}"}}
    ],
)
BUSY = fails(503, "Service unavailable")
QUOTA = fails(429, "You exceeded your current quota", "insufficient_quota")
UNREAD = "The model produced output that does not match the expected peg-native format"


def half_call() -> Reply:
    return notes("half")


def read_nothing(played: Played) -> bool:
    return "half" not in json.dumps([request.body for request in played.server.requests])


WIRE_ROWS: dict[str, list[Row]] = {
    "429 with Retry-After, up to a cap, visible": [
        outlived("0.01 seconds", fails(429, "Rate limit reached", retry_after="0.01")),
        outlived("in milliseconds", fails(429, "slow down", retry_after_ms="5")),
        outlived("said in the text only", fails(429, "Rate limit: please try again in 9ms")),
        outlived("three times", *[fails(429, "busy", retry_after="0")] * 3),
        fatal("an hour", fails(429, "Rate limit reached", retry_after="3600"), "rate_limited"),
        fatal("for ever", fails(429, "busy", retry_after="0"), "rate_limited", times=4),
        Row("longer than the run may last", [fails(429, "busy", retry_after="50")], "model_error",
            evidence="rate_limited", options={"limits": Limits(seconds=30)},
            also=lambda played: (played.outcome.evidence or {})["retry_after"] == 50),
    ],
    "quota": [
        fatal("429 with `insufficient_quota`", QUOTA, "quota"),
        fatal("402", fails(402, "Insufficient Balance"), "quota"),
        fatal("in Chinese", fails(429, "您的账户已欠费,请充值后重试"), "quota"),
        fatal("403 about credit", fails(403, "Your credit balance is too low"), "quota"),
    ],
    "400": [
        fatal("a value out of range", fails(400, "Invalid value for temperature"),
              "invalid_request"),
        fatal("a body that is no JSON", sends("bad request", 400, "text/plain"),
              "invalid_request"),
        fatal("a redirection to nowhere (302)", fails(302, "moved"), "invalid_request"),
        fatal("no such model (404)", fails(404, "The model does not exist"), "invalid_request"),
    ],
    "401": [
        fatal("a wrong key", fails(401, "Incorrect API key provided"), "auth"),
        fatal("an HTML page", sends("<html>Log in</html>", 401, "text/html"), "auth"),
        fatal("no body", sends("", 401), "auth"),
    ],
    "403": [
        fatal("a country", fails(403, "Country not supported"), "auth"),
        fatal("a model of others", fails(403, "Project does not have access"), "auth"),
        fatal("a proxy's page", sends("<html>Forbidden</html>", 403, "text/html"), "auth"),
    ],
    "5xx": [
        outlived("500 once", fails(500, "The server had an error")),
        outlived("502, 503, 529", fails(502, "Bad gateway"), BUSY, fails(529, "Overloaded")),
        outlived("504 with nothing", sends("", 504)),
        fatal("503 for ever", BUSY, "server", times=4),
    ],
    "dropped connections": [
        outlived("before the first byte", half_call().but(cut=0)),
        outlived("in the middle of the body", half_call().but(cut=3)),
        outlived("three times", *[half_call().but(cut=2)] * 3),
        fatal("for ever", half_call().but(cut=0), "connection", times=4),
    ],
    "dropped in mid-stream": [
        Row(name, [reply, notes("one"), DONE], ran=["one"], told=["ok"], also=read_nothing)
        for name, reply in {
            "in the middle of a call": half_call().but(cut=10),
            "where the end looks clean": half_call().but(cut=10, unframed=True),
            "in the middle of a text": says("The first half and the second").but(cut=9),
            "after an error inside the stream": either(
                streams(chunk({"content": "half"}), {"error": {"message": "upstream gone"}}),
                sends('{"error": {"message": "upstream gone"}}')),
        }.items()
    ],
    "a total deadline per model call": [
        outlived("a slow drip", DRIP, **ENOUGH),
        outlived("a reply that does not begin", LATE, **ENOUGH),
        Row("a drip for ever", [DRIP] * 3, "model_error", evidence="timeout", options=ENOUGH),
        Row("beyond the time of the run", [LATE], "limit", limit="seconds",
            options={"limits": Limits(seconds=1.0)}),
    ],
    "servers that reject `parallel_tool_calls`": [
        refusing("by default it is not sent", "parallel_tool_calls", "never seen"),
        refusing("asked for", "parallel_tool_calls", "parallel_tool_calls is not supported",
                 model_kwargs={"parallel_tool_calls": False}),
        refusing("in words", "parallel_tool_calls",
                 "parallel tool calls are not supported by this model",
                 model_kwargs={"parallel_tool_calls": True}),
        refusing("in another's words", "parallel_tool_calls",
                 "Extra inputs are not permitted: 'parallel_tool_calls'",
                 model_kwargs={"parallel_tool_calls": True}),
    ],
    "servers that reject `strict`": [
        refusing(f"it is not sent {when}", '"strict"', "never seen", **given)
        for when, given in {
            "by default": {},
            "with a limit of tokens": {"max_tokens": 50},
            "with a temperature": {"temperature": 0.0},
        }.items()
    ],
    "servers that reject `stream_options`": [
        refusing("in OpenAI's words", "stream_options",
                 "Unrecognized request argument supplied: stream_options"),
        refusing("in pydantic's words", "stream_options",
                 "[{'loc': ['body', 'stream_options'], 'msg': 'extra fields not permitted'}]"),
        refusing("turned off by the user", "stream_options", "never seen", stream_usage=False),
    ],
    "servers that reject `max_completion_tokens`": [
        refusing("by default it is not sent", "max_completion_tokens", "never seen"),
        refusing("a limit of tokens is sent in the older name", "max_completion_tokens",
                 "Unsupported parameter: max_completion_tokens", max_tokens=50),
        refusing("the older name is refused", '"max_tokens"',
                 "'max_tokens' is not supported, use 'max_completion_tokens'", max_tokens=50),
    ],
    "servers that reject the `developer` role": [
        refusing(f"a model named {name}", '"developer"', "Unexpected role developer",
                 model=f"openai:{name}") for name in ("m", "o3-local", "o1-mini")
    ],
    "servers that answer 500 to unknown tools": [
        undeclared("named in the text", 500, "Unknown function: count_all"),
        undeclared("only as a parser's trouble", 500, UNREAD),
        undeclared("400 instead", 400, "tool count_all not found in request.tools"),
        Row("an unreadable reply is asked for with a hint", [
            lambda r: DONE if "could not be read" in json.dumps(r.body) else fails(500, UNREAD),
            lambda r: DONE], requests=2),
    ],
    "an outage is never lack of progress": [
        outlived("between every two calls", *[BUSY] * 3),
        Row("repeated in one run", [entry for n in range(6)
            for entry in (BUSY, BUSY, notes(f"line {n}"))] + [DONE],
            ran=[f"line {n}" for n in range(6)], told=["ok"] * 6),
        fatal("that does not end", fails(500, "The server had an error"), "server", times=4),
    ],
    "chat completions pinned": [
        Row(f"a model named {name}", [provided(lambda r: "messages" in r.body, notes("one")), DONE],
            ran=["one"], told=["ok"], model=f"openai:{name}")
        for name in ("gpt-5-codex", "gpt-6", "gpt-5-pro", "computer-use-preview")
    ],
}  # fmt: skip
