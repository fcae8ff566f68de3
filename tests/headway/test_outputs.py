"""Outputs through the whole graph: bounded for the model, whole in the journal, raw nowhere."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from outputs_support import ASK, CONFIG, big, noise, texts

from headway import build_agent, run_agent
from headway.testing import PolicyModel
from headway.window.brief import output_id
from headway_tools.home import Home
from headway_tools.read_output import read_output_tool
from policies import call, each_time, replies

MODES = ("values", "updates", "messages", "custom", "tasks", "checkpoints", "debug")


@pytest.mark.parametrize(
    ("version", "megabytes"),
    [("v1", 0.1), ("v2", 0.1), pytest.param("v2", 5, marks=pytest.mark.slow)],
)
def test_ten_large_outputs_leave_nothing_in_database_and_streams_that_the_model_did_not_see(
    tmp_path: Path, version: Literal["v1", "v2"], megabytes: float
) -> None:
    model = each_time(
        lambda n: call("big", f"c{n}", number=n, size=int(megabytes * 1e6)) if n < 10 else "done"
    )
    file = tmp_path / "checkpoints.sqlite"
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        agent = build_agent(model, tools=[big], checkpointer=SqliteSaver(connection))
        streamed = 0
        modes: Any = list(MODES)
        for part in agent.stream(ASK, CONFIG, stream_mode=modes, version=version):  # type: ignore[call-overload]
            shown = repr(part)
            streamed += len(shown)
            assert "MIDDLE-" not in shown
        assert streamed
        seen = texts(agent.get_state(CONFIG).values)
    assert len(seen) == 10
    assert all(" of 7" in text for text in seen[7:8])
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("checkpoints.sqlite*"))
    assert b"MIDDLE-" not in stored
    assert len(stored) < 3_000_000


@tool
def say(text: str) -> str:
    """Say it."""
    return text


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_result_is_in_history_as_the_model_saw_it(text: str) -> None:
    sent: list[Any] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        sent[:] = messages
        return AIMessage("", tool_calls=[] if len(messages) > 2 else [call("say", text=text)])

    result = build_agent(PolicyModel(policy=policy), tools=[say]).invoke(ASK)  # type: ignore[arg-type]
    assert texts(result) == texts({"messages": sent}) == ["(no output)"]


JSON_LINE = json.dumps({"rows": [{"n": n, "name": f"ünïcode {n}"} for n in range(8_000)]})


@tool
def one_line() -> str:
    """A JSON document in one line of 300 kB."""
    return JSON_LINE


def read(call_id: str, **place: Any) -> ToolCall:
    return ToolCall(name="read_output", args=place, id=call_id)


def reader(first: str, pages: list[str]) -> PolicyModel:
    """Calls `first`, then reads its output by characters to the end."""

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        last = messages[-1]
        if not isinstance(last, ToolMessage):
            return AIMessage("", tool_calls=[call(first)])
        if last.name == first:
            place = {"id": output_id(str(last.text)), "offset": 0}
        else:
            page = json.loads(str(last.text))
            pages.append(page["content"])
            if "next" not in page:
                return AIMessage("read it all")
            place = {"id": page["id"], **page["next"]}
        return AIMessage("", tool_calls=[read(f"r{len(messages)}", **place)])

    return PolicyModel(policy=policy)


def test_a_json_line_of_300_kb_pages_by_characters_and_joins_back() -> None:
    pages: list[str] = []
    tools = [one_line, read_output_tool()]
    result = run_agent("read", model=reader("one_line", pages), tools=tools)
    assert (result.status, result.answer) == ("completed", "read it all")
    assert len(JSON_LINE) > 300_000
    assert "".join(pages) == JSON_LINE
    assert len(pages) > 30
    assert json.loads(result.steps[0].observation or "")["truncated"] is True


def observed(result: Any, step: int = -2) -> dict[str, Any]:
    return dict(json.loads(result.steps[step].observation or ""))


def test_an_output_of_another_thread_is_refused_and_an_expired_one_says_so(own_home: Path) -> None:
    tools = [one_line, read_output_tool()]
    first = run_agent("a", model=replies(call("one_line"), "ok"), tools=tools)
    found = output_id(first.steps[0].observation or "")
    reads = replies(call("one_line"), "ok", read("r", id=found), "ok")
    other = run_agent("b", model=replies(read("r", id=found), "ok"), tools=tools)
    assert observed(other)["error"] == "unknown_output"

    with closing(sqlite3.connect(Home(own_home).thread(first.thread or "").journal)) as journal:
        journal.execute("UPDATE outputs SET body = NULL")
        journal.commit()
    again = run_agent("c", model=reads, tools=tools, thread_id=first.thread)
    assert observed(again)["error"] == "expired"
    assert "again" in observed(again)["next_step"]


def test_the_notice_names_read_output_only_where_it_is_bound() -> None:
    model = replies(call("big", number=1, size=100_000), "ok")
    tools: list[BaseTool] = [big]
    without = run_agent("x", model=model, tools=tools).steps[0].observation or ""
    with_it = run_agent("x", model=model, tools=[big, read_output_tool()]).steps[0].observation
    assert "left out" in without
    assert "read_output" not in without
    assert "read_output(id=" in (with_it or "")


def test_truncation_off_shows_the_whole() -> None:
    model = replies(call("big", number=1, size=100_000), "ok")
    result = run_agent("x", model=model, tools=[big], truncation=None)
    assert result.steps[0].observation == noise(1, 100_000)


def test_truncation_by_tool_is_obeyed() -> None:
    model = replies(call("big", number=1, size=100_000), call("one_line", "d"), "ok")
    result = run_agent("x", model=model, tools=[big, one_line], truncation={"big": None})
    assert len(result.steps[0].observation or "") > 100_000
    assert len(result.steps[1].observation or "") < 13_000


def test_what_the_model_sees_is_the_same_sync_and_async() -> None:
    model = replies([call("big", f"c{n}", number=n, size=60_000) for n in range(3)], "ok")

    def agent() -> Any:
        return build_agent(model, tools=[big, read_output_tool()], checkpointer=InMemorySaver())

    assert texts(agent().invoke(ASK, CONFIG)) == texts(asyncio.run(agent().ainvoke(ASK, CONFIG)))
