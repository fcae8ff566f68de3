"""The models for tests and demos: the same reply from the same history, in every way to call."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from wire_support import WAYS, ask, bash

from headway import run_agent
from headway.models.call import acall_model, call_model
from headway.models.named import open_model
from headway.reply import settle
from headway.testing import PolicyModel, ScriptedModel, spoken
from headway_tools.errors import HeadwayError

TASK = HumanMessage("task")


def call_then_answer(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
    if isinstance(messages[-1], ToolMessage):
        return AIMessage("done", response_metadata={"finish_reason": "stop"})
    name = tools[0]["function"]["name"]
    return AIMessage(
        "looking",
        tool_calls=[{"name": name, "args": {"command": "ls"}, "id": "c1"}],
        response_metadata={"finish_reason": "tool_calls"},
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_policy_replies_the_same_in_every_way(way: str) -> None:
    model = PolicyModel(policy=call_then_answer)
    message = settle(ask(model, way, [TASK], tools=[bash]), tools={"bash": bash}, known_ids=set())
    assert message.content == "looking"
    assert [(c["name"], c["args"], c["id"]) for c in message.tool_calls] == [
        ("bash", {"command": "ls"}, "c1")
    ]
    assert message.response_metadata["headway"]["finish"] == "tool_calls"
    assert message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] == 5


@pytest.mark.parametrize("mode", ["values", "messages", "updates"])
def test_a_policy_works_in_every_stream_mode_of_a_graph(mode: Any) -> None:
    model = PolicyModel(policy=call_then_answer).bind_tools([bash])
    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda state: {"messages": model.invoke(state["messages"])})
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    graph = builder.compile()
    assert list(graph.stream({"messages": [TASK]}, stream_mode=mode))
    last = graph.invoke({"messages": [TASK]})["messages"][-1]
    assert last.tool_calls[0]["name"] == "bash"


def test_tokens_of_a_call_in_a_node_are_streamed_by_the_graph() -> None:
    model = PolicyModel(policy=call_then_answer)

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [call_model(model, state["messages"], tools=[bash])]}

    async def anode(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await acall_model(model, state["messages"], tools=[bash])]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", RunnableLambda(node, anode))
    builder.add_edge(START, "agent")
    graph = builder.compile()

    async def streamed() -> list[Any]:
        return [part async for part in graph.astream({"messages": [TASK]}, stream_mode="messages")]

    for parts in (
        list(graph.stream({"messages": [TASK]}, stream_mode="messages")),
        asyncio.run(streamed()),
    ):
        assert [message.text for message, _ in parts][0] == "looking"
        assert len({message.id for message, _ in parts}) == 1
        assert len(parts) == 3


def test_no_tools_are_offered_with_tool_choice_none() -> None:
    seen: list[int] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        seen.append(len(tools))
        return AIMessage("ok")

    model = PolicyModel(policy=policy)
    model.bind_tools([bash]).invoke("x")
    model.bind_tools([bash], tool_choice="none").invoke("x")
    asyncio.run(model.ainvoke("x"))
    assert seen == [1, 0, 0]


SCRIPT: list[dict[str, Any]] = [
    {"content": ""},
    {"content": "one", "tool_calls": [{"name": "bash", "args": {"command": "ls"}}]},
    {"tool_calls": [{"name": "bash", "args": '{"comm', "id": "cut"}], "finish_reason": "length"},
    {"content": "done", "usage": {"prompt_tokens": 8, "completion_tokens": 2}, "reasoning": "hm"},
]


@pytest.mark.parametrize("way", WAYS)
def test_a_script_is_read_by_the_place_in_the_history(way: str) -> None:
    model = ScriptedModel(SCRIPT)
    history: list[BaseMessage] = [TASK]
    said: list[AIMessage] = []
    for _ in range(4):
        message = settle(ask(model, way, history), tools={"bash": bash}, known_ids=set())
        said.append(message)
        if message.response_metadata["headway"]["problem"] == "empty":
            history.append(HumanMessage("Your reply was empty.", name="headway"))
            continue
        history.append(message)
        history += [ToolMessage("r", tool_call_id=c["id"] or "") for c in message.tool_calls]
    assert [m.content for m in said] == ["", "one", "", "done"]
    assert said[2].response_metadata["headway"]["call_errors"]["cut"]["code"] == "cut"
    assert said[3].additional_kwargs == {"reasoning_content": "hm"}
    assert said[3].usage_metadata is not None
    assert said[3].usage_metadata["input_tokens"] == 8
    fork = history[:2]
    assert ask(model, way, fork).content == "one"


def test_a_script_that_is_used_up_is_no_answer() -> None:
    model = ScriptedModel([{"content": ""}])
    outcome = run_agent("Go.", model=model, memory=True)
    assert (outcome.status, outcome.answer) == ("model_error", "")
    assert outcome.missing == "a reply of the model (the script has no reply left after 1)"
    assert outcome.next_step == "give the script more replies, then resume; nothing is lost"


def test_a_scripted_model_can_be_printed() -> None:
    model = ScriptedModel(SCRIPT[3:])
    assert f"script={SCRIPT[3:]!r}" in repr(model)
    assert "ScriptedModel" in repr(model.bind_tools([bash]))


def test_a_policy_with_a_mistake_is_asked_once() -> None:
    asked: list[int] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        asked.append(len(messages))
        return AIMessage(messages[7].content)

    outcome = run_agent("Go.", model=PolicyModel(policy=policy), memory=True)
    assert outcome.status == "model_error"
    assert "the policy raised IndexError" in outcome.missing
    assert len(asked) == 1


def test_a_script_keeps_its_place_when_requests_are_shortened() -> None:
    looked: list[int] = []

    def look(place: int) -> str:
        """Look."""
        looked.append(place)
        return f"{place}: " + "".join(chr(97 + (place * 7 + n * n) % 26) for n in range(2000))

    calls = [{"tool_calls": [{"name": "look", "args": {"place": n}}]} for n in range(40)]
    model = ScriptedModel([*calls, {"content": "done"}])
    outcome = run_agent("Go.", model=model, tools=[look], window=8_000, memory=True)
    assert looked == list(range(40))
    assert (outcome.status, outcome.answer) == ("completed", "done")


def test_a_note_behind_a_kept_reply_is_not_counted_twice() -> None:
    note = HumanMessage("The check failed.", name="headway")
    assert spoken([TASK, AIMessage("done"), note]) == 1
    assert spoken([TASK, note]) == 1
    assert spoken([TASK, note, note]) == 2


def test_a_script_file_is_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text("# two replies\n\n" + "\n".join(json.dumps(entry) for entry in SCRIPT[2:]))
    model = open_model(f"scripted:{path}")
    assert isinstance(model, ScriptedModel)
    assert model.script == SCRIPT[2:]


WRONG: list[tuple[Any, str]] = [
    ([1], 'write an object like {"content": "Hello"}'),
    ({"contnt": "Hello"}, "no such key: contnt; known are content, "),
    ({"": "Hello"}, "no such key: ; known are"),
    ({"tool_calls": {"name": "bash"}}, "tool_calls is a list of"),
    ({"tool_calls": "bash"}, "tool_calls is a list of"),
    ({"tool_calls": ["bash"]}, "tool_calls is a list of"),
    ({"tool_calls": [{"nam": "bash"}]}, "tool_calls: no such key: nam; known are args, id, name"),
    ({"content": 3}, "content is a text"),
    ({"reasoning": 3}, "reasoning is a text"),
    ({"usage": 3}, "usage is an object like"),
]


@pytest.mark.parametrize(("entry", "words"), WRONG)
def test_a_wrong_entry_is_refused_in_a_list_and_in_a_file(
    tmp_path: Path, entry: Any, words: str
) -> None:
    with pytest.raises(HeadwayError) as in_list:
        ScriptedModel([{"content": "good"}, entry])
    path = tmp_path / "script.jsonl"
    path.write_text(f'{{"content": "good"}}\n{json.dumps(entry)}\n')
    with pytest.raises(HeadwayError) as in_file:
        open_model(f"scripted:{path}")
    said = str(in_list.value).removeprefix("reply 2 of the script")
    assert words in said
    assert str(in_file.value) == f"{path}, line 2{said}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot read"),
        ("\n{oops", "line 2: not JSON"),
        ("", "script.jsonl holds no reply"),
        ("# nothing yet\n", "script.jsonl holds no reply"),
    ],
)
def test_a_file_that_is_no_script_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "script.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(HeadwayError, match=words):
        open_model(f"scripted:{path}")


def test_a_script_without_replies_is_refused() -> None:
    with pytest.raises(HeadwayError, match="the script holds no reply"):
        ScriptedModel([])
