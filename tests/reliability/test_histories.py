"""The invariant: every request that leaves for a model is valid for the strictest server,
whatever a model returned, a host handed over, a person edited, or a crash left."""

from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import StateSnapshot

from headway.build import make_parts
from headway.context import Context
from headway.history import problems
from headway.parts import Parts
from headway.request import build
from headway_tools.errors import HeadwayError
from reliability.histories import Checked, body_problems, boom, conversations, echo, replies

LIMIT = {"recursion_limit": 60}
THREAD: dict[str, Any] = {"configurable": {"thread_id": "t"}, **LIMIT}
ASK = st.sampled_from(["never", "all"])

few = settings(max_examples=20, deadline=None)
many = settings(max_examples=1500, deadline=None)


def run(agent: Any, given: Any, config: dict[str, Any] = THREAD) -> None:
    agent.invoke(given, config)


@cache
def parts() -> Parts:
    return make_parts(None, tools=[echo, boom], name="headway", options={"memory": True})


def every_state(agent: Any) -> list[StateSnapshot]:
    return [state for state in agent.get_state_history(THREAD) if state.values.get("messages")]


def holds(state: StateSnapshot) -> None:
    """The request that would be built from this checkpoint is valid."""
    request = build(state.values, parts=parts(), context=Context())  # type: ignore[arg-type]
    assert problems(request.messages) == []
    assert body_problems(request.messages, request.tools) == []


def start(script: list[AIMessage], ask: str) -> tuple[Checked, Any]:
    """A finished (or waiting) run."""
    model = Checked(script)
    agent = model.agent(InMemorySaver(), ask=ask)
    run(agent, {"messages": [HumanMessage("Go.")]})
    return model, agent


def check_hosts(history: list[BaseMessage], script: list[AIMessage]) -> None:
    model = Checked(script)
    try:
        run(model.agent(), {"messages": [*history, HumanMessage("Go.")]})
    except HeadwayError:
        assert model.requests == 0, "refused, but only after a model call"
    else:
        assert model.requests > 0
    assert model.problems == []


def check_checkpoints(script: list[AIMessage], ask: str) -> None:
    model, agent = start(script, ask)
    for state in every_state(agent):
        holds(state)
    assert model.problems == []


def check_branches(script: list[AIMessage], ask: str, at: int, way: str) -> None:
    """Go on from any checkpoint, in any way in which one may be left."""
    model, agent = start(script, ask)
    states = every_state(agent)
    place = states[at % len(states)].config
    if way == "message":
        run(agent, {"messages": [HumanMessage("Something else.")]}, {**place, **LIMIT})
    elif way == "fork":
        run(agent, None, {**place, **LIMIT})
    elif way == "crash":
        copied = agent.update_state(place, None, as_node="__copy__")
        run(agent, {"messages": [HumanMessage("Are you there?")]}, {**copied, **LIMIT})
    else:
        run(agent, {"messages": [HumanMessage("And?")]})
        run(agent, None)
    for state in every_state(agent):
        holds(state)
    assert model.problems == []


def check_edits(
    script: list[AIMessage], edit: list[BaseMessage], over: list[int], at: int, node: str
) -> None:
    """Messages written into a state, in the place of those that `over` numbers."""
    model, agent = start(script, "never")
    states = every_state(agent)
    state = states[at % len(states)]
    known = dict(enumerate(m.id for m in state.values["messages"]))
    edit = [m.model_copy(update={"id": known.get(n)}) for m, n in zip(edit, over, strict=False)]
    edited = agent.update_state(state.config, {"messages": edit}, as_node=node)
    holds(agent.get_state(edited))
    run(agent, None, {**edited, **LIMIT})
    run(agent, {"messages": [HumanMessage("And now?")]})
    for state in every_state(agent):
        holds(state)
    assert model.problems == []


scripts = st.lists(replies, max_size=5)
over = st.lists(st.integers(-9, 9), min_size=7, max_size=7)
places = st.integers(0, 60)
ways = st.sampled_from(["message", "fork", "crash", "later"])
nodes = st.sampled_from(["enter", "agent", "tools", "progress", "truncate", "verify"])


@few
@given(conversations, scripts)
def test_a_hosts_broken_history_is_mended_or_refused_before_a_call(
    history: list[BaseMessage], script: list[AIMessage]
) -> None:
    check_hosts(history, script)


@few
@given(scripts, ASK)
def test_from_every_checkpoint_of_a_run_a_valid_request_follows(
    script: list[AIMessage], ask: str
) -> None:
    check_checkpoints(script, ask)


@few
@given(scripts, ASK, places, ways)
def test_a_fork_a_crash_and_a_new_message_leave_valid_requests(
    script: list[AIMessage], ask: str, at: int, way: str
) -> None:
    check_branches(script, ask, at, way)


@few
@given(scripts, conversations, over, places, nodes)
def test_an_edited_state_leaves_valid_requests(
    script: list[AIMessage], edit: list[BaseMessage], over: list[int], at: int, node: str
) -> None:
    check_edits(script, edit, over, at, node)


@pytest.mark.slow
@many
@given(conversations, scripts)
def test_hosts_histories_at_length(history: list[BaseMessage], script: list[AIMessage]) -> None:
    check_hosts(history, script)


@pytest.mark.slow
@many
@given(scripts, ASK, places, ways)
def test_branches_at_length(script: list[AIMessage], ask: str, at: int, way: str) -> None:
    check_branches(script, ask, at, way)


@pytest.mark.slow
@many
@given(scripts, conversations, over, places, nodes)
def test_edits_at_length(
    script: list[AIMessage], edit: list[BaseMessage], over: list[int], at: int, node: str
) -> None:
    check_edits(script, edit, over, at, node)


FOUND_47: dict[str, list[Any]] = {
    "a tool message first": [{"role": "tool", "content": "x", "tool_call_id": "c"}],
    "a tool message of no call": [("user", "a"), {"role": "tool", "content": "x",
        "tool_call_id": "nobody"}],
    "two calls and one answer": [("user", "a"), {"role": "assistant", "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": {"name": "echo",
        "arguments": "{}"}} for i in ("c1", "c2")]},
        {"role": "tool", "content": "x", "tool_call_id": "c1"}],
    "answers behind a human message": [("user", "a"), {"role": "assistant", "content": "",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "echo",
        "arguments": "{}"}}]}, ("user", "b"), {"role": "tool", "content": "x",
        "tool_call_id": "c1"}],
    "two system messages": [("system", "one"), ("user", "a"), ("system", "two")],
    "a call hidden in content": [("user", "a"), {"role": "assistant", "content": [
        {"type": "text", "text": "So"}, {"type": "function_call", "name": "echo",
        "arguments": "{}", "call_id": "c"}]}],
    "a reply first": [{"role": "assistant", "content": "Hello."}],
    "an unknown role": [{"role": "narrator", "content": "Once"}],
    "nothing but rubbish": [{"colour": "red"}],
    "a content that is no text": [{"role": "user", "content": 3}],
}  # fmt: skip


@pytest.mark.parametrize("history", FOUND_47.values(), ids=FOUND_47)
def test_histories_from_the_field(history: list[Any]) -> None:
    """langgraph-supervisor#203, vercel/ai#11417, deepagents#5781."""
    model = Checked([])
    refused = suppress(HeadwayError, ValueError, NotImplementedError)
    with refused:
        values = model.agent().invoke({"messages": [*history, ("user", "Go.")]})
        assert values["outcome"]["status"] == "completed"
    assert model.requests in (0, 1)
    assert model.problems == []
