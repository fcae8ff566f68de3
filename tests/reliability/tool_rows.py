"""Rows: whatever a tool does, its call gets one observation, and the others go on."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langchain_core.tools import tool as make_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, Send

from headway import declare
from headway.limits import Limits
from headway_tools.errors import ToolFailure
from openai_server import Reply, raw_calls, wire_call
from reliability.scenario import DONE, Played, Row, Then, Tool, arguments, note, notes, noting

SHORT = {"limits": Limits(tool_timeout=0.7)}


def raising(error: BaseException | type[BaseException]) -> Tool:
    """A tool that begins its work and fails."""

    def act() -> str:
        """Do something."""
        note("began")
        raise error

    return make_tool(act)


def raised(name: str, error: BaseException | type[BaseException], code: str = "tool_error") -> Row:
    return Row(name, [ACT, notes("one"), DONE], ran=["began", "one"], told=[code, "ok"],
               tools=[raising(error)])  # fmt: skip


def passed_on(name: str, error: type[BaseException], *calls: dict[str, Any]) -> Row:
    """What is no failure of the tool ends the run as it is; the thread goes on."""
    told = ["interrupted", *["ok"] * len(calls)]
    return Row(name, [raw_calls(wire_call("act", "{}"), *calls), DONE], raises=error,
               tools=[raising(error)], saved=True, then=Then(told=told))  # fmt: skip


def returning(value: object) -> Tool:
    def act() -> Any:
        """Do something."""
        note("acted")
        return value

    return make_tool(act)


def returned(name: str, value: object, *parts: str) -> Row:
    """A value of any kind is an observation, which holds these parts of it."""
    return Row(name, [ACT, DONE], ran=["acted"], told=["ok"], tools=[returning(value)],
               also=lambda played: all(part in seen(played)[0] for part in parts))  # fmt: skip


def seen(played: Played) -> list[str]:
    return [step.observation or "" for step in played.outcome.steps if step.tool_call]


class Stuck:
    """A foreign function that does not return until another call lets it."""

    def __init__(self) -> None:
        self._go = threading.Event()

    def tools(self) -> list[Tool]:
        def act() -> str:
            """Do something."""
            self._go.clear()
            self._go.wait(20)
            return "much too late"

        def release() -> str:
            """Let it go on."""
            self._go.set()
            time.sleep(0.05)
            return "released"

        return [make_tool(act), make_tool(release)]


def stuck(name: str, script: list[Reply], told: Sequence[str], ran: Sequence[str] = ()) -> Row:
    return Row(
        name,
        [*script, arguments({}, "release"), DONE],
        told=[*told, "ok"],
        ran=ran,
        tools=Stuck().tools(),
        options=SHORT,
        warns="may still be running",
        also=lambda played: (
            "much too late" not in json.dumps(seen(played))
            and any("may still be running" in text for text in seen(played))
        ),
    )


def sleeper() -> str:
    """Sleep for a minute."""
    time.sleep(60)
    return "woke up"


def waiting(stubborn: float = 0) -> BaseTool:
    """A foreign tool with an asynchronous form, which goes on for `stubborn` seconds although it
    is cancelled."""

    async def aact() -> str:
        end = time.monotonic() + stubborn
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            while (left := end - time.monotonic()) > 0:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(left)
            if not stubborn:
                raise
        return "woke up"

    def act() -> str:
        """Do something."""
        threading.Event().wait(5)
        return "woke up"

    return StructuredTool.from_function(act, coroutine=aact)


Make = Callable[[str, list[Any]], Any]
"""(id of the call, the history) → what the tool returns."""


def commanding(make: Make, **metadata: str) -> Tool:
    @make_tool
    def act(
        tool_call_id: Annotated[str, InjectedToolCallId],
        messages: Annotated[list[Any], InjectedState("messages")],
    ) -> Any:
        """Do something."""
        note("acted")
        return make(tool_call_id, messages)

    return act.model_copy(update={"metadata": metadata})


def commanded(name: str, make: Make, code: str = "ok") -> Row:
    return Row(name, [ACT, DONE], ran=["acted"], told=[code], tools=[commanding(make)])


def gone(name: str, goto: Any) -> Row:
    """Its answer counts, and the run goes on with the model."""
    make: Make = lambda i, _: Command(goto=goto, update={"messages": [says_so(i)]})  # noqa: E731
    return Row(name, [ACT, DONE], ran=["acted"], told=["ok"], tools=[commanding(make)],
               warns="asked to go to")  # fmt: skip


def says_so(call_id: str, text: str = "acted") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id)


def to_parent(call_id: str, messages: list[Any]) -> Command[Any]:
    """A hand-off as the supervisor and swarm libraries make it."""
    update = {"messages": [*messages, says_so(call_id)]}
    return Command(graph=Command.PARENT, goto="other", update=update)


def parent(agent: Any) -> Any:
    """A graph with the agent and another node to hand over to."""
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("other", lambda state: {"messages": [AIMessage("The other one answered.")]})
    graph.add_edge(START, "agent")
    graph.add_edge("other", END)
    return graph.compile()


def handed_over(name: str, script: list[Reply], *tools: Tool, ran: Sequence[str]) -> Row:
    def arrived(played: Played) -> bool:
        return str(played.values["messages"][-1].text) == "The other one answered."

    return Row(name, script, ran=ran, parent=parent, tools=tools, also=arrived, told=HANDED[name])


class Unshown(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@dataclass
class Point:
    x: int


def paced(kind: str = "read") -> Tool:
    """Answers after a pause of its own: the first call is the slowest."""

    async def awork(text: str, seconds: float) -> str:
        await asyncio.sleep(seconds)
        return _paced(text)

    def work(text: str, seconds: float) -> str:
        """Work for a while."""
        time.sleep(seconds)
        return _paced(text)

    made = StructuredTool.from_function(work, coroutine=awork)
    return declare(made, kind)  # type: ignore[arg-type]


def _paced(text: str) -> str:
    if text == "bad":
        raise ValueError("bad")
    return f"worked on {text}"


def pace(*texts: str) -> Reply:
    """Calls of `work` side by side, the first the slowest."""
    return raw_calls(*(
        wire_call("work", json.dumps({"text": text, "seconds": 0.02 * (len(texts) - at)}), f"w{at}")
        for at, text in enumerate(texts)
    ))  # fmt: skip


def in_order(*parts: str) -> Callable[[Played], bool]:
    def check(played: Played) -> bool:
        return all(part in text for part, text in zip(parts, seen(played), strict=True))

    return check


def many(count: int) -> list[str]:
    return [f"line {n}" for n in range(count)]


def read(count: int) -> Reply:
    entry = json.dumps({"path": "a.txt"})
    return raw_calls(*(wire_call("read_file", entry, f"r{n}") for n in range(count)))


ACT = arguments({}, "act")
BASH = lambda command: arguments({"command": command}, "bash")  # noqa: E731 -- reads as a word
HANDED: dict[str, list[str]] = {
    "alone": ["ok"],
    "after work of its own": ["ok", "ok"],
    "beside another call, which is left out": ["ok"],
}
LOOP: list[Any] = []
LOOP.append(LOOP)

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
