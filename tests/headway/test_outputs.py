"""Outputs through the whole graph: bounded for the model, whole in the journal, raw nowhere."""

import asyncio
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
    messages_to_dict,
)
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import BaseModel

from headway import Limits, build_agent, run_agent
from headway.testing import PolicyModel
from headway.window.brief import output_id
from headway_tools.home import Home
from headway_tools.read_output import read_output_tool
from headway_tools.values import is_plain
from openai_server import OpenAIServer, calls, fails, says
from policies import call, each_time, replies
from too_long import TOO_LONG

MODES = ("values", "updates", "messages", "custom", "tasks", "checkpoints", "debug")
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
ASK = {"messages": [("user", "look")]}


def noise(number: int, size: int) -> str:
    """`size` characters of lines that occur nowhere else, `MIDDLE-<number>` in the middle."""
    chance = random.Random(number)
    unit = "".join(f"{chance.getrandbits(60):015x} of {number}\n" for _ in range(50))
    half = (unit * (size // (2 * len(unit)) + 1))[: size // 2]
    return f"{half}\nMIDDLE-{number}\n{half}"


@tool
def big(number: int, size: int) -> str:
    """Much text."""
    return noise(number, size)


def texts(result: Any) -> list[str]:
    return [str(m.text) for m in result["messages"] if isinstance(m, ToolMessage)]


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


class Odd:
    """No saver stores one."""

    def __init__(self) -> None:
        self.call = lambda: None


VALUES: dict[str, Callable[[], Any]] = {
    "nul": lambda: "a\x00b",
    "surrogate": lambda: "a\ud800b",
    "nan": lambda: float("nan"),
    "long int": lambda: {"n": 2**70},
    "path": lambda: PurePosixPath("/a/b"),
    "exception value": lambda: ValueError("bad\x00"),
    "function": lambda: noise,
    "set": lambda: {1, 2},
    "bytes": lambda: b"\xff\x00",
    "none": lambda: None,
    "object": Odd,
    "keys": lambda: {"\ud800": 1, 2: {"deep": [Odd()]}},
    "blocks": lambda: [{"type": "text", "text": "x\x00"}, "y\ud800"],
    "image": lambda: [{"type": "image", "base64": "AAAA", "mime_type": "image/png"}],
    "message": lambda: ToolMessage("m\x00", tool_call_id="x", artifact=Odd()),
}


@tool
def give(kind: str) -> Any:
    """Give a value."""
    return VALUES[kind]()


@tool(response_format="content_and_artifact")
def with_artifact() -> tuple[str, Any]:
    """Text and an artifact that nothing can store."""
    return "seen", Odd()


@tool
def explode(text: str) -> str:
    """Raise."""
    raise ValueError("\ud800 boom \x00")


def odd_calls() -> list[Any]:
    calls = [call("give", f"v{n}", kind=kind) for n, kind in enumerate(VALUES)]
    calls += [call("with_artifact", "a"), call("explode", "e", text="x")]
    bad: list[dict[str, Any]] = [{"n": 2**70}, {"text": "\x00"}, {"\ud800": 1}, {"x": float("nan")}]
    return calls + [call("explode", f"b{n}", **args) for n, args in enumerate(bad)]


def assert_portable(messages: list[BaseMessage]) -> None:
    """Strict JSON, UTF-8, no NUL, and one answer for each call."""
    data = messages_to_dict(messages)
    assert is_plain(data)
    json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
    asked = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    assert [m.tool_call_id for m in messages if isinstance(m, ToolMessage)] == asked


def check_odd_values(messages: list[BaseMessage]) -> None:
    assert_portable(messages)
    answers = [m for m in messages if isinstance(m, ToolMessage)]
    assert len(answers) == len(odd_calls())
    assert [m.status for m in answers[-5:]] == ["error"] * 5
    assert answers[len(VALUES)].text == "seen"
    assert messages[-1].text == "done"


@pytest.mark.parametrize("saver", ["memory", "sqlite"])
def test_any_value_of_tools_and_models_saves(tmp_path: Path, saver: str) -> None:
    model = replies(odd_calls(), "done")
    file = sqlite3.connect(tmp_path / "c.sqlite", check_same_thread=False)
    with closing(file):
        store: Any = InMemorySaver() if saver == "memory" else SqliteSaver(file)
        agent = build_agent(model, tools=[give, with_artifact, explode], checkpointer=store)
        agent.invoke(ASK, CONFIG)  # type: ignore[arg-type]
        check_odd_values(agent.get_state(CONFIG).values["messages"])  # type: ignore[arg-type]
        json.dumps(agent.get_state(CONFIG).values["outcome"], allow_nan=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("saver", ["memory", "sqlite"])
async def test_any_value_of_tools_and_models_saves_async(tmp_path: Path, saver: str) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.sqlite")) as file:
        store: Any = InMemorySaver() if saver == "memory" else file
        model = replies(odd_calls(), "done")
        agent: Any = build_agent(model, tools=[give, with_artifact, explode], checkpointer=store)
        await agent.ainvoke(ASK, CONFIG)
        check_odd_values((await agent.aget_state(CONFIG)).values["messages"])


def test_a_task_that_is_no_clean_text_runs_and_saves() -> None:
    result = run_agent("x\udcff\x00", model=replies("done"))
    assert result.status == "completed"


ODD = "nul \x00 lone \ud800"

ODD_INPUTS: dict[str, Any] = {
    "text": [("user", ODD)],
    "dict": [{"role": "user", "content": [{"type": "text", "text": ODD}]}],
    "no list": HumanMessage(ODD),
    "names": [HumanMessage("x", name=ODD, id=ODD, additional_kwargs={ODD: 10**30, "f": len})],
    "calls": [
        HumanMessage("x"),
        AIMessage("", tool_calls=[call("give", ODD, **{ODD: [10**30, ODD]})]),
        ToolMessage([ODD, {"type": "text", "text": ODD}], tool_call_id=ODD),
        HumanMessage("y"),
    ],
}


@pytest.mark.parametrize("saver", ["memory", "sqlite"])
@pytest.mark.parametrize("given", ODD_INPUTS.values(), ids=ODD_INPUTS)
def test_whatever_messages_are_given_the_run_saves_them(
    tmp_path: Path, given: Any, saver: str
) -> None:
    file = sqlite3.connect(tmp_path / "c.sqlite", check_same_thread=False)
    with closing(file):
        store: Any = InMemorySaver() if saver == "memory" else SqliteSaver(file)
        agent: Any = build_agent(replies("done"), tools=[give], checkpointer=store)
        values = agent.invoke({"messages": given}, CONFIG)
        stored = agent.get_state(CONFIG).values["messages"]
    assert values["messages"] == stored
    assert_portable(stored)
    assert stored[-1].text == "done"


def test_an_artifact_that_comes_from_outside_stays_its_owners_object() -> None:
    before = [HumanMessage("x"), AIMessage("", tool_calls=[call("give", "c")])]
    own = ToolMessage("y", tool_call_id="c", artifact=PurePosixPath("/x"))
    agent: Any = build_agent(replies("done"), tools=[give])
    values = agent.invoke({"messages": [*before, own, HumanMessage("z")]})
    assert values["messages"][2].artifact == PurePosixPath("/x")


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


@pytest.mark.parametrize("field", ["id", "name"])
def test_odd_fields_of_a_reply_are_saved_clean(field: str) -> None:
    agent: Any = build_agent(
        replies(AIMessage("done", **{field: ODD})), checkpointer=InMemorySaver()
    )
    assert_portable(agent.invoke(ASK, CONFIG)["messages"])


class Form(BaseModel):
    number: int
    rest: Any = None


@pytest.mark.parametrize(
    ("answer", "structured"),
    [
        (f'{{"number": {2**80}}}', {"number": str(2**80), "rest": None}),
        ('{"number": 1, "rest": {"\\u0000": 1}}', {"number": 1, "rest": {"\\x00": 1}}),
    ],
)
def test_any_value_of_a_structured_answer_saves(answer: str, structured: Any) -> None:
    result = run_agent("x", model=replies(answer), response_format=Form)
    assert (result.status, result.structured) == ("completed", structured)


@pytest.mark.parametrize("saver", ["memory", "sqlite"])
def test_an_artifact_that_nothing_stores_is_kept_as_plain_data(tmp_path: Path, saver: str) -> None:
    calls = [call("give", "c"), call("give", "d")]
    given = [
        HumanMessage("x"),
        AIMessage("", tool_calls=calls),
        ToolMessage("y", tool_call_id="c", artifact={"rows": Odd()}),
        ToolMessage("y", tool_call_id="d", artifact={2, 3}),
        HumanMessage("z"),
    ]
    file = sqlite3.connect(tmp_path / "c.sqlite", check_same_thread=False)
    with closing(file):
        store: Any = InMemorySaver() if saver == "memory" else SqliteSaver(file)
        agent: Any = build_agent(replies("done"), tools=[give], checkpointer=store)
        agent.invoke({"messages": given}, CONFIG)
        stored = agent.get_state(CONFIG).values["messages"]
    assert "Odd object" in stored[2].artifact["rows"]
    assert stored[3].artifact == {2, 3}, "what can be stored is not touched"


def test_an_edit_that_nothing_stores_is_refused_and_the_thread_is_as_before() -> None:
    agent: Any = build_agent(replies("one", "two"), checkpointer=InMemorySaver())
    agent.invoke(ASK, CONFIG)
    before = list(agent.get_state_history(CONFIG))
    with pytest.raises(TypeError, match="not msgpack serializable"):
        agent.update_state(CONFIG, {"messages": HumanMessage("x", additional_kwargs={"f": len})})
    assert list(agent.get_state_history(CONFIG)) == before
    assert agent.invoke(ASK, CONFIG)["outcome"]["answer"] == "two"


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


@pytest.mark.parametrize(
    ("steps", "size", "window"),
    [
        (40, 2_000, 8_000),
        (30, 100_000, 8_000),
        pytest.param(100, 100_000, 8_000, marks=pytest.mark.slow),
    ],
)
def test_long_runs_finish_in_a_small_window_and_each_request_holds_the_exact_task(
    steps: int, size: int, window: int
) -> None:
    task = "Look at every number.\n\n  Keep data/ as it is; say 'done' at the end.  " * 3
    requests: list[list[BaseMessage]] = []
    notes: list[str] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        requests.append(messages)
        if len(requests) > steps:
            return AIMessage("done")
        number = len(requests)
        return AIMessage("", tool_calls=[call("big", f"c{number}", number=number, size=size)])

    agent: Any = build_agent(
        PolicyModel(policy=policy),
        tools=[big],
        window=window,
        checkpointer=InMemorySaver(),
        limits=Limits(model_calls=steps + 2),
    )
    for kind, part in agent.stream(
        {"messages": [("user", task)]}, CONFIG, stream_mode=["custom", "values"]
    ):
        if kind == "custom" and part["type"] == "note" and part["about"] == "context":
            notes.append(part["text"])
    state = agent.get_state(CONFIG).values

    assert state["outcome"]["status"] == "completed"
    assert len(requests) == steps + 1
    assert all(task in [m.content for m in request] for request in requests)
    assert all(size_of(request) < 3 * window for request in requests)
    assert len(notes) == state["hw_window"]["step"]
    assert 0 < len(notes) < steps / 3
    assert len(texts(state)) == steps, "history keeps what the model saw"


def size_of(request: list[BaseMessage]) -> int:
    """Characters; three for a token is on the safe side."""
    return sum(len(str(m.content)) + len(str(getattr(m, "tool_calls", ""))) for m in request)


def test_what_the_model_sees_is_the_same_sync_and_async() -> None:
    model = replies([call("big", f"c{n}", number=n, size=60_000) for n in range(3)], "ok")

    def agent() -> Any:
        return build_agent(model, tools=[big, read_output_tool()], checkpointer=InMemorySaver())

    assert texts(agent().invoke(ASK, CONFIG)) == texts(asyncio.run(agent().ainvoke(ASK, CONFIG)))


IN_THE_FAST_SUITE = ("Anthropic", "Gemini", "Groq, a minute's tokens", "llama.cpp", "vLLM", "xAI")
VENDORS = [
    pytest.param(vendor, marks=() if vendor in IN_THE_FAST_SUITE else pytest.mark.slow)
    for vendor in TOO_LONG
]


def requested(server: OpenAIServer) -> list[int]:
    return [len(json.dumps(request.messages)) for request in server.requests]


def served(server: OpenAIServer, **options: Any) -> Any:
    return build_agent("openai:m", tools=[big], base_url=server.url, api_key="sk-test", **options)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_request_that_is_too_long_is_shortened_once_and_sent_once_more(vendor: str) -> None:
    looks = [calls("big", f"c{n}", number=n, size=9_000) for n in range(6)]
    refusal = fails(*TOO_LONG[vendor])
    script = [*looks, refusal, says("enough seen"), says("and more")]
    with OpenAIServer(script) as server:
        agent = served(server, checkpointer=InMemorySaver(), memory=True)
        parts: list[Any] = list(agent.stream(ASK, CONFIG, stream_mode=["custom"]))
        first = agent.get_state(CONFIG).values
        second = agent.invoke({"messages": [("user", "go on")]}, CONFIG)
    sizes = requested(server)
    assert (first["outcome"]["status"], first["outcome"]["answer"]) == ("completed", "enough seen")
    assert len(sizes) == len(script)
    assert sizes[7] < 0.7 * sizes[6]
    assert sizes[8] < sizes[6], "what was too long once is not tried again"
    assert [p["about"] for _, p in parts if p["type"] == "note"] == ["context"]
    assert len(texts(first)) == 6
    assert second["outcome"]["answer"] == "and more"
    assert not server.refused


def test_a_server_that_refuses_the_shorter_request_too_ends_the_run_in_a_usable_thread() -> None:
    script = [calls("big", number=1, size=9_000), *[fails(*TOO_LONG["OpenAI"])] * 2, says("ok")]
    with OpenAIServer(script) as server:
        agent = served(server, checkpointer=InMemorySaver(), memory=True)
        first = agent.invoke(ASK, CONFIG)
        second = agent.invoke({"messages": [("user", "go on")]}, CONFIG)
    assert first["outcome"]["status"] == "model_error"
    assert first["outcome"]["evidence"]["kind"] == "context_length"
    assert second["outcome"]["status"] == "completed"
    assert len(server.requests) == 4


def test_a_request_that_was_shortened_just_now_and_is_refused_is_shortened_further() -> None:
    looks = [calls("big", f"c{n}", number=n, size=9_000) for n in range(4)]
    refusals = [fails(*TOO_LONG["vLLM"])] * 2
    with OpenAIServer([*looks, *refusals, says("ok")]) as server:
        agent = served(server, checkpointer=InMemorySaver(), memory=True, window=8_000)
        first = agent.invoke(ASK, CONFIG)
        second = agent.invoke({"messages": [("user", "go on")]}, CONFIG)
    sizes = requested(server)
    assert first["outcome"]["status"] == "model_error"
    assert sizes[4] < sizes[3]
    assert sizes[5] < 0.8 * sizes[4]
    assert sizes[6] < 0.8 * sizes[4], "the refused size is remembered though the run ended"
    assert second["outcome"]["status"] == "completed"


def test_a_refused_request_of_which_nothing_can_be_shortened_is_not_sent_again() -> None:
    with OpenAIServer([fails(*TOO_LONG["vLLM"])]) as server:
        result = served(server).invoke({"messages": [("user", "long " * 20_000)]})
    assert result["outcome"]["evidence"]["kind"] == "context_length"
    assert len(server.requests) == 1


def test_each_request_begins_with_the_bytes_of_the_one_before_over_forty_steps() -> None:
    script = [calls("big", f"c{n}", number=n, size=2_000) for n in range(40)]
    with OpenAIServer([*script, says("done")]) as server:
        result = served(server, memory=True).invoke(ASK)
    assert result["outcome"]["status"] == "completed"
    assert len(server.requests) == 41
    bodies = [[json.dumps(m) for m in request.messages] for request in server.requests]
    heads = [{**request.body, "messages": None} for request in server.requests]
    for earlier, later in pairwise(bodies):
        assert later[: len(earlier)] == earlier
    assert all(head == heads[0] for head in heads[1:])


def test_the_tools_count_towards_the_limit_of_tokens() -> None:
    @tool(description="A description of some length. " * 400)
    def long_winded() -> str:
        return ""

    model = replies("done")
    limits = Limits(tokens=2_500)
    assert run_agent("x", model=model, limits=limits).status == "completed"
    assert run_agent("x", model=model, tools=[long_winded], limits=limits).usage.model_calls == 1
    with_usage = run_agent("x", model=model, tools=[long_winded])
    assert with_usage.usage.estimated
    assert with_usage.usage.input_tokens > 3_000
