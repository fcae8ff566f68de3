"""Whatever tools, models and callers give, the run saves it as clean, portable data."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    messages_to_dict,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from outputs_support import ASK, CONFIG, noise
from pydantic import BaseModel

from headway import build_agent, run_agent
from headway_tools.values import is_plain
from policies import call, replies


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
