"""Rows: whatever a tool does, its call gets one observation, and the others go on."""

import asyncio
from decimal import Decimal
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import END
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Send

from headway import declare
from headway.limits import Limits
from headway_tools.errors import ToolFailure
from openai_server import raw_calls, wire_call
from reliability.odd_tools import (
    ACT,
    BASH,
    LOOP,
    SHORT,
    Point,
    Unshown,
    commanded,
    commanding,
    gone,
    handed_over,
    in_order,
    many,
    pace,
    paced,
    passed_on,
    raised,
    raising,
    read,
    returned,
    says_so,
    sleeper,
    stuck,
    to_parent,
    waiting,
)
from reliability.scenario import DONE, Row, arguments, notes, noting

TOOL_ROWS: dict[str, list[Row]] = {
    "raise anything": [
        raised("ValueError", ValueError("no such thing")),
        raised("an error without words", KeyError()),
        raised("TimeoutError", TimeoutError("the other side")),
        raised("100 kB of words", RuntimeError("x" * 100_000)),
        raised("RecursionError", RecursionError()),
        raised("StopIteration", StopIteration(3)),
        raised("a group of errors", ExceptionGroup("two", [ValueError(1), OSError(2)])),
        raised("its own code and next step", ToolFailure("not_found", "no x", "try y"),
               "not_found"),
        raised("a cancellation of its own making", asyncio.CancelledError),
        raised("no Exception", BaseException("odd")),
        raised("a group of all kinds", BaseExceptionGroup("two", [SystemExit(1), ValueError(2)])),
        raised("the end of a generator", GeneratorExit()),
        raised("an error that cannot be shown", Unshown()),
        raised("lone surrogates", ValueError("\ud800 \x00")),
    ],
    "raise `SystemExit`": [
        raised("without a code", SystemExit),
        raised("with a code", SystemExit(3)),
        raised("with words", SystemExit("bye")),
    ],
    "`KeyboardInterrupt` and cancellation pass": [
        passed_on("KeyboardInterrupt", KeyboardInterrupt),
        passed_on("KeyboardInterrupt before another call", KeyboardInterrupt, noting("two", "b")),
        passed_on("KeyboardInterrupt without words", KeyboardInterrupt),
    ],
    "hang: ours and isolated ones are killed": [
        Row("a command", [BASH("sleep 60; echo late >> log"), DONE], told=["timeout"],
            options=SHORT),
        Row("a command that ignores signals", [BASH("trap '' TERM INT; while :; do :; done"), DONE],
            told=["timeout"], options=SHORT),
        Row("a command beyond the time of the run", [BASH("sleep 60")], "limit", limit="seconds",
            told=["timeout"], options={"limits": Limits(seconds=1.5)}),
        Row("an isolated function", [arguments({}, "sleeper"), DONE], told=["timeout"],
            tools=[declare(sleeper, isolated=True)], options={"limits": Limits(tool_timeout=2)}),
    ],
    "hang: a foreign function's late result is discarded": [
        stuck("alone", [ACT], ["timeout"]),
        stuck("before other calls", [raw_calls(wire_call("act", "{}", "a"), noting("two", "b"))],
              ["timeout", "ok"], ["two"]),
        stuck("twice", [ACT, ACT], ["timeout", "timeout"]),
        Row("with an asynchronous form", [ACT, DONE], told=["timeout"], tools=[waiting()],
            options=SHORT, warns="did not return"),
        Row("that will not be cancelled", [ACT, DONE], told=["timeout"],
            tools=[waiting(stubborn=4)], options=SHORT, warns="did not return"),
    ],
    "return None": [
        returned("None", None, "null"),
        returned("nothing but blanks", "  \n"),
        returned("the empty text", ""),
    ],
    "return bytes": [
        returned("text", b"caf\xc3\xa9", "caf"),
        returned("no text", b"\xff\xfe\x00"),
        returned("in a list", [b"abc", bytearray(b"def")], "abc"),
    ],
    "return sets": [
        returned("a set", {1, 2}, "1", "2"),
        returned("a frozen set", frozenset("a"), "a"),
        returned("in a dict", {"found": {"x"}}, "found", "x"),
    ],
    "return other values": [
        returned("an object", object(), "object"),
        returned("a dataclass", Point(3), "3"),
        returned("an exception", ValueError("told, not raised"), "told"),
        returned("a number beyond 64 bits", {"n": 10**30}, "10000"),
        returned("not a number", float("nan")),
        returned("a decimal, a path", [Decimal("1.5"), Path("x/y")], "1.5"),
        returned("itself", LOOP),
        returned("a lone surrogate and a NUL", "a\ud800b\x00c", "a"),
        returned("one megabyte", "word " * 200_000, "word"),
    ],
    "return content blocks": [
        returned("a text", [{"type": "text", "text": "three"}], "three"),
        returned("no block", []),
        returned("an empty text", [{"type": "text", "text": ""}]),
        returned("a text and an image", [{"type": "text", "text": "seen"}, {"type": "image_url",
                 "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}], "seen"),
    ],
    "return a Command: state update": [
        commanded("its answer", lambda i, _: Command(update={"messages": [says_so(i)]})),
        commanded("an answer and a message", lambda i, _: Command(update={"messages": [
            says_so(i), HumanMessage("And this picture.")]})),
        commanded("an answer and calls of its own", lambda i, _: Command(update={"messages": [
            says_so(i), AIMessage("", tool_calls=[{"name": "note", "args": {"line": "two"},
            "id": "own", "type": "tool_call"}])]})),
        commanded("an answer and the end of the history", lambda i, _: Command(update={
            "messages": [RemoveMessage(REMOVE_ALL_MESSAGES), says_so(i)]})),
        commanded("no answer to its call", lambda i, _: Command(update={"messages": []}),
                  "tool_error"),
        commanded("keys that the state has not", lambda i, _: Command(update={"colour": "red",
            "messages": [says_so(i)]})),
        commanded("headway's own keys", lambda i, _: Command(update={"hw_run": {}, "outcome": {},
            "messages": [says_so(i)]})),
        commanded("a list of them", lambda i, _: [Command(update={"messages": [says_so(i)]}),
            Command(update={})]),
        commanded("the parent, where there is none", to_parent, "not_run"),
    ],
    "return a Command: a way to go": [
        *(gone(f"to `{goto}`", goto) for goto in ("nowhere", "agent", "enter", END)),
        gone("to a node with a state of its own", [Send("tools", {})]),
        commanded("without an answer", lambda i, _: Command(goto="nowhere"), "tool_error"),
        commanded("the answer to a question", lambda i, _: Command(resume="yes"), "tool_error"),
    ],
    "return a Command: hand-off to a parent": [
        handed_over("alone", [ACT], commanding(to_parent), ran=["acted"]),
        handed_over("after work of its own", [notes("one"), ACT], commanding(to_parent),
                    ran=["one", "acted"]),
        handed_over("beside another call, which is left out", [raw_calls(noting("one", "a"),
                    wire_call("act", "{}", "b"))], commanding(to_parent,
                    __handoff_destination="other"), ran=["acted"]),
    ],
    "a failing parallel call never harms its siblings": [
        Row("one of three raises", [pace("a", "bad", "c"), DONE], tools=[paced()],
            told=["ok", "tool_error", "ok"], also=in_order("on a", "bad", "on c")),
        Row("one of three changing calls raises", [raw_calls(noting("one", "a"),
            wire_call("act", "{}", "b"), noting("two", "c")), DONE], tools=[raising(OSError(5))],
            told=["ok", "tool_error", "ok"], ran=["one", "began", "two"]),
        Row("one of three ends the interpreter", [raw_calls(noting("one", "a"),
            wire_call("act", "{}", "b"), noting("two", "c")), DONE],
            tools=[raising(SystemExit(1))], told=["ok", "tool_error", "ok"],
            ran=["one", "began", "two"]),
        Row("all fail", [pace("bad", "bad"), DONE], tools=[paced()], told=["tool_error"] * 2),
    ],
    "results in call order": [
        Row("the first is the slowest", [pace("a", "b", "c"), DONE], tools=[paced()],
            told=["ok"] * 3, also=in_order("on a", "on b", "on c")),
        Row("changing calls run one after another", [pace("a", "b"), DONE],
            tools=[paced("write")], told=["ok"] * 2, also=in_order("on a", "on b")),
        Row("reads around a change", [raw_calls(wire_call("read_file", '{"path": "a.txt"}', "r"),
            noting("one", "n"), wire_call("read_file", '{"path": "log"}', "s")), DONE],
            ran=["one"], told=["ok"] * 3, also=in_order("hello", "one", "one")),
    ],
    "thirty calls in one reply": [
        Row("changing ones", [notes(*many(30)), DONE], ran=many(30), told=["ok"] * 30),
        Row("reading ones", [read(30), DONE], told=["ok"] * 30),
        Row("more than are left", [notes(*many(30)), DONE], "limit", limit="tool_calls",
            ran=many(20), told=["ok"] * 20 + ["not_run"] * 10,
            options={"limits": Limits(tool_calls=20)}),
        Row("every third one bad", [raw_calls(*(noting(line, f"c{n}") if n % 3 else
            wire_call("note", "{", f"c{n}") for n, line in enumerate(many(30)))), DONE],
            ran=[line for n, line in enumerate(many(30)) if n % 3],
            told=["ok" if n % 3 else "invalid_arguments" for n in range(30)]),
    ],
}  # fmt: skip
