"""Tools that misbehave in every way, and the rows made of them."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langchain_core.tools import tool as make_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command

from headway import declare
from headway.limits import Limits
from openai_server import Reply, raw_calls, wire_call
from reliability.scenario import DONE, Played, Row, Then, Tool, arguments, note, notes

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
